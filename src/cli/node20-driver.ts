import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../package-files.js';

const DRIVER = 'better-sqlite3-node20';
const INSTALLER = fileURLToPath(builtFile('node20/install.mjs'));
/** The commands that open the store. */
const USERS = ['serve', 'demo', 'console', 'keys', 'sign', 'accounts', 'queue', 'backup', 'migrate', 'clock'];

/**
 * Installs the SQLite driver for Node 20 where npm has left it to the program, with progress on standard error. Does nothing on newer Nodes,
 * in a clone, and for commands without a database. If it fails, opening the database says what to do.
 */
export async function installDriver([command = 'serve', ...words]: readonly string[]): Promise<void> {
  const isAsking = [command, ...words].some((word) => /^(-h|--help|-V|--version|help)$/.test(word));
  const isUser = command.startsWith('-') || USERS.includes(command);
  if (
    Number.parseInt(process.versions.node, 10) >= 22 ||
    isAsking ||
    !isUser ||
    !existsSync(INSTALLER) ||
    isInstalled()
  )
    return;
  const installer = spawn(process.execPath, [INSTALLER, '--now'], { stdio: ['ignore', 2, 2] });
  await once(installer, 'close');
}

function isInstalled(): boolean {
  try {
    const found = createRequire(INSTALLER).resolve(`${DRIVER}/package.json`);
    return existsSync(join(dirname(found), 'build/Release/better_sqlite3.node'));
  } catch {
    return false;
  }
}
