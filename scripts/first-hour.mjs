/**
 * Tests the first steps of a new user, on every way that is named: gets the program, starts it, creates a key, takes a picture, stops it, and
 * looks for what stayed behind in the temporary directory.
 *
 * Usage: node scripts/first-hour.mjs [--from WAYS] [--browsers NAMES] [--built] [NODE:NPM …]   e.g. 20:10 22:11 24:12 (majors of npm's packages)
 *   --from       registry (default): `npm install stillframe`, from a registry on loopback; tarball: the packed file is installed;
 *                npx: `npx --package=FILE stillframe` in an empty directory; clone: `npm start` in a new clone, before and after tests
 *   --browsers   any (default): the one that the program chooses; shell, chromium: those of the system; none: the machine has none, so that
 *                the program installs one (as root, in a mount namespace without the system's browsers)
 *   --built      packs what `npm run build` has built, and offers Node 20 the SQLite driver of this clone for download, so that neither
 *                is made again
 * Without pairs: with the Node and npm that run it. Prints a line for each combination; exit code 1 when one fails.
 */
import { execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startRegistry } from './loopback-registry.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** A clone's first start installs, compiles and builds. */
const READY_MS = 400_000;
/** Time limit of each command, since a registry may not respond. */
const COMMAND_MS = 600_000;
const PICTURE_MS = 60_000;
/** In a directory with a longer path than this one's, twelve characters, the program would not put its profiles. */
const SHORT_TMPDIR = '/tmp/f';
/** npm keeps its own compiled code in the temporary directory. */
const NPM_CACHE = 'node-compile-cache';
const SYSTEM_BROWSERS = { shell: '/usr/bin/chromium-headless-shell', chromium: '/usr/bin/chromium' };
/** The things that a machine without a browser lacks: the browsers, and the system's means to install one. */
const HIDDEN_FILES = [
  ...Object.values(SYSTEM_BROWSERS),
  ...['chromium', 'chromium-headless-shell'].map((name) => `/usr/lib/chromium/${name}`),
];
const HIDDEN_TOOL = '/usr/bin/apt-get';
/** They depend most on which browser it is. */
const TESTS_OF_A_CLONE = [
  'test/render/pool/browser-pool.test.ts',
  'test/render/pool/watchdog.test.ts',
  'test/cli/npm-start.test.ts',
];
const WAYS = { registry: fromRegistry, tarball: fromTarball, npx: fromNpx, clone: fromClone };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: 'string', default: 'registry' },
    browsers: { type: 'string', default: 'any' },
    built: { type: 'boolean', default: false },
  },
});
const execute = promisify(execFile);
const run = (command, args, options) =>
  execute(command, args, { timeout: COMMAND_MS, maxBuffer: 64 << 20, ...options });
const work = mkdtempSync(join(tmpdir(), 'first-hour-'));
let failed = false;
try {
  const tarball = values.from === 'clone' ? null : await (values.built ? packBuilt() : pack());
  if (values.built) await offerDriver();
  for (const pair of positionals.length === 0 ? [null] : positionals) {
    const path = pair === null ? process.env.PATH : `${await tools(pair)}${delimiter}${process.env.PATH}`;
    await Promise.all(values.from.split(',').map((way) => tryWay(way, { pair, path, tarball })));
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;

async function pack(...options) {
  await run('npm', ['pack', '--pack-destination', work, ...options], { cwd: ROOT });
  return join(work, readdirSync(work).find((name) => name.endsWith('.tgz')) ?? '');
}

async function packBuilt() {
  await run('node', ['scripts/package-manifest.mjs'], { cwd: ROOT });
  try {
    return await pack('--ignore-scripts');
  } finally {
    await run('node', ['scripts/package-manifest.mjs', '--restore'], { cwd: ROOT });
  }
}

/** prebuild-install looks for a driver in the directory that this variable names before it downloads one. */
async function offerDriver() {
  const driver = join(ROOT, 'node_modules/better-sqlite3-node20');
  const binary = 'build/Release/better_sqlite3.node';
  if (!existsSync(join(driver, binary))) return;
  const { version } = JSON.parse(readFileSync(join(driver, 'package.json'), 'utf8'));
  const offered = emptyDir('drivers');
  const name = `better-sqlite3-v${version}-node-v${process.versions.modules}-${process.platform}-${process.arch}.tar.gz`;
  await run('tar', ['-czf', join(offered, name), '-C', driver, binary]);
  process.env.npm_config_better_sqlite3_local_prebuilds = offered;
}

/** The directories of a Node and an npm of these majors, for PATH. */
async function tools(pair) {
  const [node, npm] = pair.split(':');
  const dir = emptyDir(`tools-${node}-${npm}`);
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ allowScripts: { node: true } }));
  await run('npm', ['install', `node@${node}`, `npm@${npm}`, '--no-fund', '--no-audit'], { cwd: dir });
  return [join(dir, 'node_modules', 'node', 'bin'), join(dir, 'node_modules', '.bin')].join(delimiter);
}

