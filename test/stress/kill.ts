/**
 * Trial "kill": the built server is killed (SIGKILL) again and again, at named points and at any instant, its start included, while
 * clients submit and retry by idempotency key. Of everything answered 200 or 202 nothing may be lost, done twice, charged twice or
 * charged without a picture; the database stays whole; no browser outlives its server, and no profile the next start. By `orphanMs` the browsers of a killed server must have ended.
 *
 * Sabotage that turns it red: let artifacts/directory rename a moment after it has said that it did; or take `sweepProfiles` out of
 * the browser pool's start.
 */
import { readdirSync } from 'node:fs';
import { processesNaming, readProcess } from '../../src/render/launch/process-table.js';
import { profilesRoot } from '../../src/render/pool/profile-dir.js';
import { type BuiltProgram, buildProgram } from '../fixtures/build-program.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { hasValidSignature, type ReceivedRequest, type Receiver, startReceiver } from '../fixtures/webhook-receiver.js';
import { Crowd, unexplainedFailures } from './crowd.js';
import { auditBooks, damageOf, type JobFacts, openCopy, readJobs } from './ledger.js';
import { seeded } from './seeded.js';
import { aTrialDir, type ServerProcess, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

/** Inside the server (kill-points.ts). */
const INNER_POINTS = [
  ...['before insert commit', 'after insert commit', 'before claim commit', 'after claim commit'],
  ...['artifact write', 'before sync', 'after sync', 'before rename', 'after rename'],
  ...['before finish commit', 'after finish commit', 'before record commit', 'after record commit'],
];
/** Seen from outside: the page's server and the webhook's receiver pull the trigger. */
const OUTER_POINTS = ['render start', 'delivery send', 'delivery ack'];
const ANY_INSTANT = 'any instant';
const CLIENTS = 6;
/** A named point that was not met by then is given up, and told. */
const PATIENCE_MS = 8_000;
/** From the start of the process, so that its boot is killed as well. */
const INSTANT_MAX_MS = 2_500;
const STUCK_AFTER_MS = 60_000;
const SECRET = 'a webhook secret of this trial';

export async function run({ rounds = 200, seed = 20_261_121, orphanMs = 1_000 } = {}): Promise<TrialResult> {
  await using trial = await KillTrial.begin(seed, orphanMs);
  for (let round = 0; round < rounds; round++) await trial.round(round);
  return await trial.conclude(rounds);
}

interface Ground {
  dir: ReturnType<typeof aTrialDir>;
  site: Site;
  preload: BuiltProgram;
}

class KillTrial implements AsyncDisposable {
  readonly #problems: string[] = [];
  readonly #events = new Map<string, string>();
  readonly #met = new Map<string, number>();
  readonly #random: () => number;
  readonly #readyMs: number[] = [];
  #receiver: Receiver | null = null;
  #crowd: Crowd | null = null;
  #server: ServerProcess | null = null;
  #trigger: { point: string; left: number } | null = null;
  #unmet = 0;
  #longestOrphanMs = 0;
  #damaged = 0;
  #leaked = 0;

  private constructor(
    seed: number,
    private readonly orphanMs: number,
    private readonly ground: Ground,
  ) {
    this.#random = seeded(seed);
  }

  static async begin(seed: number, orphanMs: number): Promise<KillTrial> {
    const site = await startSite({ host: '127.0.0.2' });
    const trial = new KillTrial(seed, orphanMs, {
      dir: aTrialDir(),
      site,
      preload: await buildProgram(new URL('kill-points.ts', import.meta.url)),
    });
    site.route('/page', (_, response) => {
      trial.#pass('render start');
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Page</title><h1>A page</h1>');
    });
    const receiver = await startReceiver({ script: (request) => trial.#receive(request) });
    trial.#receiver = receiver;
    const problem = (what: string) => trial.#problem(what);
    trial.#crowd = Crowd.begin({ site, hook: { url: receiver.url(), secret: SECRET }, clients: CLIENTS, problem });
    const first = trial.#start({});
    trial.crowd.up(await first.ready);
    trial.crowd.down();
    await first.end('SIGKILL');
    return trial;
  }

  get crowd(): Crowd {
    if (this.#crowd === null) throw new Error('the trial has not begun');
    return this.#crowd;
  }

  /** One start and one kill. */
  async round(round: number): Promise<void> {
    const points = [...INNER_POINTS, ...OUTER_POINTS];
    const point = round % 3 === 2 ? ANY_INSTANT : (points[(round - Math.floor(round / 3)) % points.length] ?? '');
    const when = `round ${round} (${point})`;
    const nth = 1 + Math.floor(this.#random() * 3);
    if (OUTER_POINTS.includes(point)) this.#trigger = { point, left: nth };
    const server = this.#start(INNER_POINTS.includes(point) ? { TRIAL_KILL_AT: `${point} ${nth}` } : {});
    const giveUp = () => {
      if (point !== ANY_INSTANT) this.#unmet++;
      server.kill('SIGKILL');
    };
    const patience = setTimeout(giveUp, point === ANY_INSTANT ? this.#random() * INSTANT_MAX_MS : PATIENCE_MS);
    server.ready.then(
      (ready) => this.#welcome(server, ready),
      () => undefined,
    );
    const exit = await server.exited;
    clearTimeout(patience);
    this.#server = null;
    this.#trigger = null;
    this.crowd.down();
    this.#met.set(point, (this.#met.get(point) ?? 0) + 1);
    if (exit.signal !== 'SIGKILL') this.#problem(`${when}: ended by itself (${exit.code}): ${server.said.slice(-2).join(' ')}`);
    await this.#awaitOrphans(when);
    this.#inspect(when);
  }

  /** The last start: everything must come to its end. */
  async conclude(rounds: number): Promise<TrialResult> {
    const server = this.#start({});
    this.#welcome(server, await server.ready);
    const startedAt = performance.now();
    await this.crowd.leave();
    const isIdle = await this.crowd.untilIdle(STUCK_AFTER_MS);
    const idleMs = Math.round(performance.now() - startedAt);
    if (!isIdle) this.#problem(`jobs or deliveries are stuck ${STUCK_AFTER_MS / 1000} s after the last start`);
    for (const problem of await this.crowd.lookUpAll()) this.#problem(problem);
    await server.end('SIGTERM');
    this.#server = null;
    const { dataDir } = this.ground.dir;
    using copy = openCopy(dataDir);
    const jobs = readJobs(copy.db);
    for (const problem of [...damageOf(copy.db), ...auditBooks(copy.db, dataDir), ...unexplainedFailures(jobs)]) this.#problem(problem);
    this.#checkEvents(jobs);
    return { figures: this.#figures(rounds, jobs, idleMs), problems: this.#problems };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.end('SIGKILL');
    await this.#crowd?.leave();
    await this.#receiver?.[Symbol.asyncDispose]();
    await this.ground.site[Symbol.asyncDispose]();
    await this.ground.preload[Symbol.asyncDispose]();
    this.ground.dir[Symbol.dispose]();
  }

  #start(env: Record<string, string>): ServerProcess {
    const { dir, preload } = this.ground;
    // Always the same port, so that clients find it again.
    const { port } = new URL(this.crowd.at.url || 'http://127.0.0.1:0');
    this.#server = startServerProcess({
      dataDir: dir.dataDir,
      port: Number(port),
      preload: preload.file,
      env: { STILLFRAME_WEBHOOK_ALLOW: this.#receiver?.origin ?? '', STILLFRAME_WEBHOOK_BACKOFF_MS: '100,200,400', ...env },
    });
    return this.#server;
  }

  #welcome(server: ServerProcess, ready: Awaited<ServerProcess['ready']>): void {
    if (server !== this.#server) return;
    this.#readyMs.push(ready.ms);
    this.crowd.up(ready);
    for (const profile of readdirSync(profilesRoot(this.ground.dir.dataDir))) {
      if (Number(profile.split('-')[0]) === server.pid) continue;
      this.#leaked++;
      this.#problem(`profile ${profile} is left of an earlier server`);
    }
  }

  #receive(request: ReceivedRequest) {
    const jobId = String(request.payload.job_id);
    const deliveryId = String(request.payload.delivery_id);
    if ((this.#events.get(jobId) ?? deliveryId) !== deliveryId) this.#problem(`${jobId}: two delivery ids`);
    if (!hasValidSignature(request, SECRET)) this.#problem(`${jobId}: badly signed`);
    if (this.#pass('delivery send')) return 'hang' as const;
    this.#events.set(jobId, deliveryId);
    if (this.#trigger?.point === 'delivery ack') setImmediate(() => this.#pass('delivery ack'));
    return { status: 204 };
  }

  /** @returns whether the server was killed here */
  #pass(point: string): boolean {
    if (this.#trigger?.point !== point || --this.#trigger.left > 0) return false;
    this.#trigger = null;
    this.#server?.kill('SIGKILL');
    return true;
  }

  async #awaitOrphans(when: string): Promise<void> {
    const root = profilesRoot(this.ground.dir.dataDir);
    const from = performance.now();
    const left = () => processesNaming(root).filter(({ pid }) => readProcess(pid)?.state !== 'Z');
    while (left().length > 0) {
      if (performance.now() - from > this.orphanMs) {
        this.#problem(`${when}: ${left().length} browser processes outlive their server`);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#longestOrphanMs = Math.max(this.#longestOrphanMs, performance.now() - from);
  }

  /** The state after the crash: whole files, and everything that was promised. */
  #inspect(when: string): void {
    using copy = openCopy(this.ground.dir.dataDir);
    const damage = damageOf(copy.db);
    if (damage.length > 0) this.#damaged++;
    for (const problem of [...damage, ...this.crowd.missingFrom(copy.db)]) this.#problem(`${when}: ${problem}`);
  }

  #checkEvents(jobs: readonly JobFacts[]): void {
    const ids = new Map(jobs.map((job) => [job.idempotencyKey, job.id]));
    for (const { idempotencyKey, body } of this.crowd.promised.values()) {
      const isDue = body.webhook !== undefined && !this.#events.has(ids.get(idempotencyKey) ?? '');
      if (isDue) this.#problem(`${idempotencyKey}: its event never arrived`);
    }
  }

  #figures(rounds: number, jobs: readonly JobFacts[], idleMs: number): Record<string, number | string> {
    const of = (state: string) => jobs.filter((job) => job.state === state).length;
    return {
      kills: rounds,
      points: [...this.#met].map(([point, count]) => `${point} ${count}`).join(', '),
      unmet: this.#unmet,
      promised: this.crowd.promised.size,
      jobs: jobs.length,
      completed: of('completed'),
      crashed_twice: of('failed'),
      renders: jobs.filter((job) => job.renderedAt !== null).length,
      events: this.#events.size,
      damaged_databases: this.#damaged,
      leaked_profiles: this.#leaked,
      longest_orphan_ms: Math.round(this.#longestOrphanMs),
      slowest_ready_ms: Math.round(Math.max(0, ...this.#readyMs)),
      idle_after_ms: idleMs,
    };
  }

  #problem(what: string): void {
    this.#problems.push(what);
  }
}
