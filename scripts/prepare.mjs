/** Prepares a clone for the program or its tests. Each step does nothing if its result is up to date. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runWithProgress } from './run-with-progress.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** npm writes it last, at the end of an installation that succeeded. */
const INSTALLED = join(ROOT, 'node_modules', '.package-lock.json');
const LOCK = join(ROOT, 'package-lock.json');
const DRIVER = join(ROOT, 'node_modules', 'better-sqlite3-node20');
const BINARY = join('build', 'Release', 'better_sqlite3.node');
const TSUP = join(ROOT, 'node_modules', 'tsup', 'dist', 'cli-default.js');
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
  await ensurePackages();
  await ensureDriver();
}

/** Of the packages, only the SQLite driver for Node 20 needs its install script, which `ensureDriver` runs. */
export async function ensurePackages() {
  if (existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= statSync(LOCK).mtimeMs) return;
  say('Installing dependencies (about a minute, once) …');
  const args = ['ci', '--include=dev', '--no-fund', '--no-audit', '--loglevel=error', '--ignore-scripts'];
  if (!(await runNpm(args, 'Installing dependencies'))) process.exit(1);
}

/** Newer Nodes load a driver that has prebuilt binaries. Without one, the program says what to do when it opens a database. */
export async function ensureDriver() {
  if (Number.parseInt(process.versions.node, 10) >= 22 || !existsSync(DRIVER) || existsSync(join(DRIVER, BINARY)))
    return;
  say('Installing the SQLite driver for Node 20 (one to five minutes, once, where it is compiled) …');
  await runNpm(['rebuild', basename(DRIVER), '--foreground-scripts'], 'Installing the SQLite driver');
}

/** @returns whether it succeeded */
async function runNpm(args, what) {
  const env = { ...process.env, ...headersAtHand() };
  const { status, output } = await runWithProgress('npm', args, { cwd: ROOT, env, what });
  if (status !== 0) say(`${output}\n\`npm ${args[0]}\` failed (${status}). Its own words are above.`);
  return status === 0;
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
  run(process.execPath, [TSUP, '--silent']);
}

/** Builds the declarations of the library, which only the package needs, if they are missing or older than their sources. */
export function ensureDeclarations() {
  const file = join(ROOT, 'dist/stillframe.d.ts');
  if (existsSync(file) && statSync(file).mtimeMs >= newest(BUILT_FROM)) return;
  run(process.execPath, [TSUP, '--silent', '--config', 'scripts/types.config.ts']);
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
