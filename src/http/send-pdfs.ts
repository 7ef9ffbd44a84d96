import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { NewPack } from '../artifacts/page-pack.js';
import type { AppEnv, AppServices } from './app-services.js';
import { dispositionOf, sendStream } from './send-artifact.js';

export interface NamedFile {
  name: string;
  content: Buffer;
  /** As `crc32` of node:zlib. */
  checksum: number;
}

const CHUNK_BYTES = 1024 * 1024;

/**
 * Answers with a file, or with several as a zip file. They are written to the disk, so that slow clients take no memory.
 * @param archive name of the zip file, without its extension
 */
export async function sendPdfs(
  services: AppServices,
  c: Context<AppEnv>,
  { files, archive }: { files: readonly NamedFile[]; archive: string },
): Promise<Response> {
  const [first] = files;
  if (first === undefined) throw new Error('There is no PDF to send.');
  const isZip = files.length > 1;
  const pack = await NewPack.open(services.uploads.dir);
  try {
    for (const part of isZip ? zip(files) : [first.content])
      for (let at = 0; at < part.length; at += CHUNK_BYTES) await pack.write(part.subarray(at, at + CHUNK_BYTES));
  } catch (error) {
    await pack[Symbol.asyncDispose]();
    throw error;
  }
  Object.assign(c.var.exchange.headers, {
    'content-type': isZip ? 'application/zip' : 'application/pdf',
    'content-disposition': isZip
      ? dispositionOf(archive, 'zip')
      : dispositionOf(first.name.replace(/\.pdf$/i, ''), 'pdf'),
    'content-length': String(pack.bytes),
  });
  const stream = Readable.from(pack.content());
  stream.once('close', () => void pack[Symbol.asyncDispose]());
  return sendStream(services, c, { status: 200, stream });
}

/** Each name once: the results of one file get numbers, as `report-1.pdf`. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((name) => {
    const base = name.replace(/\.pdf$/i, '');
    let unique = (counts.get(name) ?? 0) > 1 ? `${base}-1.pdf` : `${base}.pdf`;
    for (let nth = 2; taken.has(unique); nth++) unique = `${base}-${nth}.pdf`;
    taken.add(unique);
    return unique;
  });
}

/** Names are UTF-8 (bit 11). */
const FLAGS = 0x0800;
const VERSION = 20;
/** 1 January 1980. */
const DATE = 0x21;

/** A zip file without compression, which PDFs have themselves. All of it is below 4 GB (APPNOTE 6.3.10). */
function* zip(files: readonly NamedFile[]): Generator<Buffer> {
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, content, checksum } of files) {
    const encoded = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(FLAGS, 2);
    common.writeUInt16LE(DATE, 8);
    common.writeUInt32LE(checksum, 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(encoded.length, 22);
    const entry = Buffer.alloc(46);
    entry.write('PK\x01\x02', 'latin1');
    entry.writeUInt16LE(VERSION, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(at, 42);
    directory.push(entry, encoded);
    const head = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, encoded]);
    yield head;
    yield content;
    at += head.length + content.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(at, 16);
  yield entries;
  yield end;
}
