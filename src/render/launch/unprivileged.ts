/**
 * If the server runs as root, the browser runs as a user that owns nothing, so that Chromium's sandbox works (operation.md,
 * Start-up).
 */
import { constants, copyFileSync, existsSync, linkSync, lstatSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Executable } from './executable.js';

/** Directories of system programs. Nothing else of the server's environment is passed to the browser. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface Unprivileged {
  uid: number;
  gid: number;
}

/**
 * Taken from the range that no distribution assigns to users or services (60,578–61,183), below the 65,536 that rootless
 * containers map. `nobody` is unsuitable, since unmapped files appear to belong to it.
 */
const BROWSER_USER: Unprivileged = { uid: 60_911, gid: 60_911 };

/** The user to run the browser as; null for the server's own. */
export function unprivilegedUser(): Unprivileged | null {
  return process.getuid?.() === 0 ? BROWSER_USER : null;
}

/**
 * The executable at a path where every user can run it: its own, or, below a closed directory, a copy of the browser's
 * directory, made once with hard links if possible. Permissions are kept; other executables are unchanged.
 * @param placeForCopies creates the directory for the copy, if one is needed
 */
export function reachableBy(user: Unprivileged | null, executable: Executable, placeForCopies: () => string): Executable {
  const home = dirname(executable.path);
  if (user === null || openToAll(executable.path) || !isBrowserHome(home)) return executable;
  const place = placeForCopies();
  const { mtimeMs, size, ino } = statSync(executable.path);
  const copy = join(place, `${ino.toString(36)}-${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}`);
  if (!existsSync(copy)) {
    const draft = join(place, `draft-${process.pid}`);
    mirror(home, draft);
    renameSync(draft, copy);
  }
  const env = Object.entries(executable.env ?? {}).map(([key, value]) => [key, value.replaceAll(home, copy)]);
  return { ...executable, path: join(copy, basename(executable.path)), env: Object.fromEntries(env) };
}

/** Whether the directory has the files of every Chromium, or the libraries of our npm copy. */
function isBrowserHome(dir: string): boolean {
  return ['icudtl.dat', 'libvk_swiftshader.so'].some((file) => existsSync(join(dir, file)));
}

function openToAll(path: string): boolean {
  if ((statSync(path).mode & 0o005) !== 0o005) return false;
  for (let dir = dirname(path); ; dir = dirname(dir)) {
    if ((statSync(dir).mode & 0o001) === 0) return false;
    if (dir === dirname(dir)) return true;
  }
}

function mirror(from: string, to: string): void {
  mkdirSync(to, { mode: 0o755 });
  for (const entry of readdirSync(from)) {
    const [source, target] = [join(from, entry), join(to, entry)];
    const found = lstatSync(source);
    if (found.isDirectory() && (found.mode & 0o005) === 0o005) mirror(source, target);
    else if (found.isFile() && (found.mode & 0o004) !== 0) linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    // The target is on another file system, or on one without hard links.
    copyFileSync(source, target, constants.COPYFILE_FICLONE);
  }
}
