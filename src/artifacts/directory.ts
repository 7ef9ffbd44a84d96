import { constants, createReadStream, type Stats, type StatsFs, statSync } from 'node:fs';
import { access, mkdir, readdir, readFile, rename, stat, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { CaptureError } from '../contract/capture-error.js';
import { DISK_FULL } from '../contract/health.js';
import type { Log } from '../log.js';
import { isArtifactName, isPackName, isStoredName, newArtifactName, shardOf } from './artifact-name.js';
import type { Artifacts, OpenArtifact, OpenPack, StoredArtifact } from './artifacts.js';
import type { PackSource } from './page-pack.js';
import { RecentFiles } from './recent-files.js';
import { asStorageError } from './storage-error.js';
import { syncPath, writeSynced } from './write-synced.js';

export interface ArtifactDirectoryOptions {
  /** Absolute path; created if missing, readable by this user only. */
  dir: string;
  log: Log;
}

/** Directory of incomplete files. It is inside `dir`, so that the rename stays within one file system. */
export const UNFINISHED = '.unfinished';
/** Disk space for a large picture and its database records, in bytes. */
const ROOM_BYTES = 4_000_000;
const SHARD_PATTERN = /^[a-z2-7]{2}$/;
const LIST_BATCH = 200;
const DIR_MODE = 0o700;

/** Returns the artifact directory of a data directory. */
export function artifactsDirOf(dataDir: string): string {
  return join(dataDir, 'artifacts');
}

/** Opens artifacts in a local directory, as `<dir>/<first two characters>/<name>`. */
export async function openArtifactDirectory(options: ArtifactDirectoryOptions): Promise<Artifacts> {
  await mkdir(join(options.dir, UNFINISHED), { recursive: true, mode: DIR_MODE });
  return new ArtifactDirectory(options);
}

class ArtifactDirectory implements Artifacts {
  readonly isLocal = true;
  /** Whether the last put failed: a full disk, or a directory that is missing or cannot be written to. */
  isFailing = false;
  readonly refusal = null;
  readonly #dir: string;
  readonly #log: Log;
  /** Subdirectories that exist durably, with their entry in `dir` synced. */
  readonly #shards = new Map<string, Promise<void>>();
  readonly #recent = new RecentFiles({
    stream: async (path, _bytes, range) => createReadStream(path, range),
    load: (path) => readFile(path),
  });

  constructor(options: ArtifactDirectoryOptions) {
    this.#dir = options.dir;
    this.#log = options.log;
  }

  async put(content: Uint8Array, extension: string): Promise<StoredArtifact> {
    const name = newArtifactName(extension);
    return { name, bytes: content.byteLength, sha256: await this.#store(name, content) };
  }

  async putPack(name: string, pack: PackSource): Promise<void> {
    await this.#store(name, pack.read());
  }

  async openPack(name: string): Promise<OpenPack | null> {
    const path = this.#path(name);
    const found = isPackName(name) ? findFile(path) : null;
    return found && { bytes: found.size, read: async (range) => createReadStream(path, range) };
  }

  /** @returns the SHA-256 in hex */
  async #store(name: string, content: Uint8Array | Readable): Promise<string> {
    const unfinished = join(this.#dir, UNFINISHED, name);
    try {
      const sha256 = await writeSynced(unfinished, content);
      await this.#makeShard(shardOf(name));
      await rename(unfinished, this.#path(name));
      await syncPath(join(this.#dir, shardOf(name)));
      this.isFailing = false;
      return sha256;
    } catch (error) {
      // The subdirectory may have been removed, so the next put creates it again.
      this.#shards.delete(shardOf(name));
      await this.#discard(unfinished, this.#path(name));
      const failure = asStorageError(error);
      this.isFailing = failure instanceof CaptureError;
      throw failure;
    }
  }

  async open(name: string): Promise<OpenArtifact | null> {
    if (!isArtifactName(name)) return null;
    const path = this.#path(name);
    const found = findFile(path);
    if (found === null) return null;
    const { size: bytes } = found;
    return {
      bytes,
      modifiedAt: Math.floor(found.mtimeMs),
      read: (range) => this.#recent.read(path, bytes, range),
      lend: (range) => this.#recent.lend(path, bytes, range),
      link: null,
    };
  }

  async remove(name: string): Promise<void> {
    if (!isStoredName(name)) return;
    this.#recent.forget(this.#path(name));
    await unlink(this.#path(name)).catch(nullIfMissing);
  }

  async isPresent(): Promise<boolean> {
    return (await stat(join(this.#dir, UNFINISHED)).catch(nullIfMissing)) !== null;
  }

  async isReady(): Promise<boolean> {
    return (await diskProblem(join(this.#dir, UNFINISHED))) === null;
  }

  async *list(before: number): AsyncIterable<string[]> {
    for (const shard of await this.#listShards()) {
      const files = await this.#listShard(shard);
      const old = files.filter((file) => file.modifiedAt < before).map((file) => file.name);
      for (let at = 0; at < old.length; at += LIST_BATCH) yield old.slice(at, at + LIST_BATCH);
    }
  }

  async removeLeftovers(): Promise<number> {
    const leftovers = await readdir(join(this.#dir, UNFINISHED));
    for (const leftover of leftovers) await unlink(join(this.#dir, UNFINISHED, leftover)).catch(nullIfMissing);
    if (leftovers.length > 0)
      this.#log.warn({ count: leftovers.length }, 'removed incomplete artifacts of an earlier run');
    return leftovers.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Returns the path of a name that the caller has validated. */
  #path(name: string): string {
    return join(this.#dir, shardOf(name), name);
  }

  /** Creates a subdirectory, once per process; concurrent puts share the call. */
  #makeShard(shard: string): Promise<void> {
    const known = this.#shards.get(shard);
    if (known !== undefined) return known;
    const made = mkdir(join(this.#dir, shard), { recursive: true, mode: DIR_MODE }).then(() => syncPath(this.#dir));
    this.#shards.set(shard, made);
    made.catch(() => this.#shards.delete(shard));
    return made;
  }

  /** Removes the files that a failed put may have left, under either name. */
  async #discard(...paths: string[]): Promise<void> {
    for (const path of paths) {
      await unlink(path)
        .catch(nullIfMissing)
        .catch((error: unknown) => this.#log.warn({ err: error }, 'an incomplete artifact could not be removed'));
    }
  }

  async #listShards(): Promise<string[]> {
    const entries = await readdir(this.#dir);
    return entries.filter((entry) => SHARD_PATTERN.test(entry)).sort();
  }

  /** Omits files that are deleted in the meantime. */
  async #listShard(shard: string): Promise<{ name: string; bytes: number; modifiedAt: number }[]> {
    const entries = await readdir(join(this.#dir, shard));
    const files = [];
    for (const name of entries.filter(isStoredName)) {
      const found = await stat(join(this.#dir, shard, name)).catch(nullIfMissing);
      if (found?.isFile()) files.push({ name, bytes: found.size, modifiedAt: Math.floor(found.mtimeMs) });
    }
    return files;
  }
}

/** Finds a file synchronously, because an entry that is in memory takes far less time than a turn of the thread pool. */
function findFile(path: string): Stats | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found : null;
}

function nullIfMissing(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
  throw error;
}

/** Returns why the next picture cannot be stored in a directory; null if it can be. Never rejects. */
export async function diskProblem(dir: string): Promise<string | null> {
  try {
    await access(dir, constants.W_OK);
    return isFull(await statfs(dir)) ? DISK_FULL : null;
  } catch {
    return 'The data directory cannot be written to. `stillframe doctor` says what the operator has to do.';
  }
}

/** Whether a file system lacks space for the next picture, or has no more inodes. Those without a fixed number of inodes report 0 files. */
export function isFull({ bavail, bsize, files, ffree }: StatsFs): boolean {
  return bavail * bsize < ROOM_BYTES || (files > 0 && ffree === 0);
}