/** Gets the program once, and starts it with each browser. */
async function tryWay(way, { pair, path, tarball }) {
  const name = `${way}-${(pair ?? 'own').replace(':', '-')}`;
  const [dir, temporary] = [emptyDir(name), mkdtempSync(SHORT_TMPDIR)];
  // Like /tmp: where the program is root, its browser is another user.
  chmodSync(temporary, 0o1777);
  const { STILLFRAME_CHROMIUM, STILLFRAME_DATA_DIR, ...ours } = process.env;
  const env = {
    ...ours,
    PATH: path,
    TMPDIR: temporary,
    STILLFRAME_LISTS: 'false',
    STILLFRAME_LOG_FORMAT: 'json',
    STILLFRAME_PORT: '0',
  };
  let title = `${way}, ${pair ?? process.version}`;
  try {
    const versions = await Promise.all(
      ['node', 'npm'].map(async (tool) => (await run(tool, ['--version'], { env })).stdout.trim()),
    );
    title = `${way}, Node ${versions[0]}, npm ${versions[1]}`;
    const began = performance.now();
    const program = await WAYS[way]({ dir, env, tarball });
    const installMs = performance.now() - began;
    for (const browser of values.browsers.split(','))
      await tryBrowser({ title, browser, dir, env, temporary, program, installMs });
  } catch (error) {
    fail(title, error);
  } finally {
    for (const made of [dir, temporary]) rmSync(made, { recursive: true, force: true });
  }
}

async function tryBrowser({ title, browser, dir, env, temporary, program, installMs }) {
  const named = SYSTEM_BROWSERS[browser];
  const around = browser === 'none' ? withoutBrowsers() : [];
  const place = {
    dir,
    command: [...around, ...program.command],
    tests: [...around, 'npm', 'test', '--', ...TESTS_OF_A_CLONE],
    keys: program.keys,
    env: {
      ...env,
      STILLFRAME_DATA_DIR: join(dir, `data-${browser}`),
      ...(named === undefined ? {} : { STILLFRAME_CHROMIUM: named }),
    },
  };
  try {
    const pictureMs = installMs + (await firstPicture(place));
    if (program.isTested) await runTests(place);
    if (program.isTested) await firstPicture(place);
    const left = readdirSync(temporary).filter((name) => name !== NPM_CACHE);
    if (left.length > 0) throw new Error(`left in the temporary directory: ${left.join(', ')}`);
    const [install, picture] = [installMs, pictureMs].map((ms) => (ms / 1000).toFixed(1));
    const tested = program.isTested ? ', tests passed, started again' : '';
    console.log(
      `${title}, browser ${browser}: installed after ${install} s, first picture after ${picture} s${tested}`,
    );
  } catch (error) {
    fail(`${title}, browser ${browser}`, error);
    for (const name of readdirSync(temporary)) rmSync(join(temporary, name), { recursive: true, force: true });
  }
}

function fail(title, error) {
  failed = true;
  console.log(`${title}: FAILED: ${error.stdout?.slice(-4000) ?? ''}${error.stderr || error.message}`);
}

async function fromRegistry({ dir, env, tarball }) {
  const registry = await startRegistry(tarball);
  try {
    await install(['stillframe', '--registry', registry.url], { dir, env });
  } finally {
    await registry.close();
  }
  return installed(dir);
}

