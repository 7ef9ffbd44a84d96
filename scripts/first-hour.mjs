/**
 * Tests the first steps of a new user: packs this project, installs the tarball into an empty directory, starts the server, creates a key,
 * takes a picture and stops the server.
 *
 * Usage: node scripts/first-hour.mjs [NODE:NPM …]   e.g. 20:10 22:11 24:12 (majors of npm's `node` and `npm` packages)
 * Without arguments: with the Node and npm that run it. Prints a line for each pair; exit code 1 when one fails.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const READY_MS = 180_000;
/** Time limit of each command, since a registry may not respond. */
const COMMAND_MS = 300_000;
const PICTURE_MS = 60_000;
const execute = promisify(execFile);
const run = (command, args, options) => execute(command, args, { timeout: COMMAND_MS, ...options });
const work = mkdtempSync(join(tmpdir(), 'first-hour-'));
let failed = false;
try {
  await run('npm', ['pack', '--pack-destination', work], { cwd: ROOT });
  const tarball = join(work, readdirSync(work).find((name) => name.endsWith('.tgz')) ?? '');
  const pairs = process.argv.slice(2);
  for (const pair of pairs.length === 0 ? [null] : pairs) {
    try {
      console.log(await firstHour(pair, tarball));
    } catch (error) {
      failed = true;
      console.log(`${pair ?? process.version}: FAILED: ${error.stderr || error.message}`);
    }
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;

async function firstHour(pair, tarball) {
  const path = pair === null ? process.env.PATH : `${await tools(pair)}${delimiter}${process.env.PATH}`;
  const dir = emptyProject(`app-${(pair ?? 'own').replace(':', '-')}`);
  const env = {
    ...process.env,
    PATH: path,
    STILLFRAME_DATA_DIR: join(dir, 'data'),
    STILLFRAME_LISTS: 'false',
    STILLFRAME_LOG_FORMAT: 'json',
  };
  const began = performance.now();
  await run('npm', ['install', tarball, '--no-fund', '--no-audit'], { cwd: dir, env });
  const installed = performance.now();
  const program = join(dir, 'node_modules', '.bin', 'stillframe');
  const server = spawn(program, ['serve', '--port', '0'], { cwd: dir, env, stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    const url = await untilReady(server);
    const { stdout } = await run(program, ['keys', 'create', '--label', 'first', '--json'], { env });
    const { secret } = JSON.parse(stdout);
    const answer = await fetch(`${url}/v1/screenshot`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', accept: 'image/png' },
      signal: AbortSignal.timeout(PICTURE_MS),
      body: JSON.stringify({ html: '<h1>The first picture</h1>', format: 'png' }),
    });
    const picture = Buffer.from(await answer.arrayBuffer());
    if (answer.status !== 200 || picture.subarray(1, 4).toString() !== 'PNG')
      throw new Error(`${answer.status} ${picture.subarray(0, 300)}`);
    const { stdout: node } = await run('node', ['--version'], { env });
    const { stdout: npm } = await run('npm', ['--version'], { env });
    const [install, picture1] = [installed - began, performance.now() - began].map((ms) => (ms / 1000).toFixed(1));
    return `Node ${node.trim()}, npm ${npm.trim()}: installed after ${install} s, first picture after ${picture1} s`;
  } finally {
    server.kill('SIGTERM');
    await new Promise((resolve) => server.once('close', resolve));
  }
}

/** The directories of a Node and an npm of these majors, for PATH. */
async function tools(pair) {
  const [node, npm] = pair.split(':');
  const dir = emptyProject(`tools-${node}-${npm}`);
  await run('npm', ['install', `node@${node}`, `npm@${npm}`, '--no-fund', '--no-audit'], { cwd: dir });
  return [join(dir, 'node_modules', 'node', 'bin'), join(dir, 'node_modules', '.bin')].join(delimiter);
}

function emptyProject(name) {
  const dir = join(work, name);
  mkdirSync(dir);
  writeFileSync(join(dir, 'package.json'), '{}');
  return dir;
}

function untilReady(server) {
  return new Promise((resolve, reject) => {
    const said = [];
    const timer = setTimeout(() => reject(new Error(`not ready in ${READY_MS / 1000} s: ${said.slice(-3).join(' ')}`)), READY_MS);
    const lines = createInterface({ input: server.stderr });
    lines.on('line', (line) => {
      said.push(line);
      if (!line.includes('"msg":"ready"')) return;
      clearTimeout(timer);
      resolve(JSON.parse(line).url);
    });
    server.once('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`the server ended (${code}): ${said.slice(-3).join(' ')}`));
    });
  });
}
