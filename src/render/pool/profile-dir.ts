/**
 * Profile directories, one per browser, in the system's temporary directory, since the browser's unprivileged user cannot
 * read the data directory. Names identify the owner, so that the next start can remove those of a killed server.
 */
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killProcess, processesNaming, readProcess } from '../launch/process-table.js';
import type { Unprivileged } from '../launch/unprivileged.js';
import { isOwnedName, ownedName, ownerLives } from './owned-name.js';

/** Free bytes that browsers need there, for files such as a PDF before it is read. */
export const BROWSER_ROOM_BYTES = 16 * 1024 * 1024;

/**
 * The private directory for the profiles of one data directory.
 * @param runDir of the data directory; servers that share it share the directory
 * @throws Error if another user owns the name
 */
export function profilesRoot(runDir: string): string {
  const uid = process.getuid?.() ?? 0;
  const root = join(temporaryRoot(), `stillframe-${createHash('sha256').update(`${uid} ${runDir}`).digest('hex').slice(0, 10)}`);
  ensureDirectory(root, uid);
  return root;
}

/**
 * The directory for a copy of a browser that its user could not execute otherwise. It is next to the profiles of `root`, and
 * removed with the last of them.
 * @throws Error if another user owns the name
 */
export function browserCopies(root: string): string {
  const place = copiesOf(root);
  ensureDirectory(place, process.getuid?.() ?? 0);
  return place;
}

/** Removes the directory, and the copy of the browser next to it, if no profile is left. */
export function removeUnusedRoot(root: string): void {
  try {
    rmdirSync(root);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return;
    if (code !== 'ENOENT') throw error;
  }
  rmSync(copiesOf(root), { recursive: true, force: true });
}

/** The path of browserCopies, whether it exists or not. */
export function copiesOf(root: string): string {
  return `${root}-browser`;
}

function ensureDirectory(root: string, uid: number): void {
  mkdirSync(root, { recursive: true, mode: 0o711 });
  const found = lstatSync(root);
  if (!found.isDirectory() || (process.getuid !== undefined && found.uid !== uid)) {
    throw new Error(`${root} exists and is not a directory of this user. Remove it, or set TMPDIR to a private directory.`);
  }
  // Other users may traverse the directory to their own profile, but not list it, whatever the umask.
  chmodSync(root, 0o711);
}

/** Chromium creates a socket in its profile. Its path has at most 107 characters: ours takes 50, and Chromium's part 45. */
const TMPDIR_MAX_CHARS = 12;

/** The directory for profiles and temporary files: the system's temporary directory, or `/tmp` if its path is too long. */
export function temporaryRoot(): string {
  const serves = tmpdir().length <= TMPDIR_MAX_CHARS && isReachable(tmpdir());
  return serves || !existsSync('/tmp') ? tmpdir() : '/tmp';
}

/** Root's browser runs as another user, who cannot enter a temporary directory that only root can, such as libpam-tmpdir's. */
function isReachable(dir: string): boolean {
  return process.getuid?.() !== 0 || (statSync(dir).mode & 0o001) !== 0;
}

/** Creates a private profile, owned by the user that the browser runs as. */
export function createProfile(root: string, user: Unprivileged | null): string {
  // Another process of the same data directory may just have removed the directory.
  ensureDirectory(root, process.getuid?.() ?? 0);
  const profile = join(root, ownedName());
  for (const dir of [profile, join(profile, 'data')]) {
    mkdirSync(dir, { mode: 0o700 });
    if (user !== null) chownSync(dir, user.uid, user.gid);
  }
  return profile;
}

export async function removeProfile(profile: string): Promise<void> {
  await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

/**
 * Kills browsers and removes profiles whose server has ended, and the copy of the browser if nobody uses it.
 * @returns the number of profiles removed
 */
export async function sweepProfiles(root: string): Promise<number> {
  const profiles = entriesOf(root).filter(isOwnedName);
  const left = profiles.filter((name) => !ownerLives(name));
  for (const name of left) {
    const profile = join(root, name);
    killNaming(profile);
    await removeProfile(profile);
  }
  if (left.length === profiles.length) await rm(copiesOf(root), { recursive: true, force: true });
  return left.length;
}

/** The names of the entries; none if the directory does not exist. */
export function entriesOf(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}

/** Kills the process groups of all processes that name the profile, including stopped processes. */
function killNaming(profile: string): void {
  const found = processesNaming(profile);
  const own = readProcess(process.pid)?.group;
  for (const group of new Set(found.map((entry) => entry.group))) if (group !== own && group > 1) killProcess(-group);
  for (const { pid } of found) killProcess(pid);
}
