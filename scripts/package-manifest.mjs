/**
 * Prepares what `npm pack` packs, so that users get the dependencies that the package was tested with, whichever npm they have. A lock file
 * cannot do that: npm 12 does not read npm-shrinkwrap.json, and npm 11 installs the packages of all platforms with it.
 *
 * - All dependencies are bundled, except sharp, whose binaries are a package of their own for each platform; it has an exact version.
 * - The SQLite driver for Node 20 is no dependency of the package, since other Nodes would compile it and never load it. The install script
 *   of the package installs it from a lock file, on Node 20 only.
 *
 * It rewrites package.json. `--restore` puts the original back after packing, and a process of its own does so if npm is interrupted, since
 * npm then does not run the script `postpack`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MANIFEST = join(ROOT, 'package.json');
const ORIGINAL = join(ROOT, 'build/package.json');
const NODE20 = join(ROOT, 'dist/node20');
const NODE20_DRIVER = 'better-sqlite3-node20';
const NOT_BUNDLED = ['sharp'];

const [mode, npmPid] = process.argv.slice(2);
if (mode === '--restore-after') await packingEnds(Number(npmPid));
if (existsSync(ORIGINAL)) renameSync(ORIGINAL, MANIFEST);
if (mode === undefined) prepare();

function prepare() {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  assertInstalled(lock);
  // By-products of compiling, made on Node 20 although nothing is compiled: they name directories of this machine.
  const built = join(ROOT, 'node_modules/better-sqlite3/build');
  if (!existsSync(join(built, 'Release/better_sqlite3.node'))) rmSync(built, { recursive: true, force: true });
  const source = readFileSync(MANIFEST, 'utf8');
  mkdirSync(dirname(ORIGINAL), { recursive: true });
  writeFileSync(ORIGINAL, source);
  restoreIfInterrupted();
  const { devDependencies, optionalDependencies, overrides, allowScripts, scarfSettings, ...manifest } =
    JSON.parse(source);
  const packed = {
    ...manifest,
    scripts: { install: 'node dist/node20/install.mjs' },
    bundleDependencies: Object.keys(manifest.dependencies).filter((name) => !NOT_BUNDLED.includes(name)),
  };
  writeFileSync(MANIFEST, `${JSON.stringify(packed, null, 2)}\n`);
  writeNode20Driver(lock, optionalDependencies[NODE20_DRIVER]);
}

/** Only for npm: in tests no process stays behind. */
function restoreIfInterrupted() {
  if (process.env.npm_lifecycle_event !== 'prepack') return;
  const npm = parentThatIsNoShell(process.ppid);
  if (npm === null) return;
  // Detached, so that Ctrl-C does not end it together with npm.
  const args = [fileURLToPath(import.meta.url), '--restore-after', String(npm)];
  spawn(process.execPath, args, { cwd: ROOT, detached: true, stdio: 'ignore' }).unref();
}

/** npm runs scripts in a shell, which some shells replace with their last command. Null without the command `ps`. */
function parentThatIsNoShell(pid) {
  const { stdout } = spawnSync('ps', ['-o', 'ppid=,comm=', '-p', String(pid)], { encoding: 'utf8' });
  const [, parent, command] = /^\s*(\d+)\s+(.+)$/m.exec(stdout ?? '') ?? [];
  if (parent === undefined) return null;
  return /(^|[-/])(ba|da|z|k|a)?sh$/.test(command.trim()) ? parentThatIsNoShell(Number(parent)) : pid;
}

/** Until npm has ended, or has put the original back itself. */
async function packingEnds(pid) {
  while (existsSync(ORIGINAL) && isRunning(pid)) await sleep(100);
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Bundled code comes from node_modules. */
function assertInstalled({ packages }) {
  for (const [path, { version, dev, optional }] of Object.entries(packages)) {
    if (path === '' || dev || optional) continue;
    const file = join(ROOT, path, 'package.json');
    const installed = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : 'not there';
    if (installed !== version)
      throw new Error(`${path} is ${installed} and should be ${version}: run \`npm ci\` first`);
  }
}

function writeNode20Driver({ lockfileVersion, packages }, spec) {
  const manifest = {
    name: 'stillframe-node20',
    version: '1.0.0',
    private: true,
    dependencies: { [NODE20_DRIVER]: spec },
  };
  const locked = Object.fromEntries([...closure(packages, NODE20_DRIVER)].map((path) => [path, entry(packages[path])]));
  const lock = { ...manifest, lockfileVersion, requires: true, packages: { '': manifest, ...locked } };
  mkdirSync(NODE20, { recursive: true });
  writeFileSync(join(NODE20, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(NODE20, 'lock.json'), `${JSON.stringify(lock, null, 2)}\n`);
  cpSync(join(ROOT, 'scripts/install-node20-driver.mjs'), join(NODE20, 'install.mjs'));
  cpSync(join(ROOT, 'scripts/run-with-progress.mjs'), join(NODE20, 'run-with-progress.mjs'));
}

/** Any registry may serve the packages, which their sha512 identifies. */
function entry({ resolved, optional, devOptional, peer, ...rest }) {
  return rest;
}

/** The paths of a package and of all that it depends on, found as Node finds them. */
function closure(packages, name) {
  const found = new Set();
  const visit = (from, wanted) => {
    const path = lookUp(packages, from, wanted);
    if (path === null || found.has(path)) return;
    found.add(path);
    for (const next of Object.keys(packages[path].dependencies ?? {})) visit(path, next);
  };
  visit('', name);
  return found;
}

function lookUp(packages, from, name) {
  for (let dir = from; ; dir = dir.slice(0, Math.max(0, dir.lastIndexOf('/node_modules/')))) {
    const path = `${dir === '' ? '' : `${dir}/`}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (dir === '') return null;
  }
}
