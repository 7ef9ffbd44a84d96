import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandLimits, runCommand } from './run-command.js';

/** A package-lock.json, with the sha512 of every package. */
export interface PackageLock {
  packages: { '': { dependencies: Record<string, string> }; [path: string]: object };
}

/**
 * Installs exactly the npm packages of a lock file into a directory, from the configured registry. npm verifies each
 * package's sha512 before unpacking, and runs no install scripts.
 * @throws Error with one line that names a package that differs from the lock file, or with npm's own reason
 */
export async function installLocked(lock: PackageLock, dir: string, limits: Omit<CommandLimits, 'cwd'>): Promise<void> {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ private: true, ...lock.packages[''] }));
  writeFileSync(join(dir, 'package-lock.json'), JSON.stringify(lock));
  try {
    await runCommand('npm', ['ci', ...QUIET], { ...limits, cwd: dir });
  } catch (error) {
    if (/EINTEGRITY/.test((error as Error).message)) throw new Error(REFUSED);
    throw error;
  }
}

const QUIET = ['--no-audit', '--no-fund', '--ignore-scripts', '--fetch-timeout=30000', '--fetch-retries=1'];
const REFUSED = 'the registry sent a package whose sha512 differs from the pinned one; it was not used';
