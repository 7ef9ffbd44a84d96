import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Artifacts } from '../../src/artifacts/artifacts.js';
import { openArtifactDirectory } from '../../src/artifacts/directory.js';
import { lookupJob, lookupRequest } from '../../src/capture/lookup.js';
import { openPicture } from '../../src/capture/open-picture.js';
import { type RunJobDeps, runJob } from '../../src/capture/run-job.js';
import { type SubmitDeps, submit } from '../../src/capture/submit.js';
import { findMissing, recoverLeases, removeOrphans, sweep } from '../../src/capture/sweep.js';
import { FinishSignals, waitForJob } from '../../src/capture/wait-for-job.js';
import type { UploadResult } from '../../src/contract/capture-data.js';
import { CaptureError } from '../../src/contract/capture-error.js';
import { newId } from '../../src/contract/ids.js';
import type { JobSnapshot } from '../../src/contract/job.js';
import { parseSubmission } from '../../src/contract/submission.js';
import { silentLog } from '../../src/log.js';
import type { Rendering, RenderOrder } from '../../src/render/capture.js';
import type { ClaimedJob, EndedJob, Store } from '../../src/store/store.js';
import type { UploadOrder } from '../../src/webhook/upload-picture.js';
import { countFiles } from '../artifacts/count-files.js';
import { aCaller, aStore, type Caller, claimOne, IS_POSTGRES, RULES } from '../store/factories.js';

const LEASE_MS = 30_000;
const DAY_MS = 86_400_000;
const AWAY = { code: 'internal_error', status: 503, message: 'away' } as const;
const READY = { isFailing: false, refusal: null, isReady: async () => true, openPack: async () => null };
const PICTURE = Buffer.from('the bytes of a picture');

interface World extends AsyncDisposable {
  store: Store;
  artifacts: Artifacts & { isFailing: boolean };
  caller: Caller;
  signals: FinishSignals;
  ended: EndedJob[];
  submit(body: Record<string, unknown>, idempotencyKey?: string, over?: Partial<SubmitDeps>): Promise<JobSnapshot>;
  claim(): Promise<ClaimedJob>;
  /** With a storage that is not the world's own, for which no picture is held. */
  claimAndRun(render: RunJobDeps['render'], storage: RunJobDeps['artifacts']): Promise<ClaimedJob>;
  run(job: ClaimedJob, render: RunJobDeps['render'], stop?: AbortSignal): Promise<void>;
  /** Takes what jobs upload. */
  send: RunJobDeps['uploads']['send'];
}

async function aWorld(over: Partial<SubmitDeps> = {}): Promise<World> {
  const { store, dataDir, [Symbol.asyncDispose]: close } = await aStore();
  const artifacts = await openArtifactDirectory({ dir: `${dataDir}/artifacts`, log: silentLog() });
  const caller = await aCaller(store);
  const signals = new FinishSignals();
  const ended: EndedJob[] = [];
  const egress = {
    refusesLiterally: () => false,
    proxyProblem: () => null,
    judgeHost: async () => ({ ok: true as const, addresses: ['93.184.216.34'] }),
  };
  const submitDeps: SubmitDeps = {
    store,
    egress,
    artifacts,
    log: silentLog(),
    rules: RULES,
    webhookAllow: [],
    draining: () => false,
    onQueued: () => undefined,
    onCached: () => undefined,
    now: Date.now,
    ...over,
  };
  const releases = new Map<string, number>();
  const runJobDeps = (render: RunJobDeps['render'], storage: RunJobDeps['artifacts'] = artifacts): RunJobDeps => ({
    store,
    artifacts: storage,
    render,
    uploads: { open: (name) => artifacts.open(name), send: (order, signal) => world.send(order, signal) },
    onEnded: (job) => {
      ended.push(job);
      signals.announce(job.id);
    },
    leaseMs: LEASE_MS,
    retryDelayMs: 0,
    releases,
    log: silentLog(),
    now: Date.now,
  });
  const principal = { keyId: caller.keyId, accountId: caller.accountId, scopes: [] };
  const world: World = {
    store,
    artifacts,
    caller,
    signals,
    ended,
    submit: (body, idempotencyKey, more) =>
      submit(
        { ...submitDeps, ...more },
        parseSubmission({ url: 'https://example.com/', ...body }, { forceAsync: false, webhookAllow: [] }),
        {
          principal,
          requestId: newId('request'),
          idempotencyKey: idempotencyKey ?? null,
          traceparent: null,
        },
      ),
    claim: async () => {
      const job = await claimOne(store, { workerId: 'worker-0', now: Date.now(), leaseMs: LEASE_MS });
      if (job === null) throw new Error('nothing to claim');
      return job;
    },
    claimAndRun: async (render, storage) => {
      const job = await world.claim();
      await runJob({ ...runJobDeps(render, storage), holdMs: 0 }, job, new AbortController().signal);
      return job;
    },
    run: (job, render, stop = new AbortController().signal) => runJob(runJobDeps(render), job, stop),
    send: () => Promise.reject(new Error('no job uploads anything')),
    async [Symbol.asyncDispose]() {
      await artifacts[Symbol.asyncDispose]();
      await close.call({ store, dataDir });
    },
  };
  return world;
}

