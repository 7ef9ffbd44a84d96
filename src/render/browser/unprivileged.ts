/**
 * Started as root, the browser runs as a user that owns nothing, so that Chromium's sandbox can be on (operation.md, Start-up).
 */
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Executable } from './executable.js';

export interface Unprivileged {
  uid: number;
  gid: number;
}

/**
 * From the range that no distribution hands out to people or services (60,578–61,183), and below the 65,536 that
 * rootless containers map. Not `nobody`: that is whom unmapped files seem to belong to.
 */
const BROWSER_USER: Unprivileged = { uid: 60_911, gid: 60_911 };

/** Whom to run the browser as; null means: as ourselves. */
export function unprivilegedUser(): Unprivileged | null {
  return process.getuid?.() === 0 ? BROWSER_USER : null;
}

/**
 * The executable at a place where everybody may run it: itself, or, when its directory is closed to others (a data directory is), a
 * copy of that directory under `root`, by hard links where the file system allows, made once.
 */
export function reachableBy(user: Unprivileged | null, executable: Executable, root: string): Executable {
  if (user === null || openToAll(executable.path)) return executable;
  const home = dirname(executable.path);
  const { mtimeMs, size, ino } = statSync(executable.path);
  const copy = join(root, `browser-${ino.toString(36)}-${size.toString(36)}-${Math.trunc(mtimeMs).toString(36)}`);
  if (!existsSync(copy)) {
    const draft = `${copy}.${process.pid}`;
    mirror(home, draft);
    try {
      renameSync(draft, copy);
    } catch (error) {
      // Another server of the same data directory was faster.
      rmSync(draft, { recursive: true, force: true });
      if (!existsSync(copy)) throw error;
    }
  }
  const env = Object.entries(executable.env ?? {}).map(([name, value]) => [name, value.replaceAll(home, copy)]);
  return { ...executable, path: join(copy, basename(executable.path)), env: Object.fromEntries(env) };
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
    if (found.isDirectory()) mirror(source, target);
    else if (found.isFile()) linkOrCopy(source, target);
  }
}

function linkOrCopy(source: string, target: string): void {
  const { mode } = statSync(source);
  const open = (mode & 0o100) === 0 ? 0o644 : 0o755;
  try {
    if ((mode & 0o004) !== 0) {
      linkSync(source, target);
      return;
    }
  } catch {
    // Another file system, or one without links: copied below.
  }
  copyFileSync(source, target, constants.COPYFILE_FICLONE);
  chmodSync(target, open);
}
