/**
 * Trial "troubles": what goes wrong around a server, and passes: another process locks the database, its directory cannot be written, its clock
 * jumps ahead and back. Each is answered as decided (503 with Retry-After, or the job waits), look-ups and /livez go on, captures
 * work within 5 s of its end without a restart, and `stillframe doctor` finds it and says what to do.
 *
 * Sabotage that turns it red: take `pullForward` out of store/sqlite/recover (after a jump back a callback waits for hours); or let
 * cli/doctor look at the data directory alone.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Database } from '../../src/store/sqlite/driver.js';
import { buildProgram } from '../fixtures/build-program.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { type Receiver, startReceiver } from '../fixtures/webhook-receiver.js';
import { type ApiAnswer, callApi, postCapture } from './call-api.js';
import { auditBooks, damageOf, openCopy } from './ledger.js';
import { aTrialDir, runCommand, type ServerProcess, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

export interface TroublesOptions {
  /** How long the database stays locked; 12 when absent: longer than a submission waits. */
  lockSeconds?: number;
  /** Times from the true one that the clock jumps to, in hours. */
  jumps?: number[];
}

const HEALTH_TELLS_MS = 2_000;
const RECOVERY_MS = 5_000;
/** A look-up, while the database takes no writes. */
const LOOK_UP_MS = 500;
/** How long a submission waits for a lock (store/sqlite/writer.ts), and what is due after it. */
const LOCK_ANSWER_MS = 11_000;
const WRITER_WAIT_S = 10;
const HOUR_MS = 3_600_000;
const JUMPS_H = [2, -2, 26, 0];
const EVENT_MS = 12_000;
const SECRET = 'a webhook secret of this trial';

export async function run({ lockSeconds = 12, jumps = JUMPS_H }: TroublesOptions = {}): Promise<TrialResult> {
  await using site = await startSite({ host: '127.0.0.2' });
  // Each event is refused once, so that it waits for its second attempt while the clock jumps.
  await using receiver = await startReceiver({ script: (_, nth) => (nth % 2 === 1 ? { status: 500 } : { status: 204 }) });
  await using preload = await buildProgram(new URL('set-clock.ts', import.meta.url));
  using dir = aTrialDir();
  const clock = join(dir.dataDir, 'clock');
  const server = startServerProcess({
    ...dir,
    preload: preload.file,
    env: {
      TRIAL_CLOCK: clock,
      STILLFRAME_WEBHOOK_ALLOW: receiver.origin,
      STILLFRAME_WEBHOOK_BACKOFF_MS: '1000',
      STILLFRAME_SYNC_WAIT_MS: '4000',
    },
  });
  const { url, firstKey } = await server.ready;
  const troubles = new Troubles({ at: { url, key: firstKey ?? '' }, site, receiver, server, dataDir: dir.dataDir, clock });
  try {
    await troubles.lock(lockSeconds);
    await troubles.readOnly();
    for (const hours of jumps) await troubles.jump(hours * HOUR_MS);
    await troubles.settle();
  } finally {
    await server[Symbol.asyncDispose]();
  }
  if ((await server.exited).code !== 0) troubles.problems.push('the server did not live to its end');
  using copy = openCopy(dir.dataDir);
  troubles.problems.push(...damageOf(copy.db), ...auditBooks(copy.db, dir.dataDir));
  return { ok: troubles.problems.length === 0, figures: troubles.figures, problems: troubles.problems };
}

interface Ground {
  at: { url: string; key: string };
  site: Site;
  receiver: Receiver;
  server: ServerProcess;
  dataDir: string;
  clock: string;
}

interface Finding {
  check: string;
  state: string;
  found: string;
  advice: string;
}

class Troubles {
  readonly problems: string[] = [];
  readonly figures: Record<string, number | string> = {};
  #nth = 0;

  constructor(private readonly ground: Ground) {}