/** A page that is captured, and the picture that is kept of it. */
async function aPicture(world: World, url: string): Promise<{ name: string }> {
  const { id } = await world.submit({ url, cache_ttl: 60 });
  await world.run(await world.claim(), draws);
  const outcome = (await world.store.findJob(id))?.result?.outcome;
  if (outcome?.ok !== true) throw new Error('no picture was kept');
  return { name: outcome.data.artifact };
}

async function readAll(artifacts: Artifacts, name: string): Promise<Buffer> {
  const kept = await artifacts.open(name);
  if (kept === null) throw new Error(`${name} is not there`);
  return Buffer.concat(await (await kept.read()).toArray());
}

const aRendering = (over: Partial<Rendering> = {}): Rendering => ({
  content: PICTURE,
  format: 'webp',
  width: 2560,
  height: 1440,
  warnings: [],
  captures: null,
  changed: null,
  finalUrl: 'https://example.com/',
  blockedRequests: 3,
  egressCountry: null,
  diagnostics: { algorithm: 'native', sections: 1, deviceScaleFactor: 2, scrollHeight: 720, stoppedReason: 'viewport', truncated: false },
  inspection: null,
  timings: { navigate: 10 },
  ...over,
});

const draws = async (): Promise<Rendering> => aRendering();
const fails = (error: Error) => async (): Promise<Rendering> => {
  throw error;
};

/** Renders that crash, and what was asked of them. */
/** `performance.now` of this test, to which it adds. */
function aMonotonicClock(): { pass(ms: number): void } {
  const now = performance.now.bind(performance);
  let passed = 0;
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed);
  onTestFinished(() => spy.mockRestore());
  return {
    pass: (ms) => {
      passed += ms;
    },
  };
}

function crashes() {
  const orders: RenderOrder[] = [];
  const crash = async (order: RenderOrder): Promise<Rendering> => {
    orders.push(order);
    throw new CaptureError({ code: 'render_crashed', message: 'The page crashed.' });
  };
  return { orders, crash };
}

