import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';

export interface ArchivedFile {
  /** Relative, with slashes. */
  path: string;
  /** Bytes. */
  size: number;
  sha256: string;
}

export interface ArchiveIndex {
  version: string;
  files: ArchivedFile[];
}

/** Many files as two pieces: what they are, which is read at each start, and their bytes, which are read once. */
export interface Archive {
  index: string;
  /** The files' bytes one after the other, compressed with gzip. */
  content: Uint8Array;
}

export function pack(version: string, files: readonly { path: string; content: Buffer }[]): Archive {
  const described = files.map(({ path, content }) => ({ path, size: content.length, sha256: digestOf(content) }));
  const index: ArchiveIndex = { version, files: described };
  return {
    index: JSON.stringify(index),
    content: gzipSync(Buffer.concat(files.map(({ content }) => content)), { level: 9 }),
  };
}

/** Each file with its bytes. @throws Error when the bytes are not those of the index */
export function* entriesOf(archive: Archive): Generator<{ path: string; content: Buffer }> {
  const content = gunzipSync(archive.content);
  let at = 0;
  for (const { path, size, sha256 } of readIndex(archive.index).files) {
    const bytes = content.subarray(at, at + size);
    if (digestOf(bytes) !== sha256) throw new Error(`the executable is damaged: ${path} in it is not what was packed`);
    yield { path, content: bytes };
    at += size;
  }
}

export function readIndex(index: string): ArchiveIndex {
  return JSON.parse(index) as ArchiveIndex;
}

export function digestOf(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}
