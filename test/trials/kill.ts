/**
 * Trial "kill": the built server is killed (SIGKILL) again and again, at named points and at any instant, its start included, while
 * clients submit, retry by idempotency key, remove some of their jobs and send batches. Of everything answered 200 or 202 nothing may be
 * lost, done twice, charged twice, or charged without a picture or after it was canceled; each batch tells its end; the database stays whole; no browser outlives its server, and no profile the next start. By `orphanMs` the browsers of a killed server must have ended.
 *
 * Sabotage that turns it red: let artifacts/directory rename a moment after it has said that it did; or take `sweepProfiles` out of
 * the browser pool's start.
 */
import { readdirSync } from 'node:fs';
import { processesNaming, readProcess } from '../../src/render/launch/process-table.js';
import { profilesRoot } from '../../src/render/launch/profile-dir.js';
import { buildProgram } from '../fixtures/build-program.js';
import { html } from '../fixtures/site/answer.js';
import { startSite } from '../fixtures/site/site.js';
import { hasValidSignature, type ReceivedRequest, startReceiver } from '../fixtures/webhook-receiver.js';
import { SECRET } from './call-api.js';
import { BATCH_CAPTURES, Crowd, isAnnounced } from './crowd.js';
import { damageOf, type JobFacts, openCopy } from './ledger.js';
import { seeded } from './seeded.js';
import { aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';
import { type TrialResult, tally, until } from './trial-result.js';

/** Inside the server (kill-points.ts). */
const INNER_POINTS = [
  ...['insert commit', 'claim commit', 'sync', 'rename', 'finish commit', 'record commit']
    .concat(['cancel commit', 'batch commit', 'batch end commit'])
    .flatMap((step) => [`before ${step}`, `after ${step}`]),
  'artifact write',
];
/** Seen from outside: the page's server and the webhook's receiver pull the trigger. */
const OUTER_POINTS = ['render start', 'delivery send', 'delivery ack'];
const ANY_INSTANT = 'any instant';
const CLIENTS = 6;
/** A named point that was not met by then is given up, and told. */
const PATIENCE_MS = 20_000;
/** From the start of the process, so that its boot is killed as well. */
const INSTANT_MAX_MS = 2_500;

export async function run({ rounds = 200, seed = 20_261_121, orphanMs = 1_000 } = {}): Promise<TrialResult> {
  const problems: string[] = [];
  const problem = (what: string) => void problems.push(what);
  const random = seeded(seed);
  const events = new Map<string, string>();
  const seen = { met: [] as string[], unmet: [] as string[], readyMs: [0], orphanMs: 0, damaged: 0, leaked: 0 };
  let server: ServerProcess | null = null;
  let trigger: { point: string; left: number } | null = null;

  const pass = (point: string): boolean => {
    if (trigger?.point !== point || --trigger.left > 0) return false;
    trigger = null;
    server?.kill('SIGKILL');
    return true;
  };
  const receive = (request: ReceivedRequest) => {
    const { job_id, batch, delivery_id } = request.payload as {
      job_id?: string;
      batch?: { id: string };
      delivery_id: string;
    };
    const [jobId, deliveryId] = [job_id ?? batch?.id ?? '', delivery_id];
    if ((events.get(jobId) ?? deliveryId) !== deliveryId) problem(`${jobId}: two delivery ids`);
    if (!hasValidSignature(request, SECRET)) problem(`${jobId}: badly signed`);
    if (pass('delivery send')) return 'hang' as const;
    events.set(jobId, deliveryId);
    if (trigger?.point === 'delivery ack') setImmediate(() => pass('delivery ack'));
    return { status: 204 };
  };
  using dir = aTrialDir();
  await using site = await startSite({ host: '127.0.0.2' });
  site.route('/page', (_, response) => {
    pass('render start');
    html(response, '<!doctype html><title>Page</title><h1>A page</h1>');
  });
  await using preload = await buildProgram(new URL('kill-points.ts', import.meta.url));
  await using receiver = await startReceiver({ script: receive });
  await using crowd = new Crowd({
    site,
    hook: { url: receiver.url(), secret: SECRET },
    clients: CLIENTS,
    removes: true,
    knowsEnds: (batches) => [...batches].every((id) => events.has(id)),
    problem,
  });
  const webhooks = { STILLFRAME_WEBHOOK_ALLOW: receiver.origin, STILLFRAME_WEBHOOK_BACKOFF_MS: '100,200,400' };

  const start = (env: Record<string, string> = {}): ServerProcess => {
    const started = startServerProcess({
      ...dir,
      port: crowd.port,
      preload: preload.file,
      env: { ...webhooks, ...env },
    });
    server = started;
    const welcome = (ready: Awaited<ServerProcess['ready']>) => {
      if (server !== started) return;
      seen.readyMs.push(ready.ms);
      crowd.up(ready);
      const left = readdirSync(profilesRoot(dir.dataDir)).filter(
        (profile) => Number(profile.split('-')[0]) !== started.pid,
      );
      seen.leaked += left.length;
      for (const profile of left) problem(`profile ${profile} is left of an earlier server`);
    };
    started.ready.then(welcome, () => undefined);
    return started;
  };
  const end = async (): Promise<void> => {
    const killed = server;
    server = null;
    await killed?.end('SIGKILL');
  };
  await using _last = { [Symbol.asyncDispose]: end };

  /** One start and one kill, and the state after the crash: whole files, everything that was promised, and no browser. */
  const round = async (nth: number): Promise<void> => {
    const points = [...INNER_POINTS, ...OUTER_POINTS];
    const point = nth % 3 === 2 ? ANY_INSTANT : (points[(nth - Math.floor(nth / 3)) % points.length] ?? '');
    const when = `round ${nth} (${point})`;
    const left = 1 + Math.floor(random() * 3);
    if (OUTER_POINTS.includes(point)) trigger = { point, left };
    const started = start(INNER_POINTS.includes(point) ? { TRIAL_KILL_AT: `${point} ${left}` } : {});
    let isMet = true;
    const giveUp = () => {
      isMet = point === ANY_INSTANT;
      started.kill('SIGKILL');
    };
    const patience = setTimeout(giveUp, point === ANY_INSTANT ? random() * INSTANT_MAX_MS : PATIENCE_MS);
    const exit = await started.exited;
    clearTimeout(patience);
    server = null;
    trigger = null;
    crowd.down();
    seen[isMet ? 'met' : 'unmet'].push(point);
    if (exit.signal !== 'SIGKILL')
      problem(`${when}: ended by itself (${exit.code}): ${started.said.slice(-2).join(' ')}`);
    const from = performance.now();
    const orphans = () =>
      processesNaming(profilesRoot(dir.dataDir)).filter(({ pid }) => readProcess(pid)?.state !== 'Z').length;
    if (await until(() => orphans() === 0, orphanMs)) seen.orphanMs = Math.max(seen.orphanMs, performance.now() - from);
    else problem(`${when}: ${orphans()} browser processes outlive their server`);
    using copy = openCopy(dir.dataDir);
    const damage = damageOf(copy.db);
    if (damage.length > 0) seen.damaged++;
    for (const found of [...damage, ...crowd.missingFrom(copy.db)]) problem(`${when}: ${found}`);
  };

  await start().ready;
  await end();
  crowd.down();
  for (let nth = 0; nth < rounds; nth++) await round(nth);

  const last = start();
  await last.ready;
  const { jobs, idleMs } = await crowd.end(last, dir.dataDir);
  server = null;
  const ids = new Map(jobs.map((job) => [job.idempotencyKey, job.id]));
  for (const promised of crowd.promised.values())
    if (isAnnounced(promised) && !events.has(ids.get(promised.idempotencyKey) ?? ''))
      problem(`${promised.idempotencyKey}: its event never arrived`);
  for (const id of crowd.batches) {
    const captures = jobs.filter(({ batchId }) => batchId === id).length;
    if (captures !== BATCH_CAPTURES) problem(`${id}: ${captures} of ${BATCH_CAPTURES} captures are there`);
    if (!events.has(id)) problem(`${id}: its end was never told`);
  }
  // One round may be too short on a machine that is busy.
  for (const point of new Set(seen.unmet))
    if (!seen.met.includes(point) && seen.unmet.filter((other) => other === point).length > 1)
      problem(`${point} was never reached`);
  const count = (holds: (job: JobFacts) => boolean) => jobs.filter(holds).length;
  const figures = {
    kills: rounds,
    points: tally(seen.met),
    unmet: seen.unmet.length === 0 ? 'none' : tally(seen.unmet),
    promised: crowd.promised.size,
    jobs: jobs.length,
    completed: count(({ state }) => state === 'completed'),
    crashed_twice: count(({ state, removedAt }) => state === 'failed' && removedAt === null),
    canceled: count(({ state, removedAt }) => state === 'failed' && removedAt !== null),
    deleted: count(({ state, removedAt }) => state === 'completed' && removedAt !== null),
    batches: crowd.batches.size,
    renders: count(({ renderedAt }) => renderedAt !== null),
    events: events.size,
    damaged_databases: seen.damaged,
    leaked_profiles: seen.leaked,
    longest_orphan_ms: Math.round(seen.orphanMs),
    slowest_ready_ms: Math.round(Math.max(...seen.readyMs)),
    idle_after_ms: idleMs,
  };
  return { figures, problems };
}
