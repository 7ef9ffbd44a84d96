/**
 * The entry point of the self-contained executable: unpacks the program into the user's cache, then starts it from there. Bundled as
 * CommonJS without dependencies, since Node accepts nothing else in an executable.
 */
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { getAsset, getRawAsset } from 'node:sea';
import { unpack } from './unpack.js';

/** Settings that make glibc release the memory of pictures; read at process start. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576' };

try {
  setAllocator();
  const home = unpack({ index: getAsset('index', 'utf8'), content: new Uint8Array(getRawAsset('content') as ArrayBuffer) }, cacheDir());
  load(scriptOf(home) ?? join(home, 'start.cjs'));
} catch (error) {
  process.stderr.write(`stillframe: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

/** Replaces the process with one that has the settings, unless the operator has set them. Not possible with Node 20. */
function setAllocator(): void {
  const execve = (process as { execve?: (file: string, args: string[], env: NodeJS.ProcessEnv) => never }).execve;
  const isSet = Object.keys(ALLOCATOR).every((name) => process.env[name] !== undefined);
  if (isSet || execve === undefined || process.platform !== 'linux') return;
  // It would warn that the call is experimental.
  process.emitWarning = () => {};
  execve.call(process, process.execPath, [process.argv0, ...process.argv.slice(2)], { ...ALLOCATOR, ...process.env });
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
  if (first === undefined || !first.startsWith(home + sep) || first.includes(`${sep}..`) || !first.endsWith('.js')) return null;
  process.argv.splice(1, 1);
  return first;
}

function load(file: string): void {
  createRequire(file)(file);
}
