/**
 * Trial "full-disk": the data directory lies on a small file system (a tmpfs of 64 MB) that is filled up and emptied again, under load. While
 * it is full: 503, no 200 or 202 that is not kept, and the process stays up. When there is space again: captures within 5 s. The
 * database is whole in the end. `stillframe doctor` finds it. Every endpoint answers on a full disk. Then the same with the temporary directory: pictures of long pages do not need
 * it, health tells of it, and a browser whose files are removed is replaced. Needs the right to mount; where there is none it says so and judges nothing.
 *
 * Sabotage that turns it red: take FULL out of store/store-error, or let SectionStore write to os.tmpdir().
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { COMPATIBLE_APIS } from '../../src/contract/compatible-apis.js';
import { sharp } from '../../src/sharp.js';
import { html } from '../fixtures/site/answer.js';
import { type Site, startSite } from '../fixtures/site/site.js';
import { type ApiAnswer, health, postCapture, SMALL, untilEnded, untilIdle } from './call-api.js';
import { endpoints, signIn } from './heaviest.js';
import { auditBooks, damageOf, openCopy, readJobs } from './ledger.js';
import { aTrialDir, runCommand, startServerProcess } from './server-process.js';
import { firstOf, type TrialResult, tally, until } from './trial-result.js';

/** By when there must be captures again once there is space; prints 0: nothing is printed while the temporary directory is full, nor is it emptied. */
const AS_PROMISED = { rounds: 10, submissions: 40, recoveryMs: 5_000, prints: 1 };
const SIZE_MB = 64;
const HEALTH_MS = 500;
const STUCK_AFTER_MS = 60_000;

/** @param given.rounds times that the disk fills up; `submissions` while it is full */
export async function run(given: Partial<typeof AS_PROMISED> = {}): Promise<TrialResult> {
  const options = { ...AS_PROMISED, ...given };
  await using site = await startSite({ host: '127.0.0.2' });
  const problems: string[] = [];
  const expectThat = (problem: string, holds: boolean) => void (holds || problems.push(problem));
  const data = await fillData(site, options, expectThat);
  if (data === null) return { figures: { skipped: 'this user may not mount a file system' }, problems: [] };
  const asked = await askAll(site, expectThat);
  return { figures: { ...data, ...asked, ...(await fillTemporary(site, options.prints === 1, expectThat)) }, problems };
}

type Expect = (problem: string, holds: boolean) => void;

/** A server whose data directory is full and free in turn. @returns null where nothing can be mounted */
async function fillData(
  site: Site,
  options: typeof AS_PROMISED,
  expectThat: Expect,
): Promise<TrialResult['figures'] | null> {
  using disk = mountDisk();
  if (disk === null) return null;
  const dataDir = disk.path;
  const server = startServerProcess({ dataDir, env: { STILLFRAME_SYNC_WAIT_MS: '1000' } });
  const at = await server.door();
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
    for (const answer of await before)
      expectThat(`while the disk fills: ${say(answer)}`, [200, 202, 500, 503].includes(answer.status));
    let refused = 0;
    for (let nth = 0; nth < options.submissions; nth++) {
      // The engine gives space back to its log now and then.
      fill(dataDir);
      const answer = await submit('full', `${round}-${nth}`);
      const { status, body, headers } = answer;
      // Refused, or accepted (a small row found room), failed for want of room for the picture, and saying so.
      const isHonest =
        status === 503 && (headers.get('retry-after') !== null || body.error.details?.job_id !== undefined);
      if (isHonest) refused++;
      expectThat(`on a full disk: ${say(answer)}`, isHonest || status === 200 || status === 202);
    }
    expectThat(`round ${round}: nothing was refused on a full disk`, refused > 0);
    await pause(Math.max(0, HEALTH_MS - (performance.now() - filledAt)));
    const { status, body } = await health(at);
    const problem = body.data?.problem;
    expectThat(
      `round ${round}: health answers ${status} on a full disk: ${problem}`,
      status === 503 && /disk is full/.test(problem),
    );
    if (round === 0) {
      const { out } = await runCommand(['doctor', '--json', '--data-dir', dataDir]);
      const disk = (JSON.parse(out) as { check: string; state: string; found: string }[]).find(
        ({ check }) => check === 'Disk',
      );
      expectThat(
        `doctor says of the full disk: ${disk?.state} ${disk?.found}`,
        disk?.state === 'fail' && /disk is full/.test(disk.found),
      );
    }
    free(dataDir);
    const from = performance.now();
    let nth = 0;
    const isBack = async () =>
      (await submit('after', `${round}-${nth++}`)).status === 200 && (await health(at)).status === 200;
    expectThat(
      `round ${round}: no capture within ${options.recoveryMs} ms of the space`,
      await until(isBack, options.recoveryMs, 50),
    );
    recoveries.push(performance.now() - from);
  }
  expectThat('jobs are stuck after the space came back', await untilIdle(at, STUCK_AFTER_MS));
  const exit = await Promise.race([server.exited, null]);
  expectThat(`the server ended (${exit?.signal ?? exit?.code})`, exit === null);
  await server[Symbol.asyncDispose]();
  using copy = openCopy(dataDir);
  const jobs = new Map(readJobs(copy.db).map((job) => [job.idempotencyKey, job]));
  for (const [key, status] of promised) {
    const state = jobs.get(key)?.state ?? 'lost';
    expectThat(
      `${key} was answered ${status} and is ${state}`,
      state === 'completed' || (status === 202 && state !== 'lost'),
    );
  }
  for (const problem of [...damageOf(copy.db), ...auditBooks(copy.db, dataDir)]) expectThat(problem, false);
  const slowest_recovery_ms = Math.round(Math.max(...recoveries));
  return { rounds: options.rounds, promised: promised.size, answers: tally(seen), slowest_recovery_ms };
}

