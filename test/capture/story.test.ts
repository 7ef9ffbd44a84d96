import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
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
import { parseSubmission } from '../../src/contract/submission.js';
import { silentLog } from '../../src/log.js';
import type { Rendering, RenderTask } from '../../src/render/capture.js';
import type { ClaimedJob, EndedJob } from '../../src/store/store.js';
import type { UploadTask } from '../../src/webhook/upload-picture.js';
import { countFiles } from '../artifacts/count-files.js';
import { readableLog } from '../fixtures/readable-log.js';
import { aCaller, aCapture, aStore, claimOf, claimOne, RULES } from '../store/factories.js';

const LEASE_MS = 30_000;
const DAY_MS = 86_400_000;
const AWAY = { code: 'internal_error', status: 503, message: 'away' } as const;
const [QUEUED, COMPLETED, FAILED] = [
  { state: 'prioritized', attemptsMade: 0, result: null },
  { state: 'completed', attemptsMade: 1 },
  { state: 'failed', attemptsMade: 1 },
];
const READY = {
  isFailing: false,
  refusal: null,
  isReady: async () => true,
  openPack: async () => null,
  remove: async () => {},
};
const PICTURE = Buffer.from('the bytes of a picture');

const signal = new AbortController().signal;
/** Egress rules that allow everything. */
const PERMISSIVE: SubmitDeps['egress'] = {
  refusesLiterally: () => false,
  proxyProblem: () => null,
  judgeHost: async () => ({ ok: true, addresses: ['93.184.216.34'] }),
};

type Render = RunJobDeps['render'];
type Send = RunJobDeps['uploads']['send'];
type World = Awaited<ReturnType<typeof aWorld>>;

async function aWorld() {
  const { store, dataDir, [Symbol.asyncDispose]: close } = await aStore();
  const artifacts: Artifacts & { isFailing: boolean } = await openArtifactDirectory({
    dir: `${dataDir}/artifacts`,
    log: silentLog(),
  });
  const { keyId, accountId, accountName } = await aCaller(store);
  const principal = { keyId, accountId, scopes: [] };
  const [signals, ended] = [new FinishSignals(), [] as EndedJob[]];
  const shared = { store, artifacts, log: silentLog(), now: Date.now };
  const rules = {
    rules: RULES,
    webhookAllow: [],
    draining: () => false,
    onQueued: () => undefined,
    onCached: () => undefined,
  };
  const uploads: RunJobDeps['uploads'] = {
    open: (name) => artifacts.open(name),
    send: () => Promise.reject(new Error('no job uploads anything')),
  };
  const onEnded = (job: EndedJob) => {
    ended.push(job);
    signals.announce(job.id);
  };
  const running = {
    ...shared,
    templates: { open: () => Promise.reject(new Error('there are no templates here')) },
    uploads,
    onEnded,
    leaseMs: LEASE_MS,
    retryDelayMs: 0,
    releases: new Map<string, number>(),
    since: (time: number) => Date.now() - time,
  };
  const claim = async () => {
    const job = await claimOne(store, { workerId: 'worker-0', now: Date.now(), leaseMs: LEASE_MS });
    if (job === null) throw new Error('nothing to claim');
    return job;
  };
  const run = (job: ClaimedJob, render: Render, stop = signal) => runJob({ ...running, render }, job, stop);
  return {
    store,
    artifacts,
    ended,
    uploads,
    claim,
    run,
    signals,
    principal,
    accountName,
    submit: (body: Record<string, unknown>, idempotencyKey: string | null = null, over: Partial<SubmitDeps> = {}) =>
      submit(
        { ...shared, ...rules, egress: PERMISSIVE, ...over },
        parseSubmission({ url: 'https://example.com/', ...body }, { forceAsync: false, webhookAllow: [] }),
        { principal, requestId: newId('request'), idempotencyKey, traceparent: null },
      ),
    /** Claims the next job and runs it. */
    work: async (render: Render, stop = signal) => run(await claim(), render, stop),
    /** With a storage that is not the world's own, for which no picture is held. */
    workWith: async (storage: RunJobDeps['artifacts'], render: Render = draws) => {
      const job = await claim();
      await runJob({ ...running, render, artifacts: storage, holdMs: 0 }, job, signal);
      return job;
    },
    async [Symbol.asyncDispose]() {
      await artifacts[Symbol.asyncDispose]();
      await close.call({ store, dataDir });
    },
  };
}

