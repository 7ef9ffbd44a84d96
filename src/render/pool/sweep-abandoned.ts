import { existsSync, lstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isOwnedName, ownerIsVisible, ownerLives } from './owned-name.js';
import { copiesOf, entriesOf, leaveRoot, sweepProfiles } from './profile-dir.js';

/** Prefix of a process's files outside its profiles; an owned name follows. */
export const TEMPORARY_DIR = 'stillframe-sections-';

const ROOT = /^(stillframe-[0-9a-f]{10})(?:-browser)?$/;
/** A root directory is created shortly before its first profile. */
const YOUNG_MS = 60_000;

/**
 * Removes files that killed servers of other data directories, which may never start again, have left in the temporary directory, and kills
 * their browsers.
 * @param root the profile directory of this server, which is kept
 * @returns how many directories were removed
 */
export async function sweepAbandoned(root: string): Promise<number> {
  return (await sweepTemporaryDirs()) + (await sweepRoots(root));
}

async function sweepTemporaryDirs(): Promise<number> {
  const left = entriesOf(tmpdir()).filter((name) => name.startsWith(TEMPORARY_DIR) && isLeftBehind(name.slice(TEMPORARY_DIR.length)));
  const ours = left.map((name) => join(tmpdir(), name)).filter(isOurs);
  await Promise.all(ours.map((path) => rm(path, { recursive: true, force: true })));
  return ours.length;
}

async function sweepRoots(root: string): Promise<number> {
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
  return places.every((place) => isOurs(place) && isOfSomeAge(place)) && entriesOf(root).every(isLeftBehind);
}

function isLeftBehind(name: string): boolean {
  return isOwnedName(name) && ownerIsVisible(name) && !ownerLives(name);
}

function isOurs(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? 0);
}

function isOfSomeAge(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > YOUNG_MS;
}
