/**
 * Trial "full-disk": the data directory lies on a small file system (a tmpfs of 64 MB) that is filled up and emptied again, under load. While
 * it is full: 503, no 200 or 202 that is not kept, and the process stays up. When there is space again: captures within 5 s. The
 * database is whole in the end. `stillframe doctor` finds it. Then the same with the temporary directory: pictures of long pages do not need
 * it, health tells of it, and a browser whose files are removed is replaced. Needs the right to mount; where there is none it says so and judges nothing.
 *
 * Sabotage that turns it red: take FULL out of store/store-error, or let SectionStore write to os.tmpdir().
 */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, rmdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Site, startSite } from '../fixtures/site/site.js';
import { type ApiAnswer, callApi, type Door, postCapture, untilEnded, untilIdle } from './call-api.js';
import { auditBooks, damageOf, openCopy, readJobs } from './ledger.js';
import { aTrialDir, runCommand, startServerProcess } from './server-process.js';
import type { TrialResult } from './trial-result.js';

export interface FullDiskOptions {
  /** Times that the disk fills up. */
  rounds?: number;
  /** Submissions while it is full, each time. */
  submissions?: number;
  /** By when there must be captures again once there is space; 5,000 when absent. */
  recoveryMs?: number;
  /** 0: nothing is printed while the temporary directory is full, and it is not emptied. */
  prints?: number;
}

const SIZE_MB = 64;
/** An answer about health may be that old. */
const HEALTH_MS = 500;
const SYNC_WAIT_MS = 1_000;
const STUCK_AFTER_MS = 60_000;
const PIECE = Buffer.alloc(4_096, 'x');

export async function run(options: FullDiskOptions = {}): Promise<TrialResult> {
  const { rounds = 10, submissions = 40, recoveryMs = 5_000, prints = 1 } = options;
  const disk = mountDisk();
  if (disk === null) return { figures: { skipped: 'this user may not mount a file system' }, problems: [] };
  using _disk = disk;
  await using site = await startSite({ host: '127.0.0.2' });
  const server = startServerProcess({ dataDir: disk.path, env: { STILLFRAME_SYNC_WAIT_MS: String(SYNC_WAIT_MS) } });
  const trial = new FullDisk(await server.door(), site, disk.path);
  for (let round = 0; round < rounds; round++) await trial.round(round, { submissions, recoveryMs });
  await trial.settle();
  const exit = await Promise.race([server.exited, Promise.resolve(null)]);
  if (exit !== null) trial.problems.push(`the server ended (${exit.signal ?? exit.code})`);
  await server[Symbol.asyncDispose]();
  trial.audit();
  const temporary = await fillTemporary(site, prints === 1);
  const problems = [...trial.problems, ...temporary.problems];
  return { figures: { rounds, ...trial.figures(), ...temporary.figures }, problems };
}

const TALL = `<!doctype html><body style="margin:0">${Array.from({ length: 240 }, (_, nth) => `<div style="height:100px;background:linear-gradient(${nth}deg,#${(nth * 16).toString(16).padStart(3, '0')},#fed)">${nth}</div>`).join('')}`;

/** A document of more than 10 MB as a PDF, which the browser cannot keep in the rest of a full disk: noise does not compress. */
const NOISE = `<!doctype html><body style="margin:0"><canvas width="2000" height="2000"></canvas><script>
const context = document.querySelector('canvas').getContext('2d');
const picture = context.createImageData(2000, 2000);
for (let at = 0; at < picture.data.length; at += 65536) crypto.getRandomValues(picture.data.subarray(at, at + 65536));
for (let at = 3; at < picture.data.length; at += 4) picture.data[at] = 255;
context.putImageData(picture, 0, 0);
</script>`;

