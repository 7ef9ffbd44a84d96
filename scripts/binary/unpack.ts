import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type Archive, type ArchiveIndex, digestOf, entriesOf, readIndex } from './archive.js';

const DRAFT = '.draft-';
/** Unpacking takes seconds, so an older temporary directory belongs to a killed process. */
const DRAFT_MAX_AGE_MS = 3_600_000;

/**
 * Unpacks the archive into its own directory below the cache, unless it is there already, and returns the path. The directory is named for
 * its content, created atomically, and private to this user (mode 0700). An incomplete one is replaced.
 *
 * @throws Error with a message for the operator if the cache cannot be written, or other users could write to it
 */
export function unpack(archive: Archive, cache: string): string {
  makeCache(cache);
  const index = readIndex(archive.index);
  const home = join(realpathSync(cache), `${index.version}-${digestOf(archive.index).slice(0, 16)}`);
  if (isWhole(home, index)) return home;
  removeOldDrafts(cache);
  const draft = mkdtempSync(join(cache, DRAFT));
  try {
    writeAll(archive, draft);
    place(draft, home, index);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return home;
}

function makeCache(cache: string): void {
  try {
    mkdirSync(cache, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new Error(
      `The program unpacks itself into ${cache} on first use, and cannot: ${(error as Error).message}. ${ADVICE}`,
    );
  }
  if (!isOursAlone(lstatSync(cache), 0o022))
    throw new Error(`${cache} belongs to another user, or others can write to it. ${ADVICE}`);
}

const ADVICE = 'Set XDG_CACHE_HOME to a directory of your own.';

/** Whether it belongs to this user, and has none of the permissions in the mask. */
function isOursAlone(found: Stats, mask: number): boolean {
  return found.isDirectory() && found.uid === process.geteuid?.() && (found.mode & mask) === 0;
}

function isWhole(home: string, { files }: ArchiveIndex): boolean {
  const found = lstatSync(home, { throwIfNoEntry: false });
  if (found === undefined || !isOursAlone(found, 0o077)) return false;
  return files.every(({ path, size }) => {
    const file = lstatSync(join(home, path), { throwIfNoEntry: false });
    return file?.isFile() === true && file.size === size;
  });
}

function writeAll(archive: Archive, draft: string): void {
  const made = new Set<string>();
  for (const { path, content } of entriesOf(archive)) {
    const file = join(draft, path);
    if (!made.has(dirname(file))) mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    made.add(dirname(file));
    writeFileSync(file, content, { mode: 0o600, flag: 'wx' });
  }
  chmodSync(draft, 0o700);
}

/** Another process may be doing the same; both have the same files. */
function place(draft: string, home: string, index: ArchiveIndex): void {
  try {
    renameSync(draft, home);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) throw error;
    if (isWhole(home, index)) return;
    rmSync(home, { recursive: true, force: true });
    renameSync(draft, home);
  }
}

function removeOldDrafts(cache: string): void {
  for (const name of readdirSync(cache)) {
    const draft = join(cache, name);
    const found = name.startsWith(DRAFT) ? lstatSync(draft, { throwIfNoEntry: false }) : undefined;
    if (found !== undefined && Date.now() - found.mtimeMs > DRAFT_MAX_AGE_MS)
      rmSync(draft, { recursive: true, force: true });
  }
}
