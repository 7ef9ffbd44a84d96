/**
 * The package's install script. On Node 20 it installs the SQLite driver that this Node can load, as locked, beside itself; newer Nodes load
 * one with prebuilt binaries, and nothing is to be done. If it fails, the program says what to do when it opens a database.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PREBUILT_NODE_MAJOR = 22;
/** They are npm's own for the installation that this is a part of, and must not hold for this one. */
const OUTER = ['npm_config_global', 'npm_config_location', 'npm_config_prefix', 'npm_config_local_prefix', 'npm_config_dry_run'];

if (Number.parseInt(process.versions.node, 10) < PREBUILT_NODE_MAJOR) install();

function install() {
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  // npm leaves files of this name out of packages.
  copyFileSync(`${cwd}lock.json`, `${cwd}package-lock.json`);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OUTER.includes(name.toLowerCase())));
  const options = { cwd, env, stdio: 'inherit', shell: process.platform === 'win32' };
  const { status, error } = spawnSync('npm', ['ci', '--no-fund', '--no-audit'], options);
  if (status !== 0) console.error(`The SQLite driver for Node 20 could not be installed (${error?.message ?? status}).`);
}
