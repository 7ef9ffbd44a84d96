/**
 * The entry point of the self-contained executable: unpacks the program into the user's cache, then starts it from there. Bundled as
 * CommonJS without dependencies, since Node accepts nothing else in an executable.
 */
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { getAsset, getRawAsset } from 'node:sea';
import { applyMemorySettings } from '../../src/cli/apply-memory-settings.js';
import { unpack } from './unpack.js';

try {
  applyMemorySettings([process.argv0, ...process.argv.slice(2)]);
  const home = unpack(
    { index: getAsset('index', 'utf8'), content: new Uint8Array(getRawAsset('content') as ArrayBuffer) },
    cacheDir(),
  );
  load(scriptOf(home) ?? join(home, 'start.cjs'));
} catch (error) {
  process.stderr.write(`stillframe: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

/** systemd sets the cache directory of a service; an empty variable counts as unset. */
function cacheDir(): string {
  const { CACHE_DIRECTORY, XDG_CACHE_HOME } = process.env;
  const [ofService] = (CACHE_DIRECTORY || '').split(':');
  return ofService || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'stillframe');
}

/** The program starts itself as Node for the scripts of its packages (Playwright's installer); accepts only unpacked files. */
function scriptOf(home: string): string | null {
  const first = process.argv[2];
  if (first === undefined || !first.startsWith(home + sep) || first.includes(`${sep}..`) || !first.endsWith('.js'))
    return null;
  process.argv.splice(1, 1);
  return first;
}

function load(file: string): void {
  createRequire(file)(file);
}
