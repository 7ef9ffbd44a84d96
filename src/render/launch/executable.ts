import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Unprivileged } from './launch-mode.js';

/** A browser executable on this machine, with its requirements. */
export interface Executable {
  /** The absolute path. */
  path: string;
  /** The headless shell captures about twice as fast as full Chromium or Chrome. */
  kind: 'headless-shell' | 'chromium';
  /** Variables added to the browser's environment. */
  env?: Record<string, string>;
  /** The place where it was found, for messages: "STILLFRAME_CHROMIUM", "data directory", "system", … */
  source: string;
  /** The version, for instance `156.0.8078.79`; absent if unknown. */
  version?: string;
  /** Whether it can draw only on demand (see FrameSource); absent if it has not been tested for that. */
  drawsOnDemand?: boolean;
}

/** Determines the kind by the program's name, since all distributors use the same name for the headless shell. */
export function kindOf(path: string): Executable['kind'] {
  return /headless[-_]shell|chrome-headless|@sparticuz/i.test(path) ? 'headless-shell' : 'chromium';
}

/** The machine that browsers run on. */
export const HOST = { platform: process.platform, arch: process.arch };

/**
 * The executable at a path where every user can run it: its own, or, below a closed directory, a copy of the browser's
 * directory, made once with hard links if possible. Permissions are kept; other executables are unchanged.
 * @param placeForCopies creates the directory for the copy, if one is needed
 */
export function reachableBy(
  user: Unprivileged | null,
  executable: Executable,
  placeForCopies: () => string,
): Executable {
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

/** Makes the file available at another path, with a hard link if possible. */
export function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch {
    // The target is on another file system, or on one without hard links.
    copyFileSync(source, target, constants.COPYFILE_FICLONE);
  }
}
