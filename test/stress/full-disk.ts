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
import { setTimeout as pause } from 'node:timers/promises';
import { html } from '../fixtures/site/answer.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { type ApiAnswer, type Door, health, postCapture, SMALL, untilEnded, untilIdle } from './call-api.js';
import { auditBooks, damageOf, openCopy, readJobs } from './ledger.js';
import { aTrialDir, runCommand, startServerProcess } from './server-process.js';
import { firstOf, type TrialResult, tally, until } from './trial-result.js';

/** The figures of the promised trial. */
const AS_PROMISED = {
  /** Times that the disk fills up, and submissions while it is full. */
  rounds: 10,
  submissions: 40,
  /** By when there must be captures again once there is space. */
  recoveryMs: 5_000,
  /** 0: nothing is printed while the temporary directory is full, and it is not emptied. */
  prints: 1,
};

const SIZE_MB = 64;
/** An answer about health may be that old. */
const HEALTH_MS = 500;
const SYNC_WAIT_MS = 1_000;
const STUCK_AFTER_MS = 60_000;
const PIECE = Buffer.alloc(4_096, 'x');

export async function run(given: Partial<typeof AS_PROMISED> = {}): Promise<TrialResult> {
  const { prints, ...options } = { ...AS_PROMISED, ...given };
  await using site = await startSite({ host: '127.0.0.2' });
  const data = await fillData(site, options);
  if (data === null) return { figures: { skipped: 'this user may not mount a file system' }, problems: [] };
  const temporary = await fillTemporary(site, prints === 1);
  return { figures: { ...data.figures, ...temporary.figures }, problems: [...data.problems, ...temporary.problems] };
}

