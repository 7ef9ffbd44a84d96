import { afterEach, beforeEach, expect, test } from 'vitest';
import { issueKey } from '../../../src/account/issue-key.js';
import { SCOPES } from '../../../src/contract/api-key.js';
import { Watches } from '../../../src/watch/watches.js';
import { aConsole, type TestConsole, type Visitor } from './a-console.js';

const HOSTILE = '"><img src=x onerror=alert(1)>';

let it: TestConsole;
let visitor: Visitor;
let watches: Watches;
let keyId: string;
beforeEach(async () => {
  it = await aConsole();
  visitor = await it.signIn();
  const key = await issueKey(it.store, { accountName: 'default', label: 'watching', scopes: SCOPES, now: Date.now() });
  keyId = key?.id ?? '';
  watches = new Watches({
    store: it.store,
    rules: { webhookAllow: [] },
    templates: { find: async () => null },
    sendsMail: true,
    places: it.services.places,
    minimumMs: 60_000,
    max: 10,
    egress: {
      judgeHost: async () => ({ ok: true, addresses: [] }),
      refusesLiterally: () => false,
      proxyProblem: () => null,
    },
    notify: async () => null,
    onDue: () => undefined,
    now: () => Date.now(),
  });
  it.services.watches = async () => watches;
});
afterEach(() => it[Symbol.asyncDispose]());

const FIELDS = {
  name: HOSTILE,
  url: 'https://example.com/',
  cron: '0 8 * * MON',
  timezone: 'Europe/Berlin',
  do: 'save',
};

async function aWatch(fields: Record<string, string> = {}): Promise<string> {
  const made = await visitor.post('/console/watch-form', { ...FIELDS, key: keyId, ...fields });
  expect(made.status).toBe(303);
  return String(made.headers.location).replace('watch?id=', '');
}

test('the form makes a watch, which the list and its page show', async () => {
  expect((await visitor.get('/console/watches')).text).toContain('No watches.');
  const id = await aWatch({ mail: 'ada@example.com, bob@example.com', attach: 'pdf' });
  const list = (await visitor.get('/console/watches')).text;
  const page = (await visitor.get(`/console/watch?id=${id}`)).text;
  for (const text of [list, page]) expect(text).not.toContain('<img src=x');
  expect(list).toContain('has not run');
  expect(page).toContain('every Monday at 08:00 (Europe/Berlin)');
  expect((await watches.read(null, id)).send).toEqual([
    { email: { to: ['ada@example.com', 'bob@example.com'], attach: 'pdf' } },
  ]);
});

test('the form shows the schedule in words with its next five times, and names what is wrong', async () => {
  const checked = (await visitor.post('/console/watch-form', { ...FIELDS, url: '', do: 'check' })).text;
  expect(checked).toContain('every Monday at 08:00 (Europe/Berlin)');
  expect(/Next: (.*?)<\/p>/.exec(checked)?.[1]?.split(';')).toHaveLength(5);
  const refused = await visitor.post('/console/watch-form', { ...FIELDS, key: keyId, cron: '1 2 3' });
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('must have five fields')]);
});

test('a change keeps what the form has no field for, and stored secrets', async () => {
  const send = JSON.stringify([{ slack: { url: 'https://hooks.slack.com/services/1' } }]);
  const id = await aWatch({ send, mail: 'ada@example.com', request: '{"headers":{"cookie":"a=b"}}' });
  await watches.change(null, id, {
    keep: { runs: 5, days: 5 },
    compare: { mask: [{ x: 1, y: 2, width: 3, height: 4 }], above: 0.1 },
  });
  const form = (await visitor.get(`/console/watch-form?id=${id}`)).text;
  expect(form).not.toContain('hooks.slack.com/services');
  const given = {
    send: '[{"slack":{"url":"***"}}]',
    request: '{"headers":{"cookie":"***"}}',
    mail: 'bob@example.com',
    above: '0.2',
    name: 'B',
  };
  expect((await visitor.post(`/console/watch-form?id=${id}`, { ...FIELDS, ...given })).status).toBe(303);
  expect((await watches.find(null, id)).definition).toMatchObject({
    name: 'B',
    request: { headers: { cookie: 'a=b' } },
    send: [{ slack: { url: 'https://hooks.slack.com/services/1' } }, { email: { to: ['bob@example.com'] } }],
    compare: { mask: [{ x: 1, y: 2, width: 3, height: 4 }], above: 0.2 },
    keep: { runs: 5, days: 5 },
  });
});

test('the buttons run, pause, resume and remove a watch', async () => {
  const id = await aWatch();
  const act = (does: string) => visitor.post(`/console/watch?id=${id}`, { do: does });
  expect((await act('run')).status).toBe(303);
  expect((await watches.runs(null, id, { before: null, limit: 5 })).runs.map(({ state }) => state)).toEqual(['queued']);
  await act('pause');
  expect((await visitor.get(`/console/watch?id=${id}`)).text).toContain('none, it is paused');
  await act('resume');
  expect((await watches.read(null, id)).paused).toBe(false);
  expect((await act('remove')).headers.location).toBe('watches');
  expect((await visitor.get(`/console/watch?id=${id}`)).status).toBe(404);
});
