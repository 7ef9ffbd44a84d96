/**
 * Profile directories: one a browser, private to it, and gone when it is. They lie under the system's temporary directory, since
 * the data directory is closed to the unprivileged user that the browser runs as. A name tells its owner, so that
 * the next start can remove what a killed server left behind.
 */
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killProcess, processesNaming, readProcess } from './process-table.js';
import type { Unprivileged } from './unprivileged.js';

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

/** Removes the place when nothing is left in it. */
export function leaveRoot(root: string): void {
  try {
    rmdirSync(root);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
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
  const owner = readProcess(process.pid);
  const profile = join(root, `${process.pid}-${(owner?.startTime ?? 0).toString(36)}-${randomBytes(3).toString('hex')}`);
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
 * Ends browsers and removes profiles whose server is gone.
 * @returns how many profiles were removed
 */
export async function sweepProfiles(root: string): Promise<number> {
  const left = readdirSync(root).filter((name) => /^\d+-[0-9a-z]+-[0-9a-f]+$/.test(name) && !ownerLives(name));
  for (const name of left) {
    const profile = join(root, name);
    killNaming(profile);
    await removeProfile(profile);
  }
  return left.length;
}

function ownerLives(name: string): boolean {
  const [pid = '', startTime = ''] = name.split('-');
  return readProcess(Number(pid))?.startTime === Number.parseInt(startTime, 36);
}

/** A browser leads a process group of its own: whoever names the profile gives the whole group away, stopped processes too. */
function killNaming(profile: string): void {
  const found = processesNaming(profile);
  const own = readProcess(process.pid)?.group;
  for (const group of new Set(found.map((entry) => entry.group))) if (group !== own && group > 1) killProcess(-group);
  for (const { pid } of found) killProcess(pid);
}