describe('a capture that is uploaded', () => {
  const upload = { url: 'https://bucket.example.com/a.webp?signature=1' };
  const UPLOADED: UploadResult = {
    state: 'uploaded',
    url: 'https://bucket.example.com/a.webp',
    bytes: 22,
    attempts: 1,
    status: 200,
    error: null,
  };
  /** Uploads that succeed, and what was sent. */
  function uploads(world: World): UploadOrder[] {
    const orders: UploadOrder[] = [];
    world.send = async (order) => {
      orders.push(order);
      return UPLOADED;
    };
    return orders;
  }
  const endOf = async (world: World, id: string) => (await world.store.findJob(id))?.result?.outcome;

  it('ends once it is uploaded, and keeps its page open no longer than it needs it', async () => {
    await using world = await aWorld();
    const { id } = await world.submit({ upload });
    const steps: string[] = [];
    let isKept: Promise<unknown> | undefined;
    world.send = async (order) => {
      await isKept;
      steps.push(`sent ${order.contentType}`, `${(await endOf(world, id))?.ok}`);
      return UPLOADED;
    };
    await world.run(await world.claim(), async ({ kept }) => {
      isKept = kept?.then(() => steps.push('closed'));
      return aRendering();
    });
    expect(steps).toEqual(['closed', 'sent image/webp', 'undefined']);
    expect(await endOf(world, id)).toMatchObject({ ok: true, data: { cached: false, upload: UPLOADED } });
  });

  it('uploads a stored picture without a new one, unless it is gone meanwhile', async () => {
    await using world = await aWorld();
    const orders = uploads(world);
    const { name } = await aPicture(world, 'https://example.com/');
    const { id } = await world.submit({ upload, cache_ttl: 60 });
    await world.run(await world.claim(), fails(new Error('not to be rendered')));
    expect(orders).toMatchObject([{ jobId: id, ...upload, content: PICTURE, contentType: 'image/webp' }]);
    expect(await endOf(world, id)).toMatchObject({ ok: true, data: { cached: true, artifact: name, upload: UPLOADED } });

    const late = await world.submit({ upload, cache_ttl: 60 });
    await world.artifacts.remove(name);
    await world.run(await world.claim(), draws);
    const outcome = await endOf(world, late.id);
    expect(outcome).toMatchObject({ ok: true, data: { cached: false, upload: UPLOADED } });
    expect(outcome?.ok === true && outcome.data.artifact).not.toBe(name);
  });

  it('is not uploaded if it fails', async () => {
    await using world = await aWorld();
    const orders = uploads(world);
    const { id } = await world.submit({ upload });
    await world.run(await world.claim(), fails(new CaptureError({ code: 'target_error', message: 'no' })));
    expect(await endOf(world, id)).toMatchObject({ ok: false });
    expect(orders).toEqual([]);
  });

  it('returns to the queue if the server stops during the upload, and is uploaded by the next one', async () => {
    await using world = await aWorld();
    const { id } = await world.submit({ upload });
    const stop = new AbortController();
    world.send = async (_order, signal) => {
      stop.abort(new Error('the server stops'));
      return signal.throwIfAborted() ?? UPLOADED;
    };
    await world.run(await world.claim(), draws, stop.signal);
    expect(await world.store.findJob(id)).toMatchObject({ attemptsMade: 0, result: null });
    const orders = uploads(world);
    await world.run(await world.claim(), draws);
    expect(orders).toHaveLength(1);
    expect(await endOf(world, id)).toMatchObject({ ok: true });
  });

  const always = { 'x-token': 't' };
  const sending = {
    method: 'POST' as const,
    headers: { 'content-disposition': 'attachment', ...always },
    failure: { url: 'https://errors.example.com/', method: 'PATCH' as const, headers: always },
  };
  /** The part of a door's order that says how the file is sent. */
  async function sentOf(world: World, render: RunJobDeps['render'], send: World['send'], stop?: AbortSignal) {
    const job = await world.claim();
    const orders: UploadOrder[] = [];
    world.send = async (order, signal) => {
      orders.push(order);
      return await send(order, signal);
    };
    await world.run({ ...job, options: { ...job.options, upload: { ...upload, artifact: null, sending } } }, render, stop);
    return orders.map(({ content, ...order }) => ({ ...order, text: Buffer.from(content).toString() }));
  }
  const failed = new CaptureError({ code: 'target_error', message: '`wait_for_selector`: no', retriable: false });
  const toErrors = { ...sending.failure, contentType: 'application/json' };

  it.each([
    ['the file', draws, null, [{ ...upload, method: 'POST', headers: sending.headers, text: PICTURE.toString() }]],
    ['the error of a capture', fails(failed), null, [{ ...toErrors, text: `{"status":409,"message":"'waitForSelector': no"}` }]],
    [
      'the error of a file that could not be sent',
      draws,
      'The receiver answered 404.',
      [upload, { ...toErrors, text: '{"status":500,"message":"The file could not be sent. The receiver answered 404."}' }],
    ],
  ])('sends %s to the callback of a door', async (_what, render, error, wanted) => {
    await using world = await aWorld();
    await world.submit({ upload });
    expect(await sentOf(world, render, async () => ({ ...UPLOADED, error }))).toMatchObject(wanted);
  });

  it('fails only once the callback has its error: a server that stops leaves it to the next one', async () => {
    await using world = await aWorld();
    const { id } = await world.submit({ upload });
    const stop = new AbortController();
    const stopping: World['send'] = async (_order, signal) => {
      stop.abort(new Error('the server stops'));
      return signal.throwIfAborted() ?? UPLOADED;
    };
    await sentOf(world, fails(failed), stopping, stop.signal);
    expect(await endOf(world, id)).toBeUndefined();
    expect(await sentOf(world, fails(failed), async () => UPLOADED)).toHaveLength(1);
    expect(await endOf(world, id)).toMatchObject({ ok: false });
  });
});

