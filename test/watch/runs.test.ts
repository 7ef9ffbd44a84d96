import { describe, expect, vi } from 'vitest';
import { startDueRuns } from '../../src/watch/advance-run.js';
import { unsubscribeText } from '../../src/watch/mail.js';
import { aCaller, NOON } from '../store/factories.js';
import { test } from '../store/store-test.js';
import { anError, aRoom, MINUTE_MS, type Outcome } from './a-room.js';

const NOTHING_LEFT = { kind: 'delivered', status: 200 } as const;

describe('the times of a watch', () => {
  test('each due time has one run, on however many servers it is started', async ({ store, user }) => {
    const { create, room, deps, watches, work } = aRoom(store, user);
    const watch = await create();
    expect(watch.next_run_at).toBe(NOON);
    await Promise.all([1, 2, 3, 4].map(() => startDueRuns(deps)));
    await work();
    for (room.now += MINUTE_MS; room.now <= NOON + 3 * MINUTE_MS; room.now += MINUTE_MS) {
      await Promise.all([startDueRuns(deps), startDueRuns(deps)]);
      await Promise.all([work(), work()]);
    }
    const { runs } = await watches.runs(user, watch.id, { before: null, limit: 100 });
    expect(runs.map((run) => run.due_at)).toEqual([3, 2, 1, 0].map((minute) => NOON + minute * MINUTE_MS));
    expect(room.captures).toBe(4);
  });

  test('a server that was down makes up one run, and goes on with the next time', async ({ store, user }) => {
    const { create, room, watches, work } = aRoom(store, user);
    const watch = await create();
    await work();
    room.now += 1_000 * MINUTE_MS + 30_000;
    await work();
    const { runs } = await watches.runs(user, watch.id, { before: null, limit: 100 });
    expect(runs).toHaveLength(2);
    expect((await watches.read(user, watch.id)).next_run_at).toBe(NOON + 1_001 * MINUTE_MS);
  });

  test('a time that comes while the run before has not ended is skipped, and sends nothing', async ({
    store,
    user,
  }) => {
    const { create, room, deps, watches, told } = aRoom(store, user);
    const watch = await create();
    await startDueRuns(deps);
    room.now += MINUTE_MS;
    await startDueRuns(deps);
    const { runs } = await watches.runs(user, watch.id, { before: null, limit: 100 });
    expect(runs.map(({ state }) => state)).toEqual(['skipped', 'queued']);
    expect(await told(watch.id)).toEqual([]);
  });

  test('a paused watch runs on request only, and a resumed one makes nothing up', async ({ store, user }) => {
    const { create, room, watches, work } = aRoom(store, user);
    const watch = await create({ paused: true });
    expect(watch.next_run_at).toBeNull();
    const [run, again] = [await watches.run(user, watch.id), await watches.run(user, watch.id)];
    expect([run.state, run.cause, again.id]).toEqual(['queued', 'request', run.id]);
    await work();
    expect((await watches.readRun(user, watch.id, run.id)).state).toBe('unchanged');
    room.now += 10 * MINUTE_MS + 1;
    expect((await watches.change(user, watch.id, { paused: false })).next_run_at).toBe(NOON + 11 * MINUTE_MS);
  });
});

