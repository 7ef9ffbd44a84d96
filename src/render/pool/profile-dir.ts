/**
 * Profile directories: one a browser, private to it, and gone when it is. They lie under the system's temporary directory, since
 * the data directory is closed to the unprivileged user that the browser runs as. A name tells its owner, so that
 * the next start can remove what a killed server left behind.
 */
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killProcess, processesNaming, readProcess } from '../launch/process-table.js';
import type { Unprivileged } from '../launch/unprivileged.js';
import { isOwnedName, ownedName, ownerLives } from './owned-name.js';

/**
 * The private place for the profiles of one data directory.
 * @param runDir of the data directory; servers that share it share the place
 * @throws when somebody else has taken the name
 */
export function profilesRoot(runDir: string): string {
  const uid = process.getuid?.() ?? 0;
  const root = join(shortTmpdir(), `stillframe-${createHash('sha256').update(`${uid} ${runDir}`).digest('hex').slice(0, 10)}`);
  ensurePlace(root, uid);
  return root;
}

/**
 * Where a browser is copied to that its user could not reach: beside the profiles of `root`, and gone with the last of them.
 * @throws when somebody else has taken the name
 */
export function browserCopies(root: string): string {
  const place = copiesOf(root);
  ensurePlace(place, process.getuid?.() ?? 0);
  return place;
}

/** Removes the place, and the browser's copy beside it, when no profile is left in it. */
export function leaveRoot(root: string): void {
  try {
    rmdirSync(root);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return;
    if (code !== 'ENOENT') throw error;
  }
  rmSync(copiesOf(root), { recursive: true, force: true });
}

/** Whether there or not: see browserCopies. */
export function copiesOf(root: string): string {
  return `${root}-browser`;
}

function ensurePlace(root: string, uid: number): void {
  mkdirSync(root, { recursive: true, mode: 0o711 });
  const found = lstatSync(root);
  if (!found.isDirectory() || (process.getuid !== undefined && found.uid !== uid)) {
    throw new Error(`${root} exists and is not a directory of this user. Remove it, or set TMPDIR to a private directory.`);
  }
  // Others may pass through to their own profile, and list nothing. The umask may have taken even that.
  chmodSync(root, 0o711);
}

/** Chromium keeps a socket in its profile, and the name of a socket has 107 characters at most: ours take 50, Chromium's 45. */
const TMPDIR_MAX_CHARS = 12;

function shortTmpdir(): string {
  return tmpdir().length <= TMPDIR_MAX_CHARS || !existsSync('/tmp') ? tmpdir() : '/tmp';
}

/** A fresh private profile, given away to the user that the browser runs as. */
export function createProfile(root: string, user: Unprivileged | null): string {
  // Another program of the same data directory may just have left.
  ensurePlace(root, process.getuid?.() ?? 0);
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
 * Ends browsers and removes profiles whose server is gone, and the browser's copy when nobody is left who could use it.
 * @returns how many profiles were removed
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

/** Names of what is in it; none when it is not there. */
export function entriesOf(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}

/** A browser leads a process group of its own: whoever names the profile gives the whole group away, stopped processes too. */
function killNaming(profile: string): void {
  const found = processesNaming(profile);
  const own = readProcess(process.pid)?.group;
  for (const group of new Set(found.map((entry) => entry.group))) if (group !== own && group > 1) killProcess(-group);
  for (const { pid } of found) killProcess(pid);
}