describe('a capture', () => {
  it('keeps a picture although the store is unavailable for a moment', async () => {
    await using world = await aWorld();
    const submitted = await world.submit({});
    const { complete } = world.store;
    let renders = 0;
    let refusals = 1;
    world.store.complete = (...given) => {
      if (refusals-- > 0) return Promise.reject(new CaptureError({ code: 'internal_error', status: 503, message: 'full' }));
      return complete(...given);
    };
    await world.run(await world.claim(), async () => {
      renders++;
      return aRendering();
    });
    expect(await world.store.findJob(submitted.id)).toMatchObject({ state: 'completed', attemptsMade: 1 });
    expect([renders, refusals]).toEqual([1, -1]);
  });

  it('returns a job to the queue without counting the attempt while the machine has no browser or disk space, up to a limit', async () => {
    await using world = await aWorld();
    const { id } = await world.submit({});
    const away = () => Promise.reject(new CaptureError({ code: 'internal_error', status: 503, message: 'No browser was free in time.' }));
    await world.run(await world.claim(), away);
    expect(await world.store.findJob(id)).toMatchObject({ state: 'prioritized', attemptsMade: 0 });
    await world.run(await world.claim(), async () => aRendering());
    expect(await world.store.findJob(id)).toMatchObject({ state: 'completed', attemptsMade: 1 });
    const other = await world.submit({ url: 'https://example.com/other' });
    for (let released = 0; released < 60; released++) await world.run(await world.claim(), away);
    expect(await world.store.findJob(other.id)).toMatchObject({ state: 'prioritized' });
    await world.run(await world.claim(), away);
    expect(await world.store.findJob(other.id)).toMatchObject({ state: 'failed' });
  });

  it('keeps a picture while the storage is unavailable, and checks that it is back before announcing another name', async () => {
    await using world = await aWorld();
    const { id } = await world.submit({});
    const { put } = world.artifacts;
    let [renders, puts, probes] = [0, 0, 0];
    const { artifacts } = world;
    Object.assign(artifacts, {
      put: async (...given: Parameters<typeof put>) => {
        puts++;
        artifacts.isFailing = puts === 1;
        if (artifacts.isFailing) throw new CaptureError(AWAY);
        return await put.apply(artifacts, given);
      },
      isReady: async () => ++probes > 2,
    });
    await world.run(await world.claim(), async () => {
      renders++;
      return aRendering();
    });
    expect(await world.store.findJob(id)).toMatchObject({ state: 'completed', attemptsMade: 1 });
    expect({ renders, puts, probes }).toEqual({ renders: 1, puts: 2, probes: 3 });
  });

  it.each([
    ['refuses for the whole hold time', new CaptureError(AWAY), 'The bucket refuses access.'],
    ['never accepts', new CaptureError({ code: 'internal_error', message: 'too large', retriable: false }), 'too large'],
  ])('fails a job whose picture the storage %s', async (_, problem, message) => {
    await using world = await aWorld();
    const { id } = await world.submit({});
    const put = () => Promise.reject(problem);
    await world.claimAndRun(draws, { ...READY, refusal: 'The bucket refuses access.', put, remove: async () => {} });
    expect(await world.store.findJob(id)).toMatchObject({ state: 'failed', result: { outcome: { ok: false, error: { message } } } });
  });

  it('returns a job to the queue without counting the attempt when the storage stays unavailable, even if the database is briefly unavailable as well', async () => {
    await using world = await aWorld();
    const { id } = await world.submit({});
    const { release } = world.store;
    let refusals = 1;
    world.store.release = (claim) => (refusals-- > 0 ? Promise.reject(new CaptureError(AWAY)) : release(claim));
    const away = { ...READY, put: () => Promise.reject(new CaptureError(AWAY)), remove: async () => undefined };
    await world.claimAndRun(draws, away);
    expect(await world.store.findJob(id)).toMatchObject({ state: 'prioritized', attemptsMade: 0, result: null });
    await world.run(await world.claim(), draws);
    expect(await world.store.findJob(id)).toMatchObject({ state: 'completed', attemptsMade: 1 });
  });

  it('goes from a submission to stored bytes and a charged, completed job', async () => {
    await using world = await aWorld();
    const submitted = await world.submit({});
    expect(submitted).toMatchObject({ state: 'prioritized', mode: 'sync', attemptsMade: 0 });
    await world.run(await world.claim(), draws);
    const job = await world.store.findJob(submitted.id);
    expect(job?.state).toBe('completed');
    if (job?.result?.outcome.ok !== true) throw new Error('no data');
    const { data } = job.result.outcome;
    expect(data).toMatchObject({ width: 2560, bytes: PICTURE.length, blockedRequests: 3, cached: false });
    expect(await readAll(world.artifacts, data.artifact)).toEqual(PICTURE);
    expect(await world.store.usage(world.caller.accountId, Date.now())).toMatchObject({ credits: 1, reserved: 0 });
    expect(world.ended.map((one) => one.id)).toEqual([submitted.id]);
  });

  it('shows its progress in a look-up long before its lease needs renewing', { timeout: LEASE_MS / 6 }, async () => {
    await using world = await aWorld();
    const { id } = await world.submit({});
    const { renewLease } = world.store;
    const told = new Promise<void>((resolve) => {
      world.store.renewLease = (...given) => renewLease(...given).finally(resolve);
    });
    await world.run(await world.claim(), async (order) => {
      order.onProgress(40);
      await told;
      expect(await world.store.findJob(id)).toMatchObject({ state: 'active', progress: 40 });
      return aRendering();
    });
    expect(await world.store.findJob(id)).toMatchObject({ state: 'completed', progress: 100 });
  });

  it.each([
    new CaptureError({ code: 'render_timeout', message: 'too slow' }),
    new CaptureError({ code: 'navigation_failed', message: 'no such name', retriable: false }),
    new CaptureError({ code: 'target_error', message: 'answered 503' }),
    new TypeError('a fault of ours'),
  ])('is not tried again after $name $code', async (error) => {
    await using world = await aWorld();
    const { id } = await world.submit({});
    await world.run(await world.claim(), fails(error));
    const job = await world.store.findJob(id);
    expect(job).toMatchObject({ state: 'failed', attemptsMade: 1 });
    // The text of an unexpected error is for the log alone.
    expect(JSON.stringify(job)).not.toContain('a fault of ours');
  });

  // The turn of the second attempt may come late: it has what was left when it was due.
  it.each([
    ['the rest of the time budget', 0, { dueAt: 15_000, claimedAt: 19_900 }, 5_000],
    ['a whole budget if the clock was set ahead meanwhile', 31 * DAY_MS, {}, 20_000],
    ['a whole budget if the clock was set back meanwhile', -31 * DAY_MS, {}, 20_000],
  ])('has for its second attempt after a crash %s', async (_, jumpMs, later, expected) => {
    await using world = await aWorld();
    await world.submit({ timeout: 20_000 });
    const { orders, crash } = crashes();
    const first = await world.claim();
    const firstClaimedAt = first.firstClaimedAt - jumpMs;
    await world.run({ ...first, firstClaimedAt }, crash);
    const again = await world.claim();
    const times = Object.fromEntries(Object.entries(later).map(([name, ms]) => [name, first.firstClaimedAt + ms]));
    await world.run({ ...again, firstClaimedAt, ...times }, crash);
    expect(orders.map((order) => order.options.timeout)).toEqual([20_000, expected]);
  });

  it('has the whole budget after a restart returned it to the queue', async () => {
    await using world = await aWorld();
    await world.submit({ timeout: 20_000 });
    const { orders, crash } = crashes();
    const claimed = await world.claim();
    await world.run({ ...claimed, attempt: 2, firstClaimedAt: claimed.claimedAt - 15_000 }, crash);
    expect(orders.map((order) => order.options.timeout)).toEqual([20_000]);
  });

  it('does not count the wait for memory of a first attempt against the second', async () => {
    await using world = await aWorld();
    await world.submit({ timeout: 20_000 });
    const { orders, crash } = crashes();
    const claimed = await world.claim();
    const { now } = Date;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 10_000);
    onTestFinished(() => clock.mockRestore());
    await world.run(claimed, (order) => {
      order.onBegin?.();
      return crash(order);
    });
    await world.run(await world.claim(), crash);
    expect(orders[1]?.options.timeout).toBeGreaterThan(15_000);
  });

  it('gives a job that a restart returned to the queue the whole budget', async () => {
    await using world = await aWorld();
    await world.submit({ timeout: 20_000 });
    const { orders, crash } = crashes();
    const claimed = await world.claim();
    await world.run({ ...claimed, attempt: 2, firstClaimedAt: claimed.claimedAt - 15_000 }, crash);
    expect(orders.map((order) => order.options.timeout)).toEqual([20_000]);
  });

  // A delay would be waited again: it leaves nothing for a second attempt.
  it.each([{ timeout: 20_000 }, { timeout: 20_000, delay: 10_000 }])(
    'is not tried again after a crash when nothing is left of %o',
    async (wish) => {
      await using world = await aWorld();
      const { id } = await world.submit(wish);
      const { crash } = crashes();
      const clock = aMonotonicClock();
      await world.run(await world.claim(), async (order) => {
        clock.pass(19_500);
        return await crash(order);
      });
      expect(await world.store.findJob(id)).toMatchObject({ state: 'failed', attemptsMade: 1 });
    },
  );

  it('returns a job to the queue unchanged when the server cannot wait for it', async () => {
    await using world = await aWorld();
    const { id } = await world.submit({});
    const stop = new AbortController();
    await world.run(
      await world.claim(),
      async (_order, signal) => {
        stop.abort();
        signal.throwIfAborted();
        return aRendering();
      },
      stop.signal,
    );
    expect(await world.store.findJob(id)).toMatchObject({ state: 'prioritized', attemptsMade: 0 });
    expect((await world.claim()).attempt).toBe(1);
  });

  it('removes the picture of a claim that was lost meanwhile', async () => {
    await using world = await aWorld();
    await world.submit({});
    const job = await world.claim();
    await world.run(job, async () => {
      await world.store.fail(
        { id: job.id, workerId: job.workerId, attempt: job.attempt },
        { code: 'render_timeout', message: 'x', retriable: true, status: 504 },
        Date.now(),
      );
      return aRendering();
    });
    expect(await countFiles(world.artifacts)).toBe(0);
    expect((await world.store.findJob(job.id))?.state).toBe('failed');
  });

  it('keeps the picture of a step that seemed to fail but was committed', async () => {
    await using world = await aWorld();
    const { complete } = world.store;
    let isFirst = true;
    world.store.complete = async (...given) => {
      const ended = await complete(...given);
      if (!isFirst) return ended;
      isFirst = false;
      throw new CaptureError({ code: 'internal_error', status: 503, message: 'the disk answered late' });
    };
    const { name } = await aPicture(world, 'https://example.com/');
    expect((await world.artifacts.open(name))?.bytes).toBe(PICTURE.length);
  });

  it.skipIf(IS_POSTGRES).each<['complete' | 'fail', RunJobDeps['render']]>([
    ['complete', draws],
    ['fail', () => Promise.reject(new CaptureError({ code: 'target_error', message: 'no' }))],
  ])('reports all jobs that a step ended although its sync failed: %s', async (step, render) => {
    await using world = await aWorld();
    const { store } = world;
    const jobs = [await world.submit({}), await world.submit({ sync: false })];
    const actual: (...given: never[]) => Promise<EndedJob[]> = store[step];
    let tries = 0;
    const failing = async (...given: never[]) => {
      const ended = await actual(...given);
      if (++tries === 1) throw new CaptureError(AWAY);
      return ended;
    };
    Object.assign(store, { [step]: failing });
    await world.run(await world.claim(), render);
    expect(tries).toBe(2);
    expect(world.ended.map((one) => one.id)).toEqual(jobs.map((job) => job.id));
  });
});

