/**
 * Profile directories, one per browser, in the system's temporary directory, since the browser's unprivileged user cannot
 * read the data directory. Names identify the owner, so that the next start can remove those of a killed server.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Unprivileged } from './launch-mode.js';
import { killProcess, processesNaming, readProcess } from './process-table.js';

/** Free bytes that browsers need there, for files such as a PDF before it is read. */
export const BROWSER_ROOM_BYTES = 16 * 1024 * 1024;
const OWN_UID = process.getuid?.() ?? 0;
/** Matches the directories that profilesRoot and browserCopies return. */
const ROOT = /^(stillframe-[0-9a-f]{10})(?:-browser)?$/;
/** Matches names of ownedName, which may be followed by mkdtemp's suffix. */
const OWNED_NAME = /^(\d+)-([0-9a-z]+)-([0-9a-f]{2})[0-9a-f]{4}(?:-\w{6})?$/;
/** A root directory is created shortly before its first profile, so a new one may be empty. */
const YOUNG_MS = 60_000;
/** No capture takes longer than this. */
const CAPTURE_MAX_MS = 60 * 60_000;

/**
 * The private directory for the profiles of one data directory.
 * @param runDir of the data directory; servers that share it share the directory
 * @throws Error if another user owns the name
 */
export function profilesRoot(runDir: string): string {
  const root = join(
    temporaryRoot(),
    `stillframe-${createHash('sha256').update(`${OWN_UID} ${runDir}`).digest('hex').slice(0, 10)}`,
  );
  ensureDirectory(root);
  return root;
}

/**
 * The directory for a copy of a browser that its user could not execute otherwise. It is next to the profiles of `root`, and
 * removed with the last of them.
 * @throws Error if another user owns the name
 */
export function browserCopies(root: string): string {
  const place = copiesOf(root);
  ensureDirectory(place);
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
function copiesOf(root: string): string {
  return `${root}-browser`;
}

function ensureDirectory(root: string): void {
  mkdirSync(root, { recursive: true, mode: 0o711 });
  const found = lstatSync(root);
  if (!found.isDirectory() || found.uid !== OWN_UID) {
    throw new Error(
      `${root} exists and is not a directory of this user. Remove it, or set TMPDIR to a private directory.`,
    );
  }
  // Other users may traverse the directory to their own profile, but not list it, whatever the umask.
  chmodSync(root, 0o711);
}

/** Chromium creates a socket in its profile. Its path has at most 107 characters: ours takes 50, and Chromium's part 45. */
const TMPDIR_MAX_CHARS = 12;

/** The directory for profiles and temporary files: the system's temporary directory, or `/tmp` if its path is too long. */
export function temporaryRoot(): string {
  // Root's browser runs as another user, who cannot enter a temporary directory that only root can, such as libpam-tmpdir's.
  const isReachable = () => process.getuid?.() !== 0 || (statSync(tmpdir()).mode & 0o001) !== 0;
  const serves = tmpdir().length <= TMPDIR_MAX_CHARS && isReachable();
  return serves || !existsSync('/tmp') ? tmpdir() : '/tmp';
}

/** Creates a private profile, owned by the user that the browser runs as. */
export function createProfile(root: string, user: Unprivileged | null): string {
  // Another process of the same data directory may just have removed the directory.
  ensureDirectory(root);
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
  const profiles = entriesOf(root).filter((name) => ownerOf(name) !== null);
  const left = profiles.filter((name) => ownerOf(name)?.lives === false);
  for (const name of left) {
    const profile = join(root, name);
    killNaming(profile);
    await removeProfile(profile);
  }
  if (left.length === profiles.length) await rm(copiesOf(root), { recursive: true, force: true });
  return left.length;
}

/**
 * Removes profiles left in the temporary directory by killed servers of other data directories, which may never start again,
 * and kills their browsers.
 * @param root the profile directory of this server, which is kept
 * @returns the number of directories removed
 */
export async function sweepAbandoned(root: string): Promise<number> {
  const dir = dirname(root);
  const names = new Set(entriesOf(dir).flatMap((name) => ROOT.exec(name)?.[1] ?? []));
  names.delete(basename(root));
  const abandoned = [...names].map((name) => join(dir, name)).filter(isAbandoned);
  for (const other of abandoned) {
    await sweepProfiles(other);
    removeUnusedRoot(other);
  }
  return abandoned.length;
}

/** Whether all of it belongs to this user and to servers that have ended. */
function isAbandoned(root: string): boolean {
  const places = [root, copiesOf(root)].filter((place) => existsSync(place));
  return (
    places.every((place) => isOwnDirectory(place) && isOlderThan(YOUNG_MS, place)) &&
    entriesOf(root).every(isLeftBehind)
  );
}

function isLeftBehind(name: string): boolean {
  const owner = ownerOf(name);
  return owner?.isVisible === true && !owner.lives;
}

/** The directory of large files of captures, each in a directory whose name identifies its process. */
export function temporaryDirOf(dataDir: string): string {
  return join(dataDir, 'temporary');
}

/**
 * Removes files left by captures of killed servers, including old ones whose owner is not visible from here, for example
 * because it runs in another container.
 * @returns the number of directories removed
 */
export async function sweepTemporary(dir: string): Promise<number> {
  const isOldElsewhere = (name: string) =>
    ownerOf(name)?.isVisible === false && isOlderThan(CAPTURE_MAX_MS, join(dir, name));
  const left = entriesOf(dir).filter((name) => isLeftBehind(name) || isOldElsewhere(name));
  await Promise.all(left.map((name) => rm(join(dir, name), { recursive: true, force: true })));
  return left.length;
}

/** The names of the entries; none if the directory does not exist. */
export function entriesOf(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}

function isOwnDirectory(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === OWN_UID;
}

function isOlderThan(ms: number, path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > ms;
}

/** Kills the process groups of all processes that name the profile, including stopped processes. */
function killNaming(profile: string): void {
  const found = processesNaming(profile);
  const own = readProcess(process.pid)?.group;
  for (const group of new Set(found.map((entry) => entry.group))) if (group !== own && group > 1) killProcess(-group);
  for (const { pid } of found) killProcess(pid);
}

/** A new name of a temporary file or directory that identifies this process, so that it can be removed after a kill. */
export function ownedName(): string {
  const startTime = readProcess(process.pid)?.startTime ?? 0;
  return `${process.pid}-${startTime.toString(36)}-${processNamespace()}${randomBytes(2).toString('hex')}`;
}

/** @returns null if the name identifies no process; `isVisible` is whether this process could see it if it were running */
function ownerOf(name: string) {
  const [, pid, startTime = '', namespace] = OWNED_NAME.exec(name) ?? [];
  if (pid === undefined) return null;
  const lives = readProcess(Number(pid))?.startTime === Number.parseInt(startTime, 36);
  return { lives, isVisible: namespace === processNamespace() };
}

/**
 * Two hexadecimal digits that identify the PID namespace, since containers that share a temporary directory do not see each
 * other's processes.
 */
function processNamespace(): string {
  let name = '';
  try {
    name = readlinkSync('/proc/self/ns/pid');
  } catch {
    // This system has no PID namespaces.
  }
  return createHash('sha256').update(name).digest('hex').slice(0, 2);
}
