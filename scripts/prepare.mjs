/** Prepares a clone for the program or its tests. Each step does nothing if its result is up to date. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runWithProgress } from './run-with-progress.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** npm writes it last, at the end of an installation that succeeded. */
const INSTALLED = join(ROOT, 'node_modules', '.package-lock.json');
const LOCK = join(ROOT, 'package-lock.json');
const BUILT = ['dist/main.js', 'dist/client/client.js'].map((name) => join(ROOT, name));
/** The types of the clients are made from the schemas of the API. */
const CLIENT_TYPES = ['src/client/wire.ts', 'clients/python/src/stillframe/wire.py'].map((name) => join(ROOT, name));
const CLIENT_TYPES_FROM = [
  'src/contract',
  'src/http',
  'scripts/write-client-types.ts',
  'scripts/openapi.ts',
  'scripts/python-types.ts',
];
const BUILT_FROM = ['docs', 'src', 'scripts', 'package.json', 'tsup.config.ts'];

/** Installs the locked dependencies, dev ones included: a clone builds itself. */
export async function ensureInstalled() {
  if (existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs) return;
  say(
    `Installing dependencies (${compiles() ? 'one to five minutes, once, since Node 20 compiles an SQLite driver; Node 22 and newer do not' : 'about a minute, once'}) …`,
  );
  const args = ['ci', '--include=dev', '--no-fund', '--no-audit', '--loglevel=error'];
  const { status, output } = await runWithProgress(
    'npm',
    [...args, compiles() ? '--foreground-scripts' : '--ignore-scripts'],
    {
      cwd: ROOT,
      env: { ...process.env, ...headersAtHand() },
      what: 'Installing dependencies',
    },
  );
  if (status === 0) return;
  say(`${output}\n\`npm ci\` failed (${status}). Its own words are above.`);
  process.exit(1);
}

/** Only the SQLite driver for Node 20 needs its install script: newer Nodes load another, and would compile this one for nothing. */
function compiles() {
  return Number.parseInt(process.versions.node, 10) < 22;
}

/** Where no prebuilt SQLite can be downloaded it is compiled: against the headers that came with this Node, when they did. */
function headersAtHand() {
  const prefix = dirname(dirname(process.execPath));
  const there = existsSync(join(prefix, 'include', 'node', 'node_version.h'));
  return there && process.env.npm_config_nodedir === undefined ? { npm_config_nodedir: prefix } : {};
}

/** Builds dist/ if it is missing or older than its sources. */
export async function ensureBuilt() {
  await ensureInstalled();
  const changedAt = newest(BUILT_FROM);
  // `npm run dev` builds the program without the client.
  if (BUILT.every((file) => existsSync(file) && statSync(file).mtimeMs >= changedAt)) return;
  say('Building …');
  run(process.execPath, [join(ROOT, 'node_modules', 'tsup', 'dist', 'cli-default.js'), '--silent']);
}

/** Writes the types of the clients if they are missing or older than the schemas that they are made from. */
export function ensureClientTypes() {
  const changedAt = newest(CLIENT_TYPES_FROM);
  if (CLIENT_TYPES.every((file) => existsSync(file) && statSync(file).mtimeMs >= changedAt)) return;
  run(process.execPath, [join(ROOT, 'scripts/run-ts.mjs'), '--no-build', join(ROOT, 'scripts/write-client-types.ts')]);
}

function newest(names) {
  return Math.max(...names.map((name) => newestIn(join(ROOT, name))));
}

function newestIn(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newestIn(join(path, name))));
}

/** Runs a command in the project's root with its output on stderr; ends this process when it fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 2, 2], ...options });
  if (result.error) {
    say(`${command} could not be started: ${result.error.message}`);
    process.exit(1);
  }
  if (result.status !== 0) {
    say(`\`${command} ${args.join(' ')}\` failed (${result.status ?? result.signal}). Its own words are above.`);
    process.exit(1);
  }
}

function say(line) {
  console.error(line);
}