async function fromTarball({ dir, env, tarball }) {
  await install([tarball], { dir, env });
  return installed(dir);
}

/** npx installs the package at the first start, into its cache. */
async function fromNpx({ env, tarball, dir }) {
  env.npm_config_cache = join(dir, 'npm-cache');
  // A second npx would read the whole tarball again, which takes longer than all else.
  const installed = join(dir, 'npm-cache', '_npx');
  return {
    command: ['npx', '--yes', `--package=${tarball}`, 'stillframe', 'serve'],
    keys: () => [join(installed, readdirSync(installed)[0] ?? '', 'node_modules', '.bin', 'stillframe')],
  };
}

async function install(what, { dir, env }) {
  writeFileSync(join(dir, 'package.json'), '{}');
  await run('npm', ['install', ...what, '--no-fund', '--no-audit'], { cwd: dir, env });
  await run(
    'node',
    [
      '-e',
      "import('stillframe/client').then(({ Stillframe }) => new Stillframe({ baseUrl: 'http://localhost', apiKey: 'x' }))",
    ],
    {
      cwd: dir,
      env,
    },
  );
}

function installed(dir) {
  const program = join(dir, 'node_modules', '.bin', 'stillframe');
  return { command: [program, 'serve'], keys: () => [program] };
}

/** `npm start` installs and builds at the first start. */
async function fromClone({ dir, env }) {
  await run('git', ['clone', '--quiet', ROOT, dir], { env });
  return { command: ['npm', 'start', '--silent'], keys: () => ['node', 'dist/main.js'], isTested: true };
}

/** `npm test` chooses a browser by itself, in the clone, as the program does. */
async function runTests({ tests: [command, ...args], dir, env }) {
  rmSync(join(dir, 'node_modules/.cache/stillframe/browser'), { recursive: true, force: true });
  await run(command, args, { cwd: dir, env });
}

/** Runs a command where no browser is found, and none can be installed by the system. */
function withoutBrowsers() {
  const files = [...HIDDEN_FILES, HIDDEN_TOOL]
    .filter((path) => existsSync(path))
    .map((path) => `mount --bind /dev/null ${path}`);
  const cache = join(homedir(), '.cache/ms-playwright');
  const mounts = [...files, ...(existsSync(cache) ? [`mount -t tmpfs none ${cache}`] : [])].join(' && ');
  return ['unshare', '--mount', 'sh', '-c', `${mounts} && exec "$@"`, 'sh'];
}

/** @returns after which time, in ms, the picture was there */
async function firstPicture({ command: [command, ...args], keys, dir, env }) {
  const began = performance.now();
  const server = spawn(command, args, { cwd: dir, env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => server.once('close', resolve));
  try {
    const url = await untilReady(server);
    const [program, ...first] = keys();
    const { stdout } = await run(program, [...first, 'keys', 'create', '--label', 'first', '--json'], {
      cwd: dir,
      env,
    });
    await takePicture(url, JSON.parse(stdout).secret);
    return performance.now() - began;
  } finally {
    server.kill('SIGTERM');
    await ended;
  }
}

async function takePicture(url, secret) {
  const answer = await fetch(`${url}/v1/screenshot`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', accept: 'image/png' },
    signal: AbortSignal.timeout(PICTURE_MS),
    body: JSON.stringify({ html: '<h1>The first picture</h1>', format: 'png' }),
  });
  const picture = Buffer.from(await answer.arrayBuffer());
  if (answer.status !== 200 || picture.subarray(1, 4).toString() !== 'PNG')
    throw new Error(`${answer.status} ${picture.subarray(0, 300)}`);
}

function untilReady(server) {
  return new Promise((resolve, reject) => {
    const said = [];
    const timer = setTimeout(
      () => reject(new Error(`not ready in ${READY_MS / 1000} s: ${said.slice(-3).join(' ')}`)),
      READY_MS,
    );
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

function emptyDir(name) {
  const dir = join(work, name);
  mkdirSync(dir);
  return dir;
}