/** Asks every endpoint of a server once while its disk is full: each answers, and those of the API say whose fault it is. */
async function askAll(site: Site, expectThat: Expect): Promise<TrialResult['figures']> {
  using disk = mountDisk();
  if (disk === null) throw new Error('no further file system could be mounted');
  const env = {
    STILLFRAME_COMPATIBLE_APIS: COMPATIBLE_APIS.join(),
    STILLFRAME_CONSOLE: 'loopback',
    STILLFRAME_SYNC_WAIT_MS: '10000',
  };
  await using server = startServerProcess({ dataDir: disk.path, env });
  const at = await server.door();
  const url = site.url('/page');
  const made = (await postCapture(at, { ...SMALL, url })).body.data;
  const visitor = await signIn(at.url, disk.path);
  const bodies = await smallBodies(url);
  const seen: string[] = [];
  for (const { method, path } of endpoints()) {
    fill(disk.path);
    const here = path.replace(':id', made.job_id).replace(/:\w+/, made.artifact).replace('*', 'x');
    const isConsole = path.startsWith('/console/');
    const body = method === 'GET' ? null : isConsole ? new URLSearchParams({ token: visitor.token }) : bodies(path);
    const headers = {
      ...(isConsole ? { cookie: visitor.cookie, origin: at.url } : { authorization: `Bearer ${at.key}` }),
      ...(typeof body === 'string'
        ? { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
        : {}),
    };
    const signal = AbortSignal.timeout(STUCK_AFTER_MS);
    const asked = fetch(`${at.url}${here}`, { method, headers, body, redirect: 'manual', signal });
    const status = await asked
      .then((answer) => answer.arrayBuffer().then(() => answer.status))
      .catch((error: Error) => `no answer: ${error.message} ${String(error.cause ?? '')}`);
    seen.push(String(status));
    expectThat(
      `${method} ${path} on a full disk: ${status}`,
      typeof status === 'number' && !(status === 500 && path.startsWith('/v1/')),
    );
  }
  expectThat('the server ended', (await Promise.race([server.exited, null])) === null);
  return { endpoints: seen.length, 'their answers': tally(seen.sort()) };
}

/** The smallest body that makes each endpoint do its work. */
async function smallBodies(url: string): Promise<(path: string) => string | FormData> {
  const picture = async (background: string) =>
    (
      await sharp({ create: { width: 9, height: 9, channels: 3, background } })
        .png()
        .toBuffer()
    ).toString('base64');
  const [before, after] = [await picture('red'), await picture('blue')];
  const messages: Record<string, unknown> = {
    '/v1/screenshot': { ...SMALL, url },
    '/v1/compare': { before, after, picture: 'side_by_side' },
    '/mcp': { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'capture_page', arguments: { url } } },
  };
  return (path) => {
    if (!path.startsWith('/forms/')) return JSON.stringify(messages[path] ?? { url });
    const form = new FormData();
    if (path.endsWith('/url')) form.append('url', url);
    else form.append('files', new Blob(['<p>{{ toHTML "a.md" }}']), 'index.html');
    if (path.endsWith('/markdown')) form.append('files', new Blob(['*a*']), 'a.md');
    return form;
  };
}

