import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';

/** Small enough that hashing one chunk does not block the event loop. */
const WRITE_CHUNK_BYTES = 1024 * 1024;
const FILE_MODE = 0o600;

/**
 * Writes a new file, readable by this user only. The content is on disk when it resolves.
 * @returns the SHA-256 in hex
 */
export async function writeSynced(path: string, content: Uint8Array | Readable): Promise<string> {
  const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, FILE_MODE);
  try {
    const hash = createHash('sha256');
    for await (const chunk of content instanceof Uint8Array ? chunksOf(content) : (content as AsyncIterable<Buffer>)) {
      const written = writeWhole(file, chunk);
      hash.update(chunk);
      await written;
    }
    await file.sync();
    return hash.digest('hex');
  } finally {
    await file.close();
  }
}

function* chunksOf(content: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < content.byteLength; at += WRITE_CHUNK_BYTES) yield content.subarray(at, at + WRITE_CHUNK_BYTES);
}

/** Makes the content of a file, or the entries of a directory, durable. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Writes all bytes, since a single write may be incomplete, for example on a nearly full disk. */
async function writeWhole(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.byteLength; ) {
    const { bytesWritten } = await file.write(chunk, at);
    at += bytesWritten;
  }
}
