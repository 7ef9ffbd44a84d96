import { existsSync, lstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isOwnedName, ownerIsVisible, ownerLives } from './owned-name.js';
import { copiesOf, entriesOf, leaveRoot, sweepProfiles } from './profile-dir.js';

const ROOT = /^(stillframe-[0-9a-f]{10})(?:-browser)?$/;
/** A root directory is created shortly before its first profile. */
const YOUNG_MS = 60_000;
/** No capture takes that long. */
const CAPTURE_MAX_MS = 60 * 60_000;

/** Where captures of a data directory keep large files, each in a directory with an owned name. */
export function temporaryDirOf(dataDir: string): string {
  return join(dataDir, 'temporary');
}

/** Removes what captures of killed servers have left, also of those that are not visible from here. @returns how many directories */
export async function sweepTemporary(dir: string): Promise<number> {
  const left = entriesOf(dir).filter((name) => isLeftBehind(name) || isOldAndUnseen(dir, name));
  await Promise.all(left.map((name) => rm(join(dir, name), { recursive: true, force: true })));
  return left.length;
}

/** Of an owner that is not visible from here, in another container for example. */
function isOldAndUnseen(dir: string, name: string): boolean {
  return isOwnedName(name) && !ownerIsVisible(name) && isOlderThan(CAPTURE_MAX_MS, join(dir, name));
}

/**
 * Removes profiles that killed servers of other data directories, which may never start again, have left in the temporary directory, and
 * kills their browsers.
 * @param root the profile directory of this server, which is kept
 * @returns how many directories were removed
 */
export async function sweepAbandoned(root: string): Promise<number> {
  const dir = dirname(root);
  const names = new Set(entriesOf(dir).flatMap((name) => ROOT.exec(name)?.[1] ?? []));
  names.delete(basename(root));
  const abandoned = [...names].map((name) => join(dir, name)).filter(isAbandoned);
  for (const other of abandoned) {
    await sweepProfiles(other);
    leaveRoot(other);
  }
  return abandoned.length;
}

function isAbandoned(root: string): boolean {
  const places = [root, copiesOf(root)].filter((place) => existsSync(place));
  return places.every((place) => isOurs(place) && isOlderThan(YOUNG_MS, place)) && entriesOf(root).every(isLeftBehind);
}

function isLeftBehind(name: string): boolean {
  return isOwnedName(name) && ownerIsVisible(name) && !ownerLives(name);
}

function isOurs(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? 0);
}

function isOlderThan(ms: number, path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > ms;
}
