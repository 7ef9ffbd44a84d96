import { Readable } from 'node:stream';
import type { Context } from 'hono';
import { NewPack } from '../artifacts/page-pack.js';
import type { AppEnv, AppServices } from './app-services.js';
import { dispositionOf, sendStream } from './send-artifact.js';
import { type ZippedFile, zipOf } from './zip.js';

export interface NamedFile {
  name: string;
  content: Buffer;
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
    const content = isZip ? zipOf(files.map(toZipped)) : chunksOf(first.content);
    for await (const chunk of content) await pack.write(chunk);
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

function toZipped({ name, content }: NamedFile): ZippedFile {
  return { name, bytes: content.length, read: () => Readable.from(chunksOf(content), { objectMode: false }) };
}

function* chunksOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += CHUNK_BYTES) yield content.subarray(at, at + CHUNK_BYTES);
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
