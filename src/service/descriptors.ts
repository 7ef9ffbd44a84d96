import { readdir, readFile } from 'node:fs/promises';

/** The file descriptors of this process; undefined where the system does not tell (it does on Linux). */
export async function readDescriptors(): Promise<{ open: number; limit: number } | undefined> {
  try {
    const [open, limits] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/limits', 'latin1')]);
    const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN);
    return Number.isNaN(limit) ? undefined : { open: open.length, limit };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