  /** Another process holds the database's write lock. */
  async lock(seconds: number): Promise<void> {
    const known = await this.#capture();
    const other = new Database(join(this.ground.dataDir, 'stillframe.db'));
    other.exec('BEGIN IMMEDIATE');
    const isLong = seconds > WRITER_WAIT_S;
    // The doctor looks at the browser first: the lock stays until it has come to the database.
    const doctor = isLong ? this.#doctor() : null;
    const release = Promise.all([doctor, pause(seconds * 1_000)]).then(() => other.exec('ROLLBACK'));
    const submission = this.#post({ sync: false });
    const lookUps = Promise.all([this.#timed(() => fetch(`${this.ground.at.url}/livez`)), this.#timed(() => this.#lookUp(known.key))]);
    this.#most('lock_look_up_ms', ...(await lookUps));
    this.#expect('look-ups wait for the lock', Number(this.figures.lock_look_up_ms) <= LOOK_UP_MS);
    const answer = await submission;
    this.#most('lock_answer_ms', answer.ms);
    this.#expect(`behind a lock of ${seconds} s: ${say(answer)}`, answer.status === (isLong ? 503 : 202) && answer.ms < LOCK_ANSWER_MS);
    this.#expect('the refusal has no Retry-After', !isLong || answer.headers.get('retry-after') !== null);
    if (doctor !== null) this.#expectFinding(await doctor, 'Database', /locked by another process/);
    await release;
    other.close();
    await this.#recover('lock');
  }

  /** No new file can be made where pictures are written. */
  async readOnly(): Promise<void> {
    const place = join(this.ground.dataDir, 'artifacts', '.unfinished');
    if (spawnSync('chattr', ['+i', place]).status !== 0) {
      this.figures.read_only = 'skipped: this user, or this file system, cannot make a directory immutable';
      return;
    }
    try {
      const answer = await this.#post({});
      // The capture waits for its storage; the next one is refused.
      this.#expect(`in a read-only directory: ${say(answer)}`, answer.status === 202);
      let next = await this.#post({});
      for (let tries = 0; next.status === 202 && tries < 5; tries++) next = await this.#post({});
      this.#expect(
        `in a directory known to be read-only: ${say(next)}`,
        next.status === 503 && /cannot be stored/.test(next.body.error.message),
      );
      this.#expect('health does not tell of a read-only directory', await this.#isUnready());
      this.#expectFinding(await this.#doctor(), 'Data directory', /EPERM|EACCES/);
    } finally {
      spawnSync('chattr', ['-i', place]);
    }
    await this.#recover('read_only');
  }

  /** A callback waits for its second attempt when the clock jumps. */
  async jump(offsetMs: number): Promise<void> {
    const { receiver, server, clock } = this.ground;
    const before = receiver.requests.length;
    const isRecorded = this.#said('"kind":"retry"');
    await this.#post({ webhook: { url: receiver.url(), secret: SECRET } });
    const hasJumped = this.#said(`the clock is at ${offsetMs}`);
    await isRecorded();
    writeFileSync(clock, String(offsetMs));
    server.kill('SIGUSR2');
    await hasJumped();
    const from = performance.now();
    await this.#recover('jump');
    const inTime = await Promise.race([receiver.received(before + 2), new Promise<null>((resolve) => setTimeout(resolve, EVENT_MS, null))]);
    this.#most('jump_event_ms', performance.now() - from);
    this.#expect(`after a jump to ${offsetMs / HOUR_MS} h the event did not come again`, inTime !== null);
    // The doctor's own clock is right: what came at a later one shows.
    if (offsetMs > HOUR_MS) this.#expectFinding(await this.#doctor(), 'Clock', /minutes before the newest job/);
  }

  async settle(): Promise<void> {
    for (;;) {
      const { body } = await callApi(`${this.ground.at.url}/v1/health`, this.ground.at.key);
      if (body.data.queue.total_pending === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Resolves, when called, at the next line of the log with these words. */
  #said(words: string): () => Promise<void> {
    const { said } = this.ground.server;
    const from = said.length;
    return async () => {
      while (!said.slice(from).some((line) => line.includes(words))) await new Promise((resolve) => setTimeout(resolve, 5));
    };
  }

  /** A capture, and health, within 5 s of the end of a fault. */
  async #recover(trouble: string): Promise<void> {
    const from = performance.now();
    while (performance.now() - from < RECOVERY_MS) {
      const answer = await this.#post({});
      const health = await callApi(`${this.ground.at.url}/v1/health`, this.ground.at.key);
      if (answer.status === 200 && health.status === 200) return this.#most(`${trouble}_recovery_ms`, performance.now() - from);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    this.problems.push(`no capture within ${RECOVERY_MS} ms of the end of: ${trouble}`);
  }

  /** Health is looked at a few times a second at most: the answer of a moment ago may still be given. */
  async #isUnready(): Promise<boolean> {
    const from = performance.now();
    while (performance.now() - from < HEALTH_TELLS_MS) {
      const { status } = await callApi(`${this.ground.at.url}/v1/health`, this.ground.at.key);
      if (status === 503) return true;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return false;
  }

  async #capture(): Promise<{ key: string }> {
    const key = `known-${++this.#nth}`;
    await postCapture(this.ground.at, this.#body({}), { idempotencyKey: key });
    return { key };
  }

  #post(extra: Record<string, unknown>): Promise<ApiAnswer> {
    return postCapture(this.ground.at, this.#body(extra), { idempotencyKey: `trouble-${++this.#nth}` });
  }

  #body(extra: Record<string, unknown>): Record<string, unknown> {
    const viewport = { width: 320, height: 240, deviceScaleFactor: 1 };
    return { url: this.ground.site.url(`/static?${this.#nth}`), format: 'png', viewport, cache_ttl: 0, ...extra };
  }

  #lookUp(key: string): Promise<ApiAnswer> {
    return callApi(`${this.ground.at.url}/v1/requests/${key}`, this.ground.at.key);
  }

  async #timed(step: () => Promise<{ status: number }>): Promise<number> {
    const from = performance.now();
    const { status } = await step();
    this.#expect(`a look-up answered ${status} during a trouble`, status === 200);
    return performance.now() - from;
  }

  async #doctor(): Promise<Finding[]> {
    const { out, err } = await runCommand(['doctor', '--json', '--data-dir', this.ground.dataDir]);
    if (out === '') this.problems.push(`doctor said nothing: ${err}`);
    return out === '' ? [] : (JSON.parse(out) as Finding[]);
  }

  #expectFinding(findings: readonly Finding[], check: string, pattern: RegExp): void {
    const finding = findings.find((one) => one.check === check);
    const isFound = finding !== undefined && finding.state !== 'ok' && pattern.test(finding.found) && finding.advice !== '';
    this.#expect(`doctor says of ${check}: ${finding?.state} ${finding?.found}`, isFound);
  }

  #most(figure: string, ...values: number[]): void {
    this.figures[figure] = Math.round(Math.max(Number(this.figures[figure] ?? 0), ...values));
  }

  #expect(problem: string, holds: boolean): void {
    if (!holds) this.problems.push(problem);
  }
}

function say({ status, ms, body }: ApiAnswer): string {
  return `${status} ${body?.error?.message ?? ''} after ${Math.round(ms)} ms`;
}