let world: World;
beforeEach(async () => {
  world = await aWorld();
  return () => world[Symbol.asyncDispose]();
});

const stateOf = async (id: string) => await world.store.findJob(id);
const outcomeOf = async (id: string) => (await stateOf(id))?.result?.outcome;

/** Captures a page, and returns the name of its picture. */
async function aPicture(url = 'https://example.com/'): Promise<string> {
  const { id } = await world.submit({ url, cache_ttl: 60 });
  await world.work(draws);
  const outcome = await outcomeOf(id);
  if (outcome?.ok !== true) throw new Error('no picture was kept');
  return outcome.data.artifact;
}

const draws = async (): Promise<Rendering> => ({
  ...aCapture().data,
  format: 'webp',
  content: PICTURE,
  warnings: [],
  captures: null,
  changed: null,
  timings: { navigate: 10 },
});
const fails = (error: Error) => (): Promise<Rendering> => Promise.reject(error);

/** Renders that crash, and what was asked of them. */
function crashes() {
  const orders: RenderTask[] = [];
  const crash = async (order: RenderTask): Promise<Rendering> => {
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
  /** Has uploads succeed, or end otherwise. Returns what was sent. */
  function uploads(send: Send = async () => UPLOADED): UploadTask[] {
    const orders: UploadTask[] = [];
    world.uploads.send = (order, stop) => {
      orders.push(order);
      return send(order, stop);
    };
    return orders;
  }
  /** An upload during which the server stops. */
  function stopped() {
    const stop = new AbortController();
    const send: Send = async (_order, stopping) => {
      stop.abort(new Error('the server stops'));
      return stopping.throwIfAborted() ?? UPLOADED;
    };
    return { stop: stop.signal, send };
  }

  it('ends once it is uploaded, and keeps its page open no longer than it needs it', async () => {
    const { id } = await world.submit({ upload });
    const steps: string[] = [];
    let isKept: Promise<unknown> | undefined;
    uploads(async ({ contentType }) => {
      await isKept;
      steps.push(`sent ${contentType}`, `${(await outcomeOf(id))?.ok}`);
      return UPLOADED;
    });
    await world.work(async ({ kept }) => {
      isKept = kept?.then(() => steps.push('closed'));
      return await draws();
    });
    expect(steps).toEqual(['closed', 'sent image/webp', 'undefined']);
    expect(await outcomeOf(id)).toMatchObject({ ok: true, data: { cached: false, upload: UPLOADED } });
  });

  it('uploads a stored picture without a new one, unless it is gone meanwhile', async () => {
    const orders = uploads();
    const name = await aPicture();
    const { id } = await world.submit({ upload, cache_ttl: 60 });
    await world.work(fails(new Error('not to be rendered')));
    expect(orders).toMatchObject([{ jobId: id, ...upload, content: PICTURE, contentType: 'image/webp' }]);
    expect(await outcomeOf(id)).toMatchObject({ ok: true, data: { cached: true, artifact: name, upload: UPLOADED } });

    const late = await world.submit({ upload, cache_ttl: 60 });
    await world.artifacts.remove(name);
    await world.work(draws);
    const outcome = await outcomeOf(late.id);
    expect(outcome).toMatchObject({ ok: true, data: { cached: false, upload: UPLOADED } });
    expect(outcome?.ok === true && outcome.data.artifact).not.toBe(name);
  });

  it('is not uploaded if it fails', async () => {
    const orders = uploads();
    const { id } = await world.submit({ upload });
    await world.work(fails(new CaptureError({ code: 'target_error', message: 'no' })));
    expect(await outcomeOf(id)).toMatchObject({ ok: false });
    expect(orders).toEqual([]);
  });

  it('returns to the queue if the server stops during the upload, and is uploaded by the next one', async () => {
    const { id } = await world.submit({ upload });
    const { stop, send } = stopped();
    uploads(send);
    await world.work(draws, stop);
    expect(await stateOf(id)).toMatchObject({ attemptsMade: 0, result: null });
    const orders = uploads();
    await world.work(draws);
    expect(orders).toHaveLength(1);
    expect(await outcomeOf(id)).toMatchObject({ ok: true });
  });

  const always = { 'x-token': 't' };
  const sending = {
    method: 'POST' as const,
    headers: { 'content-disposition': 'attachment', ...always },
    failure: { url: 'https://errors.example.com/', method: 'PATCH' as const, headers: always },
  };
  /** Runs a job of a compatible API. Returns how its file was sent. */
  async function sentOf(render: Render, send: Send, stop?: AbortSignal) {
    const job = await world.claim();
    const orders = uploads(send);
    await world.run(
      { ...job, options: { ...job.options, upload: { ...upload, artifact: null, sending } } },
      render,
      stop,
    );
    return orders.map(({ content, ...order }) => ({ ...order, text: Buffer.from(content).toString() }));
  }
  const failed = new CaptureError({ code: 'target_error', message: '`wait_for_selector`: no', retriable: false });
  const toErrors = { ...sending.failure, contentType: 'application/json' };

  it.each([
    ['the file', draws, null, [{ ...upload, method: 'POST', headers: sending.headers, text: PICTURE.toString() }]],
    [
      'the error of a capture',
      fails(failed),
      null,
      [{ ...toErrors, text: `{"status":409,"message":"'waitForSelector': no"}` }],
    ],
    [
      'the error of a file that could not be sent',
      draws,
      'The receiver answered 404.',
      [
        upload,
        { ...toErrors, text: '{"status":500,"message":"The file could not be sent. The receiver answered 404."}' },
      ],
    ],
  ])('sends %s to the callback of a compatible API', async (_what, render, error, wanted) => {
    await world.submit({ upload });
    expect(await sentOf(render, async () => ({ ...UPLOADED, error }))).toMatchObject(wanted);
  });

  it('fails only once the callback has its error: a server that stops leaves it to the next one', async () => {
    const { id } = await world.submit({ upload });
    const { stop, send } = stopped();
    await sentOf(fails(failed), send, stop);
    expect(await outcomeOf(id)).toBeUndefined();
    expect(await sentOf(fails(failed), async () => UPLOADED)).toHaveLength(1);
    expect(await outcomeOf(id)).toMatchObject({ ok: false });
  });
});

