import type { Readable } from 'node:stream';
import type { Context } from 'hono';
import { NewPack } from '../artifacts/page-pack.js';
import type { FoundPdf } from '../capture/work-on-pdfs.js';
import { PDF_FILES_MAX, PDF_FILES_MAX_BYTES } from '../contract/limits.js';
import { refusedBody } from '../contract/request-json.js';
import type { AppEnv, AppServices } from './app-services.js';
import { clientOf } from './exchange.js';
import { principalOf } from './guard.js';
import { type FormParts, readParts } from './read-form.js';

/** A request with PDFs. Disposal closes their file. */
export interface ReceivedPdfs<Body> extends AsyncDisposable {
  body: Body;
}

/** Fields and the heads of parts. */
const REST_MAX_BYTES = 2_000_000;

/** The files of a request, which are kept encrypted in a file without a name. */
export class ReceivedFiles {
  readonly list: FoundPdf[] = [];

  constructor(private readonly pack: NewPack) {}

  /** @throws CaptureError `invalid_request` for too many or too large files; `internal_error` (503) for a full disk */
  async add(name: string, content: Readable): Promise<FoundPdf> {
    const { pack } = this;
    if (this.list.length === PDF_FILES_MAX) throw refusedBody(`There are more than ${PDF_FILES_MAX} files.`);
    const at = pack.bytes;
    for await (const chunk of content as AsyncIterable<Buffer>) {
      if (pack.bytes + chunk.length > PDF_FILES_MAX_BYTES) throw tooLarge();
      await pack.write(chunk);
    }
    const bytes = pack.bytes - at;
    const file = { name, bytes, read: () => pack.content(at, bytes) };
    this.list.push(file);
    return file;
  }
}

/**
 * Reads a form with PDFs, of which no more than a chunk is in memory.
 * @throws CaptureError `invalid_request`; `internal_error` (503) for a full disk
 */
export async function receivePdfs<Body>(
  services: AppServices,
  c: Context<AppEnv>,
  partsFor: (files: ReceivedFiles) => FormParts<Body>,
): Promise<ReceivedPdfs<Body>> {
  const place = await services.pdfs.enter(principalOf(c).accountId, clientOf(c));
  const pack = await NewPack.open(services.uploads.dir).catch((error: unknown) => {
    place[Symbol.dispose]();
    throw error;
  });
  const dispose = async () => {
    place[Symbol.dispose]();
    await pack[Symbol.asyncDispose]();
  };
  try {
    const parts = partsFor(new ReceivedFiles(pack));
    await readParts(c.env.incoming, parts, { maxBytes: PDF_FILES_MAX_BYTES + REST_MAX_BYTES, tooLarge });
    return { body: await parts.end(), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function tooLarge() {
  return refusedBody(`The files are larger than ${PDF_FILES_MAX_BYTES} bytes together.`);
}