/** A server whose temporary directory is full, and then emptied. */
async function fillTemporary(site: Site, withPrints: boolean): Promise<{ problems: string[]; figures: TrialResult['figures'] }> {
  // The path must be short: see profile-dir.ts.
  const disk = mountDisk('/tmp/s', '1777');
  if (disk === null) return { problems: ['no second file system could be mounted'], figures: {} };
  using _disk = disk;
  using dir = aTrialDir();
  site.route('/tall', (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(TALL));
  site.route('/noise', (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(NOISE));
  await using server = startServerProcess({ dataDir: dir.dataDir, env: { TMPDIR: disk.path } });
  const at = await server.door();
  const problems: string[] = [];
  const seen: string[] = [];
  const expectAnswer = async (when: string, fields: Record<string, unknown>, statuses: number[]) => {
    const view = { width: 800, height: 600, deviceScaleFactor: 1 };
    const url = site.url(fields.format === 'pdf' ? '/noise' : '/tall');
    const answer = await postCapture(at, { url, viewport: view, cache_ttl: 0, timeout: 60_000, ...fields });
    const { status, body } = answer.status === 202 ? await ended(at, answer.body.data.job_id) : answer;
    seen.push(`${when} ${fields.format} ${status}`);
    const isHonest = status !== 503 || /temporary directory/.test(body.error.message);
    if (!statuses.includes(status) || !isHonest) problems.push(`${when}, ${JSON.stringify(fields)}: ${say(status, body)}`);
  };
  const expectHealth = async (when: string, status: number) => {
    const from = performance.now();
    while ((await callApi(`${at.url}/v1/health`, at.key)).status !== status) {
      if (performance.now() - from > STUCK_AFTER_MS) return void problems.push(`${when}: health never answered ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  fill(disk.path);
  await expectHealth('a full temporary directory', 503);
  await expectAnswer('full', { full_page: true, format: 'png' }, [200]);
  // Printing needs the temporary directory: the job waits in the queue until there is room.
  const printed = withPrints ? expectAnswer('full', { format: 'pdf', timeout: 20_000 }, [200]) : Promise.resolve();
  if (withPrints) await untilSaid(server, 'a capture returns to the queue', problems);
  free(disk.path);
  await expectHealth('a temporary directory with room again', 200);
  await printed;
  if (withPrints) {
    await expectAnswer('free', { format: 'pdf' }, [200]);
    for (const entry of readdirSync(disk.path)) rmSync(join(disk.path, entry), { recursive: true, force: true });
    await expectAnswer('emptied', { format: 'pdf' }, [200]);
    await expectAnswer('emptied', { full_page: true, format: 'png' }, [200]);
  }
  if (!server.said.some((line) => line.includes('temporary directory'))) problems.push('the log does not tell of the full directory');
  return { problems, figures: { temporary: seen.join(', ') } };
}

async function untilSaid({ said }: { said: readonly string[] }, text: string, problems: string[]): Promise<void> {
  const from = performance.now();
  while (!said.some((line) => line.includes(text))) {
    if (performance.now() - from > STUCK_AFTER_MS) return void problems.push(`the log never told: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The outcome of an accepted job, in the form of a synchronous answer. */
async function ended(at: Door, jobId: string): Promise<Pick<ApiAnswer, 'status' | 'body'>> {
  const { result } = await untilEnded(at, `jobs/${jobId}`);
  if (result.ok) return { status: 200, body: result };
  return { status: /cannot be written to/.test(result.error.message) ? 503 : 500, body: result };
}

class FullDisk {
  readonly problems: string[] = [];
  readonly #promised = new Map<string, number>();
  readonly #seen = new Map<string, number>();
  readonly #recoveries: number[] = [];

  constructor(
    private readonly at: Door,
    private readonly site: Site,
    private readonly dataDir: string,
  ) {}

  /** Full, refusing; free, capturing. */
  async round(round: number, { submissions, recoveryMs }: Required<Pick<FullDiskOptions, 'submissions' | 'recoveryMs'>>): Promise<void> {
    // Captures are under way while the space goes.
    const visited = this.#visited();
    const before = Promise.all(Array.from({ length: 6 }, (_, nth) => this.#submit(`before-${round}-${nth}`)));
    await visited;
    fill(this.dataDir);
    const filledAt = performance.now();
    for (const { status, body } of await before)
      this.#expect(`while the disk fills: ${say(status, body)}`, [200, 202, 500, 503].includes(status));
    let refused = 0;
    for (let nth = 0; nth < submissions; nth++) {
      // The engine gives space back to its log now and then.
      fill(this.dataDir);
      const { status, body, headers } = await this.#submit(`full-${round}-${nth}`);
      // Refused, or accepted (a small row found room), failed for want of room for the picture, and saying so.
      const isHonest = status === 503 && (headers.get('retry-after') !== null || body.error.details?.job_id !== undefined);
      if (isHonest) refused++;
      this.#expect(`on a full disk: ${say(status, body)}`, isHonest || status === 200 || status === 202);
    }
    this.#expect(`round ${round}: nothing was refused on a full disk`, refused > 0);
    await new Promise((resolve) => setTimeout(resolve, HEALTH_MS - (performance.now() - filledAt)));
    const health = await callApi(`${this.at.url}/v1/health`, this.at.key);
    this.#expect(`round ${round}: health answers ${health.status} on a full disk`, health.status === 503);
    if (round === 0) await this.#askDoctor();
    free(this.dataDir);
    await this.#recover(round, recoveryMs);
  }

  /** Everything that was promised comes to its end. */
  async settle(): Promise<void> {
    if (!(await untilIdle(this.at, STUCK_AFTER_MS))) this.problems.push('jobs are stuck after the space came back');
  }

  /** After the server has ended. */
  audit(): void {
    using copy = openCopy(this.dataDir);
    const jobs = new Map(readJobs(copy.db).map((job) => [job.idempotencyKey, job]));
    for (const [key, status] of this.#promised) {
      const state = jobs.get(key)?.state ?? 'lost';
      if (state === 'lost' || (status === 200 && state !== 'completed'))
        this.problems.push(`${key} was answered ${status} and is ${state}`);
    }
    this.problems.push(...damageOf(copy.db), ...auditBooks(copy.db, this.dataDir));
  }

  figures(): Record<string, number | string> {
    return {
      promised: this.#promised.size,
      answers: [...this.#seen].map(([what, times]) => `${what} × ${times}`).join(', '),
      slowest_recovery_ms: Math.round(Math.max(0, ...this.#recoveries)),
    };
  }

  async #askDoctor(): Promise<void> {
    const { out } = await runCommand(['doctor', '--json', '--data-dir', this.dataDir]);
    const findings = JSON.parse(out) as { check: string; state: string; advice: string }[];
    const disk = findings.find(({ check }) => check === 'Disk');
    this.#expect(`doctor says of the full disk: ${disk?.state} ${disk?.advice}`, disk?.state === 'fail' && disk.advice !== '');
  }

  #visited(): Promise<void> {
    return new Promise((resolve) => {
      this.site.route('/page', (_, response) => {
        resolve();
        response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Page</title><h1>A page</h1>');
      });
    });
  }

  async #recover(round: number, recoveryMs: number): Promise<void> {
    const from = performance.now();
    for (let nth = 0; performance.now() - from < recoveryMs; nth++) {
      const { status } = await this.#submit(`after-${round}-${nth}`);
      const health = await callApi(`${this.at.url}/v1/health`, this.at.key);
      if (status === 200 && health.status === 200) {
        this.#recoveries.push(performance.now() - from);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    this.problems.push(`round ${round}: no capture within ${recoveryMs} ms of the space coming back`);
  }

  async #submit(idempotencyKey: string): Promise<ApiAnswer> {
    const body = {
      url: this.site.url(`/page?${idempotencyKey}`),
      format: 'png',
      viewport: { width: 800, height: 600, deviceScaleFactor: 1 },
      cache_ttl: 0,
    };
    const answer = await postCapture(this.at, body, { idempotencyKey });
    const what = `${idempotencyKey.split('-')[0]} ${answer.status}`;
    this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
    if (answer.status === 200 || answer.status === 202) this.#promised.set(idempotencyKey, answer.status);
    return answer;
  }

  #expect(problem: string, holds: boolean): void {
    if (!holds && this.problems.length < 20) this.problems.push(problem);
  }
}

function say(status: number, body: { error?: { code?: string; message?: string } } | null): string {
  return `${status} ${body?.error?.code ?? ''} ${body?.error?.message ?? ''}`;
}

function mountDisk(prefix = join(tmpdir(), 'stillframe-disk-'), mode = '0700'): ({ path: string } & Disposable) | null {
  const path = mkdtempSync(prefix);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=${mode}`, 'stillframe-trial', path]);
  if (mounted.status !== 0) {
    rmdirSync(path);
    return null;
  }
  return {
    path,
    [Symbol.dispose]() {
      spawnSync('umount', ['-l', path]);
      rmdirSync(path);
    },
  };
}

/** To the last block. */
function fill(dir: string): void {
  const file = openSync(join(dir, 'filler'), 'a');
  try {
    for (;;) writeSync(file, PIECE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}

function free(dir: string): void {
  rmSync(join(dir, 'filler'));
}
