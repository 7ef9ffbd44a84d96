import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';

/** Disk space for a large picture and its database records, in bytes. */
export const ROOM_BYTES = 4_000_000;

/** Returns whether a directory can be written to, and its disk has space for the next picture. Never rejects. */
export async function hasRoom(dir: string): Promise<boolean> {
  try {
    await access(dir, constants.W_OK);
    const { bavail, bsize } = await statfs(dir);
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}
