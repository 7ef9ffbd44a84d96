/**
 * Trial "binary": `npm run binary`, its one file copied alone into an empty directory, on a PATH without Node and npm. It makes a key,
 * serves, answers with pictures, PDFs and Markdown (the native parts and both threads), has its reference page, drains, and starts again from
 * what it unpacked. Eight first starts at once unpack once.
 *
 * Sabotage that turns it red: leave `@img/` out of scripts/binary/program-files.ts, or the check of the first argument out of start.ts.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { startSite } from '../fixtures/site/site.js';
import { callApi, postCapture } from './call-api.js';
import { aTrialDir } from './server-process.js';
import { firstOf, type TrialResult } from './trial-result.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** Programs that the browser's launch and a shell prompt may expect of a system. */
const TOOLS = ['sh', 'env', 'nice', 'setsid', 'ps'];
const AT_ONCE = 8;

export async function run({ executable: given }: { executable?: string } = {}): Promise<TrialResult> {
  using dir = aTrialDir();
  const problems: string[] = [];
  const [bin, home, alone] = ['bin', 'home', 'alone'].map((name) => join(dir.dataDir, name)) as [
    string,
    string,
    string,
  ];
  for (const made of [bin, home, alone]) mkdirSync(made);
  const built = given ?? join(dir.dataDir, 'built');
  const build = ['scripts/run-ts.mjs', 'scripts/binary/build.ts', built];
  if (given === undefined) execFileSync(process.execPath, build, { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
  const executable = join(alone, 'stillframe');
  copyFileSync(built, executable);
  for (const tool of TOOLS)
    symlinkSync(execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim(), join(bin, tool));
  const settings = {
    STILLFRAME_ALLOW_DESTINATIONS: '127.0.0.2',
    STILLFRAME_LISTS: 'false',
    STILLFRAME_LOG_FORMAT: 'json',
  };
  const env = { PATH: bin, HOME: home, TMPDIR: dir.dataDir, ...settings };
  const execute = (...args: string[]) =>
    execFileSync(executable, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  const from = performance.now();
  const codes = await Promise.all(firstOf(AT_ONCE).map(() => endOf(spawn(executable, ['--version'], { env }))));
  if (codes.some((code) => code !== 0)) throw new Error(`first starts ended with ${codes.join(', ')}`);
  const allAt = performance.now();
  execute('--version');
  const starts = {
    first_starts_at_once_ms: Math.round(allAt - from),
    next_start_ms: Math.round(performance.now() - allAt),
  };
  const cache = join(home, '.cache/stillframe');
  const [unpacked = '', ...others] = readdirSync(cache);
  if (others.length > 0) problems.push(`${AT_ONCE} first starts left ${[unpacked, ...others].join(', ')}`);
  // As the program calls it: the executable stands in for Node.
  const installer = execute(join(cache, unpacked, 'node_modules/playwright-core/cli.js'), '--help');
  if (!installer.includes('playwright')) problems.push(`Playwright's installer does not run: ${installer}`);
  const key = JSON.parse(execute('keys', 'create', '--label', 'trial', '--json')).secret as string;
  const figures = await serve({ executable, env, key, problems });
  return { figures: { ...starts, ...figures }, problems };
}

async function serve({
  executable,
  env,
  key,
  problems,
}: {
  executable: string;
  env: NodeJS.ProcessEnv;
  key: string;
  problems: string[];
}) {
  await using site = await startSite({ host: '127.0.0.2' });
  const startedAt = performance.now();
  const server = spawn(executable, ['serve', '--port', '0'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = endOf(server);
  try {
    const url = await readyUrl(server.stderr);
    const readyMs = Math.round(performance.now() - startedAt);
    const capture = async (what: string, body: object) => {
      const { status, body: answer } = await postCapture(
        { url, key },
        { url: site.url('/article'), cache_ttl: 0, ...body },
      );
      if (status !== 200) problems.push(`${what}: ${status} ${JSON.stringify(answer)}`);
      return answer?.data;
    };
    await capture('webp', {});
    await capture('full page', { full_page: true, format: 'png' });
    await capture('pdf', { full_page: true, format: 'pdf' });
    const inspected = await capture('markdown', { inspect_page: true });
    if (!inspected?.inspection?.markdown) problems.push('inspect_page found no Markdown');
    for (const path of [new URL(inspected?.cdn_url).pathname, '/docs/swagger-ui.css', '/openapi.json', '/v1/health']) {
      const { status } = await callApi(url + path, key);
      if (status !== 200) problems.push(`${path} answers ${status}`);
    }
    const allocator = allocatorOf(server);
    if (allocator === 'as it is' && 'execve' in process) problems.push("glibc's allocator is not set up for pictures");
    server.kill('SIGTERM');
    const code = await ended;
    if (code !== 0) problems.push(`SIGTERM ended it with ${code}`);
    return {
      ready_ms: readyMs,
      executable_mb: Math.round(statSync(executable).size / 1e6),
      node: process.version,
      allocator,
    };
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