describe('a capture', () => {
  it('keeps a picture although the store is unavailable for a moment', async () => {
    const { id } = await world.submit({});
    const { complete } = world.store;
    let [renders, refusals] = [0, 1];
    world.store.complete = (...given) => (refusals-- > 0 ? Promise.reject(new CaptureError(AWAY)) : complete(...given));
    await world.work(async () => {
      renders++;
      return await draws();
    });
    expect(await stateOf(id)).toMatchObject(COMPLETED);
    expect([renders, refusals]).toEqual([1, -1]);
  });

  it('returns a job to the queue without counting the attempt while the machine has no browser or disk space, up to a limit', async () => {
    const { id } = await world.submit({});
    const away = fails(new CaptureError(AWAY));
    await world.work(away);
    expect(await stateOf(id)).toMatchObject(QUEUED);
    await world.work(draws);
    expect(await stateOf(id)).toMatchObject(COMPLETED);
    const other = await world.submit({ url: 'https://example.com/other' });
    for (let released = 0; released < 60; released++) await world.work(away);
    expect(await stateOf(other.id)).toMatchObject({ state: 'prioritized' });
    await world.work(away);
    expect(await stateOf(other.id)).toMatchObject({ state: 'failed' });
  });

  it('keeps a picture while the storage is unavailable, and checks that it is back before announcing another name', async () => {
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
    await world.work(async () => {
      renders++;
      return await draws();
    });
    expect(await stateOf(id)).toMatchObject(COMPLETED);
    expect({ renders, puts, probes }).toEqual({ renders: 1, puts: 2, probes: 3 });
  });

  it.each([
    ['refuses for the whole hold time', new CaptureError(AWAY), 'The bucket refuses access.'],
    [
      'never accepts',
      new CaptureError({ code: 'internal_error', message: 'too large', retriable: false }),
      'too large',
    ],
  ])('fails a job whose picture the storage %s', async (_, problem, message) => {
    const { id } = await world.submit({});
    const put = () => Promise.reject(problem);
    await world.workWith({ ...READY, refusal: 'The bucket refuses access.', put });
    expect(await stateOf(id)).toMatchObject({
      state: 'failed',
      result: { outcome: { ok: false, error: { message } } },
    });
  });

  it('returns a job to the queue without counting the attempt when the storage stays unavailable, even if the database is briefly unavailable as well', async () => {
    const { id } = await world.submit({});
    const { release } = world.store;
    let refusals = 1;
    world.store.release = (claim) => (refusals-- > 0 ? Promise.reject(new CaptureError(AWAY)) : release(claim));
    await world.workWith({ ...READY, put: () => Promise.reject(new CaptureError(AWAY)) });
    expect(await stateOf(id)).toMatchObject(QUEUED);
    await world.work(draws);
    expect(await stateOf(id)).toMatchObject(COMPLETED);
  });

  it('shows its progress in a look-up long before its lease needs renewing', { timeout: LEASE_MS / 6 }, async () => {
    const { id } = await world.submit({});
    const { renewLease } = world.store;
    const told = new Promise<void>((resolve) => {
      world.store.renewLease = (...given) => renewLease(...given).finally(resolve);
    });
    await world.work(async (order) => {
      order.onProgress(40);
      await told;
      expect(await stateOf(id)).toMatchObject({ state: 'active', progress: 40 });
      return await draws();
    });
    expect(await stateOf(id)).toMatchObject({ state: 'completed', progress: 100 });
  });

  it.each([
    new CaptureError({ code: 'render_timeout', message: 'too slow' }),
    new CaptureError({ code: 'navigation_failed', message: 'no such name', retriable: false }),
    new CaptureError({ code: 'target_error', message: 'answered 503' }),
    new TypeError('a fault of ours'),
  ])('is not tried again after $name $code', async (error) => {
    const { id } = await world.submit({});
    await world.work(fails(error));
    const job = await world.store.findJob(id);
    expect(job).toMatchObject(FAILED);
    // The text of an unexpected error is for the log alone.
    expect(JSON.stringify(job)).not.toContain('a fault of ours');
  });

  // The turn of the second attempt may come late: it has what was left when it was due.
  it.each([
    ['the rest of the time budget', 0, { dueAt: 15_000, claimedAt: 19_900 }, 5_000],
    ['a whole budget if the clock was set ahead meanwhile', 31 * DAY_MS, {}, 20_000],
    ['a whole budget if the clock was set back meanwhile', -31 * DAY_MS, {}, 20_000],
  ])('has for its second attempt after a crash %s', async (_, jumpMs, later, expected) => {
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
    await world.submit({ timeout: 20_000 });
    const { orders, crash } = crashes();
    const claimed = await world.claim();
    await world.run({ ...claimed, attempt: 2, firstClaimedAt: claimed.claimedAt - 15_000 }, crash);
    expect(orders.map((order) => order.options.timeout)).toEqual([20_000]);
  });

  it('leaves the processor to others only as one of a batch', async () => {
    await world.submit({});
    const { orders, crash } = crashes();
    await world.run({ ...(await world.claim()), isOfBatch: true }, crash);
    await world.work(crash);
    expect(orders.map(({ inBackground }) => inBackground)).toEqual([true, false]);
  });

  it('does not count the wait for memory of a first attempt against the second', async () => {
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
    await world.work(crash);
    expect(orders[1]?.options.timeout).toBeGreaterThan(15_000);
  });

  // A delay would be waited again: it leaves nothing for a second attempt.
  it.each([{ timeout: 20_000 }, { timeout: 20_000, delay: 10_000 }])(
    'is not tried again after a crash when nothing is left of %o',
    async (wish) => {
      const { id } = await world.submit(wish);
      const { crash } = crashes();
      const now = performance.now.bind(performance);
      await world.work((order) => {
        const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 19_500);
        onTestFinished(() => clock.mockRestore());
        return crash(order);
      });
      expect(await stateOf(id)).toMatchObject(FAILED);
    },
  );

  it('returns a job to the queue unchanged when the server cannot wait for it', async () => {
    const { id } = await world.submit({});
    const stop = new AbortController();
    await world.work(async (_order, stopping) => {
      stop.abort();
      return stopping.throwIfAborted() ?? (await draws());
    }, stop.signal);
    expect(await stateOf(id)).toMatchObject(QUEUED);
    expect((await world.claim()).attempt).toBe(1);
  });

  it('removes the picture of a claim that was lost meanwhile', async () => {
    await world.submit({});
    const job = await world.claim();
    await world.run(job, async () => {
      await world.store.fail(
        claimOf(job),
        { code: 'render_timeout', message: 'x', retriable: true, status: 504 },
        Date.now(),
      );
      return await draws();
    });
    expect(await countFiles(world.artifacts)).toBe(0);
    expect(await stateOf(job.id)).toMatchObject(FAILED);
  });

  it('keeps the picture of a step that seemed to fail but was committed', async () => {
    const { complete } = world.store;
    let tries = 0;
    world.store.complete = async (...given) => {
      const ended = await complete(...given);
      if (++tries > 1) return ended;
      throw new CaptureError(AWAY);
    };
    expect((await world.artifacts.open(await aPicture()))?.bytes).toBe(PICTURE.length);
  });

  it.each<['complete' | 'fail', Render]>([
    ['complete', draws],
    ['fail', fails(new CaptureError({ code: 'target_error', message: 'no' }))],
  ])('reports all jobs that a step ended although its sync failed: %s', async (step, render) => {
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
    await world.work(render);
    expect(tries).toBe(2);
    expect(world.ended.map((one) => one.id)).toEqual(jobs.map((job) => job.id));
  });
});