describe('submitting', () => {
  it('refuses a literal private destination, and names the field', async () => {
    const egress = {
      refusesLiterally: () => true,
      proxyProblem: () => null,
      judgeHost: async () => ({ ok: true as const, addresses: [] }),
    };
    await using world = await aWorld({ egress });
    await expect(world.submit({})).rejects.toMatchObject({
      code: 'invalid_request',
      details: { reason: 'blocked_destination', issues: [{ path: 'url' }] },
    });
    await using both = await aWorld({ egress: { ...egress, proxyProblem: () => 'must be on a public address' } });
    await expect(both.submit({ proxy: { server: 'http://10.0.0.1' } })).rejects.toMatchObject({
      details: { reason: 'blocked_destination', issues: [{ path: 'url' }, { path: 'proxy.server' }] },
    });
  });

  it('refuses everything once the server is draining', async () => {
    await using world = await aWorld({ draining: () => true });
    await expect(world.submit({})).rejects.toMatchObject({ code: 'internal_error', status: 503, retryAfterSeconds: 5 });
  });

  it('answers 503 with Retry-After when the queue is full', async () => {
    await using world = await aWorld({ rules: { maxQueue: 1, webhookMaxAttempts: 5 } });
    await world.submit({ quality: 50 });
    await expect(world.submit({ quality: 51 })).rejects.toMatchObject({
      code: 'internal_error',
      status: 503,
      retriable: true,
      retryAfterSeconds: 5,
    });
  });
});

