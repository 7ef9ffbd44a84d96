/**
 * Installs the SQLite driver that Node 20 can load, as locked, beside itself; newer Nodes load one with prebuilt binaries, and nothing is to
 * be done. It is the package's install script, and the program runs it with `--now` where the driver is missing. npm shows no output of
 * install scripts, so that with `npx` it is left to the program. If it fails, the program says what to do when it opens a database.
 */
import { copyFileSync, openSync } from 'node:fs';
import { WriteStream } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { runWithProgress } from './run-with-progress.mjs';

const PREBUILT_NODE_MAJOR = 22;
/** They are npm's own for the installation that this is a part of, and must not hold for this one. */
const OUTER = [
  'npm_config_global',
  'npm_config_location',
  'npm_config_prefix',
  'npm_config_local_prefix',
  'npm_config_dry_run',
];

const isNeeded = Number.parseInt(process.versions.node, 10) < PREBUILT_NODE_MAJOR;
const isByProgram = process.argv[2] === '--now';
if (isNeeded && (isByProgram || process.env.npm_command !== 'exec'))
  await install(isByProgram ? process.stderr : terminal());

async function install(out) {
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  // npm leaves files of this name out of packages.
  copyFileSync(`${cwd}lock.json`, `${cwd}package-lock.json`);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OUTER.includes(name.toLowerCase())));
  out.write(
    'Node 20 needs an SQLite driver of its own, which is installed now. Where none can be downloaded, it is compiled: that takes one to five minutes, once. Node 22 and newer need none.\n',
  );
  const options = { cwd, env, shell: process.platform === 'win32', what: 'Installing the SQLite driver', out };
  const { status, output } = await runWithProgress(
    'npm',
    ['ci', '--no-fund', '--no-audit', '--foreground-scripts'],
    options,
  );
  if (status === 0) out.write('The SQLite driver is installed.\n');
  else console.error(`${output}\nThe SQLite driver for Node 20 could not be installed. Its own words are above.`);
  // A failure must not undo the installation of the package: captures from the command line need no driver.
}

/** The user's terminal, which npm does not pass on; else standard error. */
function terminal() {
  try {
    return new WriteStream(openSync('/dev/tty', 'w'));
  } catch {
    return process.stderr;
  }
}
