import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

export interface ZippedFile {
  name: string;
  bytes: number;
  read(): Readable;
}

/** 1 January 1980, where a file has no time of its own. */
const NO_TIME = new Date(1980, 0, 1);

/** Pictures and PDFs are compressed themselves. Java's ZipInputStream reads no stream of files without any compression. */
const COMPRESSION_LEVEL = 1;

/** A zip file. Each of its files is opened once the one before has been read, and closed when the stream is. */
export function zipOf(files: readonly ZippedFile[]): Readable {
  const zip = new ZipFile();
  const zipped = Readable.from(zip.outputStream, { objectMode: false });
  let open: Readable | null = null;
  for (const { name, bytes, read } of files) {
    zip.addReadStreamLazy(name, { compressionLevel: COMPRESSION_LEVEL, size: bytes, mtime: NO_TIME }, (add) => {
      open = read();
      open.once('error', (error) => zipped.destroy(error));
      add(null, open);
    });
  }
  zip.once('error', (error) => zipped.destroy(error));
  zipped.once('close', () => open?.destroy());
  zip.end();
  return zipped;
}