describe('the messages of runs', () => {
  test('changes, each once; equal bytes are not compared', async ({ store, user }) => {
    const { create, next, told, room } = aRoom(store, user);
    const { id } = await create();
    const states: string[] = [];
    for (const shows of ['one', 'one', 'two', 'two', 'two again', 'one'])
      states.push((await next(id, { shows })).state);
    expect(states).toEqual(['unchanged', 'unchanged', 'changed', 'unchanged', 'unchanged', 'changed']);
    expect(await told(id)).toEqual(['watch.changed', 'watch.changed']);
    expect(room.compared).toBe(3);
  });

  test('every run, for a report', async ({ store, user }) => {
    const { create, next, told } = aRoom(store, user);
    const { id } = await create({ report: 'always' });
    expect([(await next(id, { shows: 'one' })).state, (await next(id, { shows: 'one' })).state]).toEqual([
      'reported',
      'reported',
    ]);
    expect(await told(id)).toEqual(['watch.report', 'watch.report']);
  });

  test('a change of the readable text, with its diff, independently of the pixels', async ({ store, user }) => {
    const { create, next } = aRoom(store, user);
    const { id } = await create({ text: true });
    await next(id, { shows: 'one', text: 'Price\n10 €' });
    expect(await next(id, { shows: 'two', text: 'Price\n10 €' })).toMatchObject({ state: 'unchanged', share: null });
    const changed = await next(id, { shows: 'two', text: 'Price\n12 €' });
    expect([changed.state, changed.diff?.split('\n').filter((line) => /^[-+][^-+]/.test(line))]).toEqual([
      'changed',
      ['-10 €', '+12 €'],
    ]);
  });

  test('a difference from the approved run once, until another run is approved', async ({ store, user }) => {
    const { create, next, told, watches } = aRoom(store, user);
    const { id } = await create({ against: 'approved' });
    await next(id, { shows: 'one' });
    const states: string[] = [];
    for (const shows of ['two', 'two', 'two again', 'three', 'one']) states.push((await next(id, { shows })).state);
    expect(states).toEqual(['changed', 'changed', 'changed', 'changed', 'unchanged']);
    expect(await told(id)).toEqual(['watch.changed', 'watch.changed']);
    const three = (await watches.runs(user, id, { before: null, limit: 2 })).runs[1];
    expect((await watches.approve(user, id, three?.id ?? '')).approved).toBe(true);
    expect((await next(id, { shows: 'three' })).state).toBe('unchanged');
  });

  test('three failures in a row in one message, and that it works again in another', async ({ store, user }) => {
    const { create, next, told } = aRoom(store, user);
    const { id } = await create();
    const fails = anError('blocked_by_target');
    await next(id, { shows: 'one' });
    const states: string[] = [];
    const pages: Outcome[] = [
      fails,
      fails,
      { shows: 'one' },
      fails,
      fails,
      fails,
      fails,
      fails,
      { shows: 'one' },
      { shows: 'one', tolerated: true },
    ];
    for (const page of pages) states.push((await next(id, page)).state);
    expect(states.map((state) => state.charAt(0)).join('')).toBe('ffufffffuf');
    expect(await told(id)).toEqual(['watch.failed', 'watch.recovered']);
  });

  test('a failure that may pass is tried again within the run', async ({ store, user }) => {
    const { create, next, room, watches, work } = aRoom(store, user);
    const { id } = await create({ paused: true });
    await watches.run(user, id);
    room.page = anError('navigation_failed');
    await work();
    room.page = { shows: 'one' };
    room.now += 1_000;
    await work();
    expect((await watches.runs(user, id, { before: null, limit: 1 })).runs[0]).toMatchObject({
      state: 'unchanged',
      attempts: 2,
    });
    await watches.run(user, id);
    expect(await next(id, anError('render_timeout'))).toMatchObject({
      state: 'failed',
      attempts: 3,
      error: { code: 'render_timeout' },
    });
    await watches.run(user, id);
    expect(await next(id, anError('target_error', false))).toMatchObject({ state: 'failed', attempts: 1 });
  });

  test('a quota that is used up skips runs with one message, and so does a revoked key', async ({ store }) => {
    const user = await aCaller(store, { quota: 1 });
    const { create, next, told, watches } = aRoom(store, user);
    const { id } = await create();
    await next(id, { shows: 'one' });
    const skipped = [await next(id, { shows: 'one' }), await next(id, { shows: 'one' })];
    expect(skipped.map(({ state, error }) => [state, error?.code])).toEqual(
      Array(2).fill(['skipped', 'quota_exceeded']),
    );
    await store.setQuota(user.accountName, null);
    expect((await next(id, { shows: 'one' })).state).toBe('unchanged');
    expect(await told(id)).toEqual(['watch.failed', 'watch.recovered']);
    await store.revokeKey(user.keyId, NOON);
    expect(await next(id, { shows: 'one' })).toMatchObject({ state: 'skipped', error: { code: 'unauthorized' } });
    await expect(watches.read({ ...user, keyId: 'key_other' }, id)).rejects.toMatchObject({ status: 404 });
  });
});

