/**
 * Trial "fair": one account queues forty slow captures on four slots, and another one's quick captures, queued behind them, start as
 * soon as the first slow ones end; at once where a slot is kept (STILLFRAME_KEEP_SLOTS). And a hundred receivers of one account hang,
 * while the callback of another one is made as if they were not there.
 *
 * Sabotage that turns it red: let `correctTurn` of store/sqlite/turns leave the tag as it is, so that an account pays for its
 * jobs by their number; or let `keptSlot` of store/sqlite/jobs be false always; or leave `places`
 * out of webhook/deliver.
 */
import { startReceiver } from '../fixtures/webhook-receiver.js';
import { postCapture, SECRET, SMALL, submit } from './call-api.js';
import { anotherKey, type ServerProcess, startWithSite } from './server-process.js';
import { allOf, type Fault, faultsOf, firstOf, type TrialResult, until } from './trial-result.js';

/**
 * Seconds that a slow capture takes; when the last quick capture must have started, without a kept slot and with one, and ended, without;
 * receivers that hang, and how late another account's callback may be.
 */
const AS_PROMISED = {
  seconds: 30,
  slowJobs: 40,
  quickJobs: 10,
  startMs: 31_000,
  keptStartMs: 5_000,
  endMs: 36_000,
  hanging: 100,
  callbackMs: 1_000,
};
const SLOTS = 4;

export async function run(given: Partial<typeof AS_PROMISED> = {}): Promise<TrialResult> {
  const options = { ...AS_PROMISED, ...given };
  const plain = await compete(options, 0);
  const kept = await compete(options, 1);
  const callbacks = await announce(options.hanging);
  const late = (what: string, ms: number, limitMs: number): Fault => [`${what} ${ms} ms`, ms > limitMs];
  const problems = faultsOf([
    late('the last quick capture started after', plain.startMs, options.startMs),
    late('the last quick capture ended after', plain.endMs, options.endMs),
    late('with a kept slot, the last quick capture started after', kept.startMs, options.keptStartMs),
    late('a callback of another account took', callbacks.slowestMs, options.callbackMs),
  ]);
  const figures = {
    last_start_ms: plain.startMs,
    last_end_ms: plain.endMs,
    kept_slot_last_start_ms: kept.startMs,
    kept_slot_last_end_ms: kept.endMs,
    attempts_that_hung: callbacks.hung,
    slowest_callback_ms: callbacks.slowestMs,
  };
  return { figures, problems };
}

async function compete(options: typeof AS_PROMISED, keepSlots: number): Promise<{ startMs: number; endMs: number }> {
  await using ground = await startWithSite({
    STILLFRAME_CONCURRENCY: String(SLOTS),
    STILLFRAME_KEEP_SLOTS: String(keepSlots),
  });
  const { site, server, at: slow } = ground;
  const quick = { ...slow, key: await anotherKey(ground.dataDir, 'quick') };
  // No slot is reserved for an account without earlier requests.
  await postCapture(quick, { ...SMALL, url: site.url('/static') });
  for (let nth = 0; nth < options.slowJobs; nth++) {
    const page = site.url(`/slow?ms=${options.seconds * 1_000}&${nth}`);
    await submit(slow, { ...SMALL, url: page, timeout: 60_000 });
  }
  const from = Date.now();
  const ids: string[] = [];
  for (let nth = 0; nth < options.quickJobs; nth++)
    ids.push(await submit(quick, { ...SMALL, url: site.url(`/static?${nth}`) }));
  const ends = await Promise.all(ids.map((id) => ended(server, id)));
  // The slow captures that wait would take minutes.
  server.kill('SIGKILL');
  return {
    startMs: Math.max(...ends.map(({ queue }) => queue)),
    endMs: Math.max(...ends.map(({ time }) => time)) - from,
  };
}

const CALLBACKS = 10;

/** All from kept pictures: the callbacks are what there is to do. Two are to be made to each receiver that hangs. */
async function announce(hanging: number): Promise<{ hung: number; slowestMs: number }> {
  await using good = await startReceiver();
  await using receivers = allOf(await Promise.all(firstOf(hanging).map(() => startReceiver({ script: ['hang'] }))));
  const allowed = [good, ...receivers.all].map((receiver) => receiver.origin);
  await using ground = await startWithSite({ STILLFRAME_WEBHOOK_ALLOW: allowed.join(',') });
  const { site, server, at: busy } = ground;
  const calm = { ...busy, key: await anotherKey(ground.dataDir, 'quick') };
  const body = { ...SMALL, url: site.url('/static'), cache_ttl: 600 };
  for (const at of [busy, calm]) await postCapture(at, body);
  for (const receiver of [...receivers.all, ...receivers.all])
    await postCapture(busy, { ...body, webhook: { url: receiver.url(), secret: SECRET } });
  let slowestMs = 0;
  for (let nth = 1; nth <= CALLBACKS; nth++) {
    const from = performance.now();
    await postCapture(calm, { ...body, webhook: { url: good.url(), secret: SECRET } });
    await good.received(nth);
    slowestMs = Math.max(slowestMs, performance.now() - from);
  }
  const hung = receivers.all.reduce((sum, receiver) => sum + receiver.requests.length, 0);
  await server.end('SIGKILL');
  return { hung, slowestMs: Math.round(slowestMs) };
}

/** Waits for the line that the server logs at a job's end. */
async function ended(server: ServerProcess, id: string): Promise<{ queue: number; time: number }> {
  const line = () =>
    server.said.find((text) => text.includes(`"job_id":"${id}"`) && text.includes('"state":"completed"'));
  await until(line);
  return JSON.parse(line() ?? '');
}