const TALL = `<!doctype html><body style="margin:0">${firstOf(240)
  .map(
    (nth) =>
      `<div style="height:100px;background:linear-gradient(${nth}deg,#${(nth * 16).toString(16).padStart(3, '0')},#fed)">${nth}</div>`,
  )
  .join('')}`;

/** A document of more than 10 MB as a PDF, which the browser cannot keep in the rest of a full disk: noise does not compress. */
const NOISE = `<!doctype html><body style="margin:0"><canvas width="2000" height="2000"></canvas><script>
const context = document.querySelector('canvas').getContext('2d');
const picture = context.createImageData(2000, 2000);
for (let at = 0; at < picture.data.length; at += 65536) crypto.getRandomValues(picture.data.subarray(at, at + 65536));
for (let at = 3; at < picture.data.length; at += 4) picture.data[at] = 255;
context.putImageData(picture, 0, 0);
</script>`;

async function fillTemporary(site: Site, withPrints: boolean, expectThat: Expect): Promise<TrialResult['figures']> {
  // The path must be short: see profile-dir.ts.
  using disk = mountDisk('/tmp/s', '1777');
  if (disk === null) throw new Error('no second file system could be mounted');
  using dir = aTrialDir();
  site.route('/tall', (_, response) => html(response, TALL));
  site.route('/noise', (_, response) => html(response, NOISE));
  await using server = startServerProcess({ ...dir, env: { TMPDIR: disk.path } });
  const at = await server.door();
  const seen: string[] = [];
  const expectPicture = async (when: string, fields: Record<string, unknown>) => {
    const viewport = { width: 800, height: 600, deviceScaleFactor: 1 };
    const url = site.url(fields.format === 'pdf' ? '/noise' : '/tall');
    const answer = await postCapture(at, { url, viewport, cache_ttl: 0, timeout: 60_000, ...fields });
    const isOk =
      answer.status === 200 ||
      (answer.status === 202 && (await untilEnded(at, `jobs/${answer.body.data.job_id}`)).result.ok);
    seen.push(`${when} ${fields.format} ${isOk ? 200 : answer.status}`);
    expectThat(`${when}, ${JSON.stringify(fields)}: ${say(answer)}`, isOk);
  };
  const expectSoon = async (what: string, holds: () => unknown) =>
    expectThat(`never happened: ${what}`, await until(holds, STUCK_AFTER_MS, 50));
  const expectHealth = (status: number) =>
    expectSoon(`health ${status}`, async () => (await health(at)).status === status);
  const whole = { full_page: true, format: 'png' };
  fill(disk.path);
  await expectHealth(503);
  await expectPicture('full', whole);
  // Printing needs the temporary directory: the job waits in the queue until there is room.
  const printed = withPrints ? expectPicture('full', { format: 'pdf', timeout: 20_000 }) : Promise.resolve();
  if (withPrints)
    await expectSoon('a capture returns to the queue', () => server.tells('a capture returns to the queue'));
  free(disk.path);
  await expectHealth(200);
  await printed;
  if (withPrints) {
    await expectPicture('free', { format: 'pdf' });
    for (const entry of readdirSync(disk.path)) rmSync(join(disk.path, entry), { recursive: true, force: true });
    await expectPicture('emptied', { format: 'pdf' });
    await expectPicture('emptied', whole);
  }
  expectThat('the log does not tell of the full directory', server.tells('temporary directory'));
  return { temporary: seen.join(', ') };
}

function say({ status, body }: ApiAnswer): string {
  return `${status} ${body?.error?.code ?? ''} ${body?.error?.message ?? ''}`;
}

function mountDisk(prefix = join(tmpdir(), 'stillframe-disk-'), mode = '0700'): ({ path: string } & Disposable) | null {
  const path = mkdtempSync(prefix);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=${mode}`, 'stillframe-trial', path]);
  const unmount = () => {
    if (mounted.status === 0) spawnSync('umount', ['-l', path]);
    rmdirSync(path);
  };
  if (mounted.status === 0) return { path, [Symbol.dispose]: unmount };
  unmount();
  return null;
}

/** To the last block. */
function fill(dir: string): void {
  try {
    for (;;) appendFileSync(join(dir, 'filler'), Buffer.alloc(4_096, 'x'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

function free(dir: string): void {
  rmSync(join(dir, 'filler'));
}