describe('claims', () => {
  test('a claim that was lost ends nothing', async ({ store, user }) => {
    const { create, room, deps, claims, watches } = aRoom(store, user);
    const { id } = await create();
    await startDueRuns(deps);
    const claimed = await claims.next();
    room.now += 100_000;
    const taken = await claims.next();
    expect([claimed?.run.id === taken?.run.id, claimed?.claim === taken?.claim]).toEqual([true, false]);
    const ended = {
      state: 'failed',
      share: null,
      picture: null,
      changes: null,
      data: null,
      error: null,
      failures: 1,
    } as const;
    const watch = await watches.find(user, id);
    const end = (claim = '') =>
      store.endRun(
        { id: claimed?.run.id ?? '', claim },
        watch,
        { ...ended, alarm: null, isPrevious: false, events: ['watch.failed'] },
        room.now,
      );
    expect([await end(claimed?.claim), await end(taken?.claim), await end(taken?.claim)]).toEqual([false, true, false]);
    expect(await store.messagesOf(claimed?.run.id ?? '')).toHaveLength(1);
  });

  test('accounts take turns, and no more captures are submitted at once than are allowed', async ({ store, user }) => {
    const other = await aCaller(store);
    const [busy, calm] = [aRoom(store, user), aRoom(store, other)];
    for (let i = 0; i < 3; i++) await busy.create({ name: `Page ${i}` });
    await calm.create();
    await startDueRuns(busy.deps);
    const [one, two] = [await busy.claims.next(), await busy.claims.next()];
    expect(new Set([one?.run.accountId, two?.run.accountId]).size).toBe(2);
    busy.room.runsAtOnce = 2;
    expect(await busy.claims.next()).toBeNull();
  });

  test('a message is claimed once, and sent again only on request', async ({ store, user }) => {
    const { create, next, watches, room } = aRoom(store, user);
    const { id } = await create({ report: 'always' });
    const run = await next(id, { shows: 'one' });
    const claims = await Promise.all(
      ['a', 'b'].map((claim) => store.claimMessage(user.accountId, claim, room.now, 1_000)),
    );
    const [message] = claims.filter((found) => found !== null);
    expect([claims.filter((found) => found !== null).length, message?.event]).toEqual([1, 'watch.report']);
    const held = { id: message?.id ?? '', claim: claims[0] === null ? 'b' : 'a' };
    expect(await store.recordMessage({ ...held, claim: 'c' }, NOTHING_LEFT, room.now)).toBe(false);
    expect(await store.recordMessage(held, NOTHING_LEFT, room.now)).toBe(true);
    expect([await store.dueMessages(room.now), await store.nextMessageDueAt()]).toEqual([[], null]);
    expect((await watches.redeliver(user, id, run.id)).messages[0]).toMatchObject({ state: 'pending', generation: 2 });
    await expect(watches.redeliver(user, id, run.id)).rejects.toMatchObject({ status: 409 });
  });
});

describe('what is kept', () => {
  test('runs by number and age, with their pictures, independently of the ordinary retention; the baseline always', async ({
    store,
    user,
  }) => {
    const { create, next, watches, room } = aRoom(store, user);
    const { id } = await create({ keep: { runs: 2, days: 1 }, against: 'approved' });
    const names: string[] = [];
    for (const shows of ['one', 'two', 'three', 'four'])
      names.push((await next(id, { shows })).picture_url?.split('/').at(-1) ?? '');
    const kept = async () => (await watches.runs(user, id, { before: null, limit: 10 })).runs.length;
    expect(await kept()).toBe(3);
    const now = room.now + 1;
    const expire = () => store.expireArtifacts({ before: now, maxBytes: 1e9, limit: 100, now });
    expect(await expire()).toEqual([names[1]]);
    expect(await store.pruneRuns(now + 2 * 86_400_000, 100)).toBe(1);
    expect(await expire()).toEqual([names[2]]);
    await watches.remove(user, id);
    expect((await expire()).sort()).toEqual([names[0], names[3]].sort());
    await expect(watches.read(user, id)).rejects.toMatchObject({ status: 404 });
  });

  test('as many watches as an account may have', async ({ store, user }) => {
    const { create, watches } = aRoom(store, user);
    const made = [await create(), await create({ name: 'B' }), await create({ name: 'C' })];
    await expect(create()).rejects.toMatchObject({ code: 'quota_exceeded' });
    const first = await watches.list(user, { before: null, limit: 2 });
    const second = await watches.list(user, { before: first.next, limit: 2 });
    expect([...first.watches, ...second.watches].map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort());
    expect(second.next).toBeNull();
  });
});