describe('submitting with a webhook', () => {
  const webhook = { url: 'https://hooks.example.com/', secret: 'sixteen characters or more' };

  it('returns the job although its receiver can no longer be resolved, and refuses a new one', async () => {
    let resolves = true;
    const judgeHost = async () =>
      resolves
        ? { ok: true as const, addresses: ['93.184.216.34'] }
        : { ok: false as const, reason: 'unresolvable' as const, temporary: true };
    await using world = await aWorld({ egress: { refusesLiterally: () => false, proxyProblem: () => null, judgeHost } });
    const first = await world.submit({ webhook }, 'order-2');
    resolves = false;
    expect((await world.submit({ webhook }, 'order-2')).id).toBe(first.id);
    await expect(world.submit({ webhook }, 'order-3')).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('waiting for a job', () => {
  it('returns as soon as the job ends', async () => {
    await using world = await aWorld();
    const job = await world.submit({});
    const ended = waitForJob({ ...world, now: Date.now }, job, { until: Date.now() + 60_000, signal: null });
    await world.run(await world.claim(), draws);
    expect((await ended).state).toBe('completed');
  });

  it("returns the job's current state when the time is up, when nobody waits, and when the server shuts down", async () => {
    await using world = await aWorld();
    const job = await world.submit({});
    const deps = { ...world, now: Date.now };
    expect((await waitForJob(deps, job, { until: Date.now() + 20, signal: null })).state).toBe('prioritized');
    const gone = new AbortController();
    const abandoned = waitForJob(deps, job, { until: Date.now() + 60_000, signal: gone.signal });
    gone.abort();
    expect((await abandoned).state).toBe('prioritized');
    const waiting = waitForJob(deps, job, { until: Date.now() + 60_000, signal: null });
    world.signals.close();
    expect((await waiting).state).toBe('prioritized');
  });
});

describe('a look-up', () => {
  it("finds only the key's own jobs, by id and by idempotency key", async () => {
    await using world = await aWorld();
    const { caller, store } = world;
    const job = await world.submit({}, 'mine');
    const me = { keyId: caller.keyId, accountId: caller.accountId, scopes: [] };
    const neighbour = { ...me, keyId: newId('key') };
    expect((await lookupJob(store, job.id, me))?.id).toBe(job.id);
    expect((await lookupRequest(store, 'mine', me))?.id).toBe(job.id);
    expect(await lookupJob(store, job.id, neighbour)).toBeNull();
    expect(await lookupRequest(store, 'mine', neighbour)).toBeNull();
    expect(await lookupRequest(store, 'mine', { ...me, accountId: newId('account') })).toBeNull();
  });
});

describe('a sweep', () => {
  const rules = {
    artifactTtlMs: 1_000,
    jobTtlMs: 2_000,
    maxStorageBytes: 1e9,
    log: silentLog(),
    onEnded: () => undefined,
    onRequeued: () => undefined,
    own: () => ({ jobs: [], deliveries: [] }),
  };
  const at = (now: () => number) => ({ now, cautiousNow: now });

  it('fails a job whose last attempt no worker holds any more, with its line in the log', async () => {
    await using world = await aWorld();
    const { id, requestId } = await world.submit({});
    const lines: Record<string, unknown>[] = [];
    const sink = new Writable({ write: (line, _encoding, done) => done(void lines.push(JSON.parse(String(line)))) });
    const deps = { ...rules, store: world.store, log: pino(sink), now: Date.now };
    for (let attempt = 0; attempt < 2; attempt++) {
      await world.claim();
      await recoverLeases(deps, { starting: true });
    }
    expect((await world.store.findJob(id))?.state).toBe('failed');
    expect(lines.filter(({ msg }) => msg === 'job')).toMatchObject([
      { job_id: id, request_id: requestId, state: 'failed', code: 'render_crashed' },
    ]);
  });

  it('removes files of an earlier run that no row refers to, and none of this run', async () => {
    await using world = await aWorld();
    const { store, artifacts } = world;
    const orphan = await artifacts.put(PICTURE, 'png');
    await world.submit({});
    await world.run(await world.claim(), draws);
    const writtenAt = (await artifacts.open(orphan.name))?.modifiedAt ?? 0;
    await removeOrphans({ store, artifacts, log: silentLog() }, writtenAt, new AbortController().signal);
    expect(await countFiles(artifacts)).toBe(2);
    await removeOrphans({ store, artifacts, log: silentLog() }, Date.now() + 1_000, new AbortController().signal);
    expect(await countFiles(artifacts)).toBe(1);
    expect(await artifacts.open(orphan.name)).toBeNull();
  });

  it('renders a picture with a missing file again on request, and marks its row', async () => {
    await using world = await aWorld();
    const { store, artifacts } = world;
    await world.submit({ cache_ttl: 60 });
    await world.run(await world.claim(), draws);
    expect((await world.submit({ cache_ttl: 60 })).state).toBe('completed');
    const { name } = await aPicture(world, 'https://example.com/lost');
    await artifacts.remove(name);
    expect((await world.submit({ url: 'https://example.com/lost', cache_ttl: 60 })).state).toBe('prioritized');
    expect((await store.findArtifact(name))?.goneAt).not.toBeNull();
    expect((await world.submit({ cache_ttl: 60 })).state).toBe('completed');
  });

  it('treats a picture as deleted while its file cannot be removed, and one whose file is missing', async () => {
    await using world = await aWorld();
    const { store, artifacts } = world;
    const deps = { store, artifacts, log: silentLog(), now: Date.now };
    const { name } = await aPicture(world, 'https://example.com/expired');
    expect(await openPicture(deps, name)).toMatchObject({ bytes: PICTURE.length });
    await store.markGone(name, Date.now());
    expect(await artifacts.open(name)).not.toBeNull();
    expect(await openPicture(deps, name)).toBe('deleted');
    const lost = await aPicture(world, 'https://example.com/missing');
    await artifacts.remove(lost.name);
    expect(await openPicture(deps, lost.name)).toBe('deleted');
    expect(await openPicture(deps, `${'x'.repeat(43)}.png`)).toBeNull();
  });

  it('answers from no picture while the storage is unavailable, and from all once it is back', async () => {
    let isAway = true;
    await using world = await aWorld();
    const { artifacts } = world;
    const { name } = await aPicture(world, 'https://example.com/');
    const away: SubmitDeps['artifacts'] = {
      putPack: async () => undefined,
      remove: async () => undefined,
      open: (wanted) => (isAway ? Promise.resolve(null) : artifacts.open(wanted)),
      isPresent: async () => !isAway,
      isLocal: true,
      refusal: null,
      isFailing: false,
      isReady: async () => !isAway,
    };
    expect((await world.submit({ cache_ttl: 60 }, undefined, { artifacts: away })).state).toBe('prioritized');
    expect((await world.store.findArtifact(name))?.goneAt).toBeNull();
    isAway = false;
    expect((await world.submit({ cache_ttl: 60 }, undefined, { artifacts: away })).state).toBe('completed');
  });

  it('marks rows without files, but none if no file exists at all', async () => {
    await using world = await aWorld();
    const { store, artifacts } = world;
    const [one, other] = [await aPicture(world, 'https://example.com/1'), await aPicture(world, 'https://example.com/2')];
    const deps = { store, log: silentLog(), now: Date.now };
    const signal = new AbortController().signal;
    await findMissing({ ...deps, artifacts: { open: async () => null } }, signal);
    expect(await store.keptArtifacts([one.name, other.name])).toEqual(new Set([one.name, other.name]));
    await artifacts.remove(one.name);
    await findMissing({ ...deps, artifacts }, signal);
    expect(await store.keptArtifacts([one.name, other.name])).toEqual(new Set([other.name]));
  });

  it('removes the file of a capture that never ended, whichever storage got its name', async () => {
    await using world = await aWorld();
    const { store, artifacts } = world;
    await world.submit({});
    const announcing: RunJobDeps['artifacts'] = {
      ...READY,
      remove: (name) => artifacts.remove(name),
      put: async (content, extension, announce) => {
        const stored = await artifacts.put(content, extension);
        await announce?.(stored.name);
        throw new CaptureError({ code: 'internal_error', status: 503, message: 'the answer was lost' });
      },
    };
    const { id } = await world.claimAndRun(draws, announcing);
    expect(await store.findJob(id)).toMatchObject({ state: 'prioritized', attemptsMade: 0 });
    expect(await store.usage(world.caller.accountId, Date.now())).toMatchObject({ credits: 0, reserved: 1 });
    expect(await countFiles(artifacts)).toBe(1);
    await sweep({ ...rules, store, artifacts, ...at(Date.now) }, new AbortController().signal);
    expect(await countFiles(artifacts)).toBe(0);
  });

  it('stops a round when the storage cannot be reached, and removes all files in a later one', async () => {
    await using world = await aWorld();
    const { store, artifacts } = world;
    for (let i = 0; i < 20; i++) await aPicture(world, `https://example.com/${i}`);
    let asked = 0;
    const away: Pick<Artifacts, 'remove' | 'list'> = {
      list: (before) => artifacts.list(before),
      remove: async () => {
        asked++;
        throw new CaptureError({ code: 'internal_error', status: 503, message: 'away' });
      },
    };
    const signal = new AbortController().signal;
    await sweep({ ...rules, store, artifacts: away, ...at(() => Date.now() + 1_500) }, signal);
    expect([asked < 20, await countFiles(artifacts)]).toEqual([true, 20]);
    await sweep({ ...rules, store, artifacts, ...at(() => Date.now() + 1_500) }, signal);
    expect(await countFiles(artifacts)).toBe(0);
  });

  it('removes the other files although one cannot be removed, and retries that one', async () => {
    await using world = await aWorld();
    const { store, artifacts } = world;
    const pictures = [await aPicture(world, 'https://example.com/1'), await aPicture(world, 'https://example.com/2')];
    const stubborn: Pick<Artifacts, 'remove' | 'list'> = {
      list: (before) => artifacts.list(before),
      remove: (name) => (name === pictures[0]?.name ? Promise.reject(new Error('EIO')) : artifacts.remove(name)),
    };
    const signal = new AbortController().signal;
    await sweep({ ...rules, store, artifacts: stubborn, ...at(() => Date.now() + 1_500) }, signal);
    expect(await countFiles(artifacts)).toBe(1);
    await sweep({ ...rules, store, artifacts, ...at(() => Date.now() + 1_500) }, signal);
    expect(await countFiles(artifacts)).toBe(0);
    expect(await store.dueRemovals({ after: '', limit: 10, now: Date.now() })).toEqual([]);
  });
});
