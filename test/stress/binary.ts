/**
 * Trial "binary": `npm run binary`, its one file copied alone into an empty directory, on a PATH without Node and npm. It makes a key,
 * serves, answers with pictures, PDFs and Markdown (the native parts and both threads), has its reference page, drains, and starts again from
 * what it unpacked. Eight first starts at once unpack once.
 *
 * Sabotage that turns it red: leave `@img/` out of scripts/binary/program-files.ts, or the check of the first argument out of start.ts.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { startSite } from '../fixtures/site/site.js';
import { callApi, postCapture } from './call-api.js';
import type { TrialResult } from './trial-result.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** Programs that the browser's launch and a shell prompt may expect of a system. */
const TOOLS = ['sh', 'env', 'nice', 'setsid', 'ps'];
const AT_ONCE = 8;

interface Place {
  executable: string;
  env: Record<string, string>;
  cache: string;
}

/** @param options.executable one that is built already; otherwise it is built first */
export async function run({ executable }: { executable?: string } = {}): Promise<TrialResult> {
  const problems: string[] = [];
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-trial-'));
  try {
    const place = lonelyPlace(dir, executable ?? build(join(dir, 'built')));
    const firstStarts = await atOnce(place);
    if (readdirSync(place.cache).length !== 1) problems.push(`${AT_ONCE} first starts left ${readdirSync(place.cache).join(', ')}`);
    const installer = installerHelp(place);
    if (!installer.includes('playwright')) problems.push(`Playwright's installer does not run: ${installer}`);
    const key = JSON.parse(execute(place, ['keys', 'create', '--label', 'trial', '--json'])).secret as string;
    const figures = await serve(place, { key, problems });
    return { figures: { ...firstStarts, ...figures }, problems };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function build(output: string): string {
  const words = ['scripts/run-ts.mjs', 'scripts/binary/build.ts', output];
  execFileSync(process.execPath, words, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
  return output;
}

function lonelyPlace(dir: string, built: string): Place {
  const [bin, home, executable] = [join(dir, 'bin'), join(dir, 'home'), join(dir, 'alone/stillframe')];
  for (const made of [bin, home, join(dir, 'alone')]) mkdirSync(made);
  copyFileSync(built, executable);
  for (const tool of TOOLS) symlinkSync(execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim(), join(bin, tool));
  const settings = { STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2', STILLFRAME_LISTS: 'false', STILLFRAME_LOG_FORMAT: 'json' };
  return { executable, env: { PATH: bin, HOME: home, TMPDIR: dir, ...settings }, cache: join(home, '.cache/stillframe') };
}

async function atOnce(place: Place) {
  const startedAt = performance.now();
  const versions = await Promise.all(
    Array.from({ length: AT_ONCE }, () => endOf(spawn(place.executable, ['--version'], { env: place.env }))),
  );
  if (versions.some((code) => code !== 0)) throw new Error(`first starts ended with ${versions.join(', ')}`);
  const allMs = Math.round(performance.now() - startedAt);
  const from = performance.now();
  execute(place, ['--version']);
  return { first_starts_at_once_ms: allMs, next_start_ms: Math.round(performance.now() - from) };
}

/** As the program calls it: the executable stands in for Node. */
function installerHelp(place: Place): string {
  const [home = ''] = readdirSync(place.cache);
  return execute(place, [join(place.cache, home, 'node_modules/playwright-core/cli.js'), '--help']);
}

function execute({ executable, env }: Place, args: string[]): string {
  return execFileSync(executable, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

async function serve(place: Place, { key, problems }: { key: string; problems: string[] }) {
  await using site = await startSite({ host: '127.0.0.2' });
  const startedAt = performance.now();
  const server = spawn(place.executable, ['serve', '--port', '0'], { env: place.env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = endOf(server);
  try {
    const url = await readyUrl(server.stderr);
    const readyMs = Math.round(performance.now() - startedAt);
    const capture = async (what: string, body: object) => {
      const { status, body: answer } = await postCapture({ url, key }, { url: site.url('/article'), cache_ttl: 0, ...body });
      if (status !== 200) problems.push(`${what}: ${status} ${JSON.stringify(answer)}`);
      return answer?.data;
    };
    await capture('webp', {});
    await capture('full page', { full_page: true, format: 'png' });
    await capture('pdf', { full_page: true, format: 'pdf' });
    const inspected = await capture('markdown', { inspect_page: true });
    if (!inspected?.inspection?.markdown) problems.push('inspect_page found no Markdown');
    const picture = await fetch(String(inspected?.cdn_url));
    if (!picture.ok) problems.push(`the picture answers ${picture.status}`);
    for (const path of ['/docs/swagger-ui.css', '/openapi.json', '/v1/health']) {
      const { status } = await callApi(url + path, key);
      if (status !== 200) problems.push(`${path} answers ${status}`);
    }
    const allocator = allocatorOf(server);
    if (allocator === 'as it is' && 'execve' in process) problems.push("glibc's allocator is not set up for pictures");
    server.kill('SIGTERM');
    const code = await ended;
    if (code !== 0) problems.push(`SIGTERM ended it with ${code}`);
    const megabytes = Math.round(Number(execFileSync('stat', ['-Lc', '%s', place.executable])) / 1e6);
    return { ready_ms: readyMs, executable_mb: megabytes, node: process.version, allocator };
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
}

/** Whether the server has started itself again with the settings for glibc: one that was built with Node 20 cannot. */
function allocatorOf(server: ChildProcess): 'as it is' | 'set up' {
  return /\bMALLOC_ARENA_MAX=2\b/.test(readFileSync(`/proc/${server.pid}/environ`, 'utf8')) ? 'set up' : 'as it is';
}

async function readyUrl(stderr: Readable): Promise<string> {
  for await (const line of createInterface({ input: stderr })) {
    if (line.includes('"msg":"ready"')) return (JSON.parse(line) as { url: string }).url;
  }
  throw new Error('the server ended before it was ready');
}

function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((ended) => child.once('exit', ended));
}