/** A server whose data directory is full and free in turn. @returns null where nothing can be mounted */
async function fillData(site: Site, options: Omit<typeof AS_PROMISED, 'prints'>): Promise<TrialResult | null> {
  using disk = mountDisk();
  if (disk === null) return null;
  const dataDir = disk.path;
  const server = startServerProcess({ dataDir, env: { STILLFRAME_SYNC_WAIT_MS: String(SYNC_WAIT_MS) } });
  const at = await server.door();
  const problems: string[] = [];
  const expectThat = (problem: string, holds: boolean) => void (holds || problems.push(problem));
  const promised = new Map<string, number>();
  const seen: string[] = [];
  const recoveries: number[] = [0];
  const submit = async (key: string, nth: string) => {
    const idempotencyKey = `${key}-${nth}`;
    const answer = await postCapture(at, { ...SMALL, url: site.url(`/page?${idempotencyKey}`) }, { idempotencyKey });
    seen.push(`${key} ${answer.status}`);
    if (answer.status === 200 || answer.status === 202) promised.set(idempotencyKey, answer.status);
    return answer;
  };
  for (let round = 0; round < options.rounds; round++) {
    // Captures are under way while the space goes.
    const visited = new Promise<void>((resolve) => {
      site.route('/page', (_, response) => {
        resolve();
        html(response, '<!doctype html><title>Page</title><h1>A page</h1>');
      });
    });
    const before = Promise.all(firstOf(6).map((nth) => submit('before', `${round}-${nth}`)));
    await visited;
    fill(dataDir);
    const filledAt = performance.now();
    for (const { status, body } of await before)
      expectThat(`while the disk fills: ${say(status, body)}`, [200, 202, 500, 503].includes(status));
    let refused = 0;
    for (let nth = 0; nth < options.submissions; nth++) {
      // The engine gives space back to its log now and then.
      fill(dataDir);
      const { status, body, headers } = await submit('full', `${round}-${nth}`);
      // Refused, or accepted (a small row found room), failed for want of room for the picture, and saying so.
      const isHonest = status === 503 && (headers.get('retry-after') !== null || body.error.details?.job_id !== undefined);
      if (isHonest) refused++;
      expectThat(`on a full disk: ${say(status, body)}`, isHonest || status === 200 || status === 202);
    }
    expectThat(`round ${round}: nothing was refused on a full disk`, refused > 0);
    await pause(Math.max(0, HEALTH_MS - (performance.now() - filledAt)));
    const { status } = await health(at);
    expectThat(`round ${round}: health answers ${status} on a full disk`, status === 503);
    if (round === 0) {
      const { out } = await runCommand(['doctor', '--json', '--data-dir', dataDir]);
      const found = (JSON.parse(out) as { check: string; state: string; advice: string }[]).find(({ check }) => check === 'Disk');
      expectThat(`doctor says of the full disk: ${found?.state} ${found?.advice}`, found?.state === 'fail' && found.advice !== '');
    }
    free(dataDir);
    const from = performance.now();
    let nth = 0;
    const isBack = async () => (await submit('after', `${round}-${nth++}`)).status === 200 && (await health(at)).status === 200;
    if (await until(isBack, options.recoveryMs, 50)) recoveries.push(performance.now() - from);
    else problems.push(`round ${round}: no capture within ${options.recoveryMs} ms of the space coming back`);
  }
  expectThat('jobs are stuck after the space came back', await untilIdle(at, STUCK_AFTER_MS));
  const exit = await Promise.race([server.exited, null]);
  expectThat(`the server ended (${exit?.signal ?? exit?.code})`, exit === null);
  await server[Symbol.asyncDispose]();
  using copy = openCopy(dataDir);
  const jobs = new Map(readJobs(copy.db).map((job) => [job.idempotencyKey, job]));
  for (const [key, status] of promised) {
    const state = jobs.get(key)?.state ?? 'lost';
    expectThat(`${key} was answered ${status} and is ${state}`, state === 'completed' || (status === 202 && state !== 'lost'));
  }
  problems.push(...damageOf(copy.db), ...auditBooks(copy.db, dataDir));
  const slowest_recovery_ms = Math.round(Math.max(...recoveries));
  return { figures: { rounds: options.rounds, promised: promised.size, answers: tally(seen), slowest_recovery_ms }, problems };
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
async function fillTemporary(site: Site, withPrints: boolean): Promise<TrialResult> {
  // The path must be short: see profile-dir.ts.
  const disk = mountDisk('/tmp/s', '1777');
  if (disk === null) return { problems: ['no second file system could be mounted'], figures: {} };
  using _disk = disk;
  using dir = aTrialDir();
  for (const [path, body] of [
    ['/tall', TALL],
    ['/noise', NOISE],
  ] as const)
    site.route(path, (_, response) => html(response, body));
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
  const expectSoon = async (what: string, holds: () => unknown) => {
    if (!(await until(holds, STUCK_AFTER_MS, 50))) problems.push(`never happened: ${what}`);
  };
  const expectHealth = (status: number) => expectSoon(`health ${status}`, async () => (await health(at)).status === status);
  fill(disk.path);
  await expectHealth(503);
  await expectAnswer('full', { full_page: true, format: 'png' }, [200]);
  // Printing needs the temporary directory: the job waits in the queue until there is room.
  const printed = withPrints ? expectAnswer('full', { format: 'pdf', timeout: 20_000 }, [200]) : Promise.resolve();
  if (withPrints) await expectSoon('a capture returns to the queue', () => server.tells('a capture returns to the queue'));
  free(disk.path);
  await expectHealth(200);
  await printed;
  if (withPrints) {
    await expectAnswer('free', { format: 'pdf' }, [200]);
    for (const entry of readdirSync(disk.path)) rmSync(join(disk.path, entry), { recursive: true, force: true });
    await expectAnswer('emptied', { format: 'pdf' }, [200]);
    await expectAnswer('emptied', { full_page: true, format: 'png' }, [200]);
  }
  if (!server.tells('temporary directory')) problems.push('the log does not tell of the full directory');
  return { problems, figures: { temporary: seen.join(', ') } };
}

/** The outcome of an accepted job, in the form of a synchronous answer. */
async function ended(at: Door, jobId: string): Promise<Pick<ApiAnswer, 'status' | 'body'>> {
  const { result } = await untilEnded(at, `jobs/${jobId}`);
  if (result.ok) return { status: 200, body: result };
  return { status: /cannot be written to/.test(result.error.message) ? 503 : 500, body: result };
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