describe('submitting', () => {
  it('refuses a literal private destination, and names the field', async () => {
    const egress = { ...PERMISSIVE, refusesLiterally: () => true, proxyProblem: () => 'must be on a public address' };
    const refused = world.submit({ proxy: { server: 'http://10.0.0.1' } }, null, { egress });
    const details = { reason: 'blocked_destination', issues: [{ path: 'url' }, { path: 'proxy.server' }] };
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request', details });
  });

  it('names the end of the month, in Retry-After too, when the quota does not cover a capture', async () => {
    await world.store.setQuota(world.accountName, 0);
    const refused = await world
      .submit({}, null, { now: () => Date.UTC(2026, 10, 30, 23, 59) })
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'quota_exceeded', status: 429, retriable: false, retryAfterSeconds: 60 });
    expect(refused).toMatchObject({ message: expect.stringContaining('2026-12-01') });
  });

  it('answers 503 with Retry-After when the queue is full, and once the server is draining', async () => {
    const rules = { maxQueue: 1, webhookMaxAttempts: 5 };
    await world.submit({ quality: 50 }, null, { rules });
    const unavailable = { code: 'internal_error', status: 503, retriable: true, retryAfterSeconds: 5 };
    await expect(world.submit({ quality: 51 }, null, { rules })).rejects.toMatchObject(unavailable);
    await expect(world.submit({}, null, { draining: () => true })).rejects.toMatchObject(unavailable);
  });

  it('returns the job although its webhook can no longer be resolved, and refuses a new one', async () => {
    const webhook = { url: 'https://hooks.example.com/', secret: 'sixteen characters or more' };
    const judgeHost = async () => ({ ok: false, reason: 'unresolvable', temporary: true }) as const;
    const first = await world.submit({ webhook }, 'order-2');
    const unresolved = { egress: { ...PERMISSIVE, judgeHost } };
    expect((await world.submit({ webhook }, 'order-2', unresolved)).id).toBe(first.id);
    await expect(world.submit({ webhook }, 'order-3', unresolved)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

describe('waiting for a job', () => {
  const until = (ms: number, given: AbortSignal | null = null) => ({ until: Date.now() + ms, signal: given });

  it('returns as soon as the job ends', async () => {
    const ended = waitForJob({ ...world, now: Date.now }, await world.submit({}), until(60_000));
    await world.work(draws);
    expect((await ended).state).toBe('completed');
  });

  it("returns the job's current state when the time is up, when nobody waits, and when the server shuts down", async () => {
    const [job, deps, gone] = [await world.submit({}), { ...world, now: Date.now }, new AbortController()];
    const waits = [until(20), until(60_000, gone.signal), until(60_000)].map((limits) => waitForJob(deps, job, limits));
    expect((await waits[0])?.state).toBe('prioritized');
    gone.abort();
    expect((await waits[1])?.state).toBe('prioritized');
    world.signals.close();
    expect((await waits[2])?.state).toBe('prioritized');
  });
});

describe('a look-up', () => {
  it("finds only the key's own jobs, by id and by idempotency key", async () => {
    const { principal: me, store } = world;
    const job = await world.submit({}, 'mine');
    const neighbor = { ...me, keyId: newId('key') };
    expect((await lookupJob(store, job.id, me))?.id).toBe(job.id);
    expect((await lookupRequest(store, 'mine', me))?.id).toBe(job.id);
    expect(await lookupJob(store, job.id, neighbor)).toBeNull();
    expect(await lookupRequest(store, 'mine', neighbor)).toBeNull();
    expect(await lookupRequest(store, 'mine', { ...me, accountId: newId('account') })).toBeNull();
  });
});

describe('a sweep', () => {
  const own = () => ({ jobs: [], deliveries: [] });
  /** The dependencies of its parts, with more storage troubles where they are given, and with a clock that is ahead. */
  const depsOf = (over: Partial<Pick<Artifacts, 'remove' | 'open'>> = {}, aheadMs = 0) => {
    const { store, artifacts } = world;
    const list = (before: number) => artifacts.list(before);
    const storage = {
      list,
      remove: (name: string) => artifacts.remove(name),
      open: (name: string) => artifacts.open(name),
      ...over,
    };
    const now = () => Date.now() + aheadMs;
    const rules = {
      artifactTtlMs: 1_000,
      jobTtlMs: 2_000,
      maxStorageBytes: 1e9,
      onEnded: () => {},
      onRequeued: () => {},
      clearBatches: async () => {},
      own,
    };
    return { ...rules, store, artifacts: storage, log: silentLog(), now, cautiousNow: now };
  };

  it('fails a job whose last attempt no worker holds any more, with its line in the log', async () => {
    const { id, requestId } = await world.submit({});
    const { lines, log } = readableLog();
    for (let attempt = 0; attempt < 2; attempt++) {
      await world.claim();
      await recoverLeases({ ...depsOf(), log }, { starting: true });
    }
    expect((await stateOf(id))?.state).toBe('failed');
    const line = { job_id: id, request_id: requestId, state: 'failed', code: 'render_crashed' };
    expect(lines.filter(({ msg }) => msg === 'job')).toMatchObject([line]);
  });

  it('removes files of an earlier run that no row refers to, and none of this run', async () => {
    const { artifacts } = world;
    const orphan = await artifacts.put(PICTURE, 'png');
    await aPicture();
    await removeOrphans(depsOf(), (await artifacts.open(orphan.name))?.modifiedAt ?? 0, signal);
    expect(await countFiles(artifacts)).toBe(2);
    await removeOrphans(depsOf(), Date.now() + 1_000, signal);
    expect([await countFiles(artifacts), await artifacts.open(orphan.name)]).toEqual([1, null]);
  });

  it('renders a picture with a missing file again on request, and marks its row', async () => {
    await aPicture();
    const lost = 'https://example.com/lost';
    const name = await aPicture(lost);
    await world.artifacts.remove(name);
    expect((await world.submit({ url: lost, cache_ttl: 60 })).state).toBe('prioritized');
    expect((await world.store.findArtifact(name))?.goneAt).not.toBeNull();
    expect((await world.submit({ cache_ttl: 60 })).state).toBe('completed');
  });

  it('treats a picture as deleted if its file cannot be removed or is missing', async () => {
    const [expired, missing] = [
      await aPicture('https://example.com/expired'),
      await aPicture('https://example.com/missing'),
    ];
    const deps = { ...depsOf(), artifacts: world.artifacts };
    expect(await openPicture(deps, expired)).toMatchObject({ bytes: PICTURE.length });
    await world.store.markGone(expired, Date.now());
    await world.artifacts.remove(missing);
    expect(await world.artifacts.open(expired)).not.toBeNull();
    const names = [expired, missing, `${'x'.repeat(43)}.png`];
    expect(await Promise.all(names.map((name) => openPicture(deps, name)))).toEqual(['deleted', 'deleted', null]);
  });

  it('answers from no picture while the storage is unavailable, and from all once it is back', async () => {
    const name = await aPicture();
    const away = {
      ...READY,
      putPack: async () => {},
      open: async () => null,
      isPresent: async () => false,
      isLocal: true,
    };
    expect((await world.submit({ cache_ttl: 60 }, null, { artifacts: away })).state).toBe('prioritized');
    expect((await world.store.findArtifact(name))?.goneAt).toBeNull();
    expect((await world.submit({ cache_ttl: 60 })).state).toBe('completed');
  });

  it('marks rows without files, but none if no file exists at all', async () => {
    const names = [await aPicture('https://example.com/1'), await aPicture('https://example.com/2')];
    await findMissing(depsOf({ open: async () => null }), signal);
    expect(await world.store.keptArtifacts(names)).toEqual(new Set(names));
    await world.artifacts.remove(names[0] ?? '');
    await findMissing(depsOf(), signal);
    expect(await world.store.keptArtifacts(names)).toEqual(new Set(names.slice(1)));
  });

  it('removes the file of a capture that never ended, whichever storage got its name', async () => {
    const { store, artifacts, principal } = world;
    await world.submit({});
    const put: Artifacts['put'] = async (content, extension, announce) => {
      await announce?.((await artifacts.put(content, extension)).name);
      throw new CaptureError(AWAY);
    };
    const { id } = await world.workWith({ ...READY, remove: (name) => artifacts.remove(name), put });
    expect(await stateOf(id)).toMatchObject(QUEUED);
    expect(await store.usage(principal.accountId, Date.now())).toMatchObject({ credits: 0, reserved: 1 });
    expect(await countFiles(artifacts)).toBe(1);
    await sweep(depsOf(), signal);
    expect(await countFiles(artifacts)).toBe(0);
  });

  it('stops a round when the storage cannot be reached, and removes all files in a later one', async () => {
    for (let i = 0; i < 20; i++) await aPicture(`https://example.com/${i}`);
    const remove = vi.fn(() => Promise.reject(new CaptureError(AWAY)));
    await sweep(depsOf({ remove }, 1_500), signal);
    expect(remove.mock.calls.length).toBeLessThan(20);
    expect(await countFiles(world.artifacts)).toBe(20);
    await sweep(depsOf({}, 1_500), signal);
    expect(await countFiles(world.artifacts)).toBe(0);
  });

  it('removes the other files although one cannot be removed, and retries that one', async () => {
    const { store, artifacts } = world;
    const stubborn = await aPicture('https://example.com/1');
    await aPicture('https://example.com/2');
    const remove = (name: string) => (name === stubborn ? Promise.reject(new Error('EIO')) : artifacts.remove(name));
    await sweep(depsOf({ remove }, 1_500), signal);
    expect(await countFiles(artifacts)).toBe(1);
    await sweep(depsOf({}, 1_500), signal);
    expect(await countFiles(artifacts)).toBe(0);
    expect(await store.dueRemovals({ after: '', limit: 10, now: Date.now() })).toEqual([]);
  });
});
