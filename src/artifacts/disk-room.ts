import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';

/** Room for a large picture and its database records. */
export const ROOM_BYTES = 4_000_000;

/** Whether a directory can be written to, and its disk has room for the next picture. Never rejects. */
export async function hasRoom(dir: string): Promise<boolean> {
  try {
    await access(dir, constants.W_OK);
    const { bavail, bsize } = await statfs(dir);
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}
