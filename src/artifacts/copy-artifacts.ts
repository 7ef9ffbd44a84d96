import { constants } from 'node:fs';
import { copyFile, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isArtifactName, shardOf } from './artifact-name.js';
import { syncPath } from './write-synced.js';

export interface Copied {
  copied: number;
  /** Number of files that retention deleted during the copy. */
  missing: number;
}

/**
 * Copies artifacts durably into a new directory with the same layout, which can replace the original.
 * @throws Error if a file has the wrong size, or the target exists
 */
export async function copyArtifacts(
  from: string,
  to: string,
  wanted: readonly { name: string; bytes: number }[],
): Promise<Copied> {
  await mkdir(to, { mode: 0o700 });
  const shards = new Set<string>();
  let copied = 0;
  for (const { name, bytes } of wanted.filter((artifact) => isArtifactName(artifact.name))) {
    const shard = shardOf(name);
    if (!shards.has(shard)) await mkdir(join(to, shard), { mode: 0o700 });
    shards.add(shard);
    if (await copyOne(join(from, shard, name), join(to, shard, name), bytes)) copied++;
  }
  for (const shard of shards) await syncPath(join(to, shard));
  await syncPath(to);
  return { copied, missing: wanted.length - copied };
}

/** @returns false if the file is missing */
async function copyOne(from: string, to: string, bytes: number): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  const { size } = await stat(to);
  if (size !== bytes) throw new Error(`${from} is damaged: it has ${size} bytes instead of ${bytes}`);
  await syncPath(to);
  return true;
}