test('a watch captures a template of its account with its data, and fails once that is deleted', async ({
  store,
  user,
}) => {
  const { create, watches, room, next, templates } = aRoom(store, user);
  const request = { template: 'card@1', data: { title: 'Bread' } };
  await expect(create({ request })).rejects.toMatchObject({ details: { issues: [{ path: 'request.template' }] } });
  const manifest = { parameters: { title: { type: 'text' as const, max_chars: 20 } }, capture: {} };
  await store.insertTemplate(
    { id: 't', accountId: user.accountId, name: 'card', manifest, files: [], bytes: 1, sha256: 's', createdAt: 1 },
    Buffer.from('a'),
    { versions: 2, templates: 2, bytes: 30 },
  );
  const wrong = { ...request, data: { titel: 'Bread' } };
  await expect(create({ request: wrong })).rejects.toMatchObject({
    details: { issues: [{ path: 'request.data.titel' }, { path: 'request.data.title' }] },
  });
  const watch = await create({ request });
  expect(watch.request).toEqual(request);
  expect((await next(watch.id, { shows: 'one' }, 0)).state).toBe('unchanged');
  expect((await next(watch.id, { shows: 'two' })).state).toBe('changed');
  await expect(watches.change(user, watch.id, { request: wrong })).rejects.toThrow('titel');
  await templates.remove(user, 'card');
  expect(await next(watch.id, { shows: 'two' })).toMatchObject({ state: 'failed', error: { code: 'invalid_request' } });
  expect(room.captures).toBe(2);
});

describe('changes', () => {
  test('secrets are masked, kept where the mask is sent back, and a change to the same changes nothing', async ({
    store,
    user,
  }) => {
    const { create, watches, room } = aRoom(store, user);
    const request = {
      url: 'https://example.com/',
      headers: { cookie: 'a=b' },
      http_credentials: { username: 'ada', password: 'secret' },
    };
    const watch = await create({ request });
    expect(watch.request).toEqual({
      ...request,
      headers: { cookie: '***' },
      http_credentials: { username: 'ada', password: '***' },
    });
    expect(watch.send).toEqual([{ webhook: { url: 'http://127.0.0.1:1/hook', secret: '***' } }]);
    room.now += 5;
    const { request: shown, send, name } = watch;
    expect(await watches.change(user, watch.id, { request: shown, send, name })).toEqual(watch);
    const changed = await watches.change(user, watch.id, { name: 'B', request: shown, send });
    expect([changed.name, changed.updated_at]).toEqual(['B', room.now]);
    expect((await watches.find(user, watch.id)).definition).toMatchObject({
      request,
      send: [{ webhook: { secret: 'a secret of some length' } }],
    });
  });
});

test('a recipient is removed by a signed link, whoever changes the watch at the same time', async ({ store, user }) => {
  const { create, watches } = aRoom(store, user);
  const { id } = await create({ send: [{ email: { to: ['ada@example.com', 'bob@example.com'] } }] });
  const asked = {
    to: 'ada@example.com',
    signature: store.signLink(unsubscribeText(id, 'ada@example.com')),
    confirmed: true,
  };
  expect(await watches.unsubscribe(id, { ...asked, to: 'bob@example.com' })).toBeNull();
  const { updateWatch } = store;
  vi.spyOn(store, 'updateWatch').mockImplementationOnce(async (watch, readAt) => {
    await watches.change(user, id, { name: 'Another name' });
    return await updateWatch(watch, readAt);
  });
  expect(await watches.unsubscribe(id, asked)).toBe('A page');
  const { name, send } = await watches.read(user, id);
  expect([name, (send as { email: { to: string[] } }[])[0]?.email.to]).toEqual(['Another name', ['bob@example.com']]);
});
