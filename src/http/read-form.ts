import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { NewPack, type PackSource } from '../artifacts/page-pack.js';
import { CaptureError } from '../contract/capture-error.js';
import { isObject } from '../contract/field-rules.js';
import { BODY_LIMIT_BYTES, PAGE_FILES_MAX, PAGE_FILES_MAX_BYTES } from '../contract/limits.js';
import {
  DECLARATION_BYTES,
  fileNameProblem,
  INDEX_FILE,
  type PageFile,
  type PageFilesOption,
  pageFilesProblem,
  pageTypeOf,
  withEncoding,
} from '../contract/page-files.js';
import { readRequestJson, refusedBody, sendAsFiles } from '../contract/request-json.js';
import { invalidField } from '../contract/submission.js';

/** A request with files. Disposal closes the pack, and is repeatable. */
export interface ReceivedForm<Body = unknown> extends AsyncDisposable {
  body: Body;
  /** null if the page itself has no files. */
  files: PageFilesOption | null;
  pack: PackSource;
}

/** The chunks of a stream of bytes. */
type Chunks = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Reads the parts of a form, in the order of arrival. */
export interface FormParts<Body> {
  /** @throws CaptureError `invalid_request` for a part that the form must not have */
  take(part: string | undefined, fileName: string | undefined, content: Readable): Promise<void>;
  /** Called once all parts are read. @throws CaptureError `invalid_request` if parts are missing */
  end(): Body | Promise<Body>;
}

/** Name of the part with the JSON, and of the parts with files. */
const REQUEST_PART = 'request';
const FILES_PART = 'files';
const THE_REQUEST = `The part \`${REQUEST_PART}\``;
/** Headers of one part: a name of the longest kind, percent-encoded, and some more. */
const PART_HEADER_MAX_BYTES = 4_096;
const PART_HEADERS_MAX = 16;
/** Parts of a form besides files. */
const FIELDS_MAX = 100;
/** The whole body: what the parts may have, and what separates them. */
const FORM_MAX_BYTES = PAGE_FILES_MAX_BYTES + BODY_LIMIT_BYTES + (PAGE_FILES_MAX + FIELDS_MAX) * PART_HEADER_MAX_BYTES;
const PART_BYTES = 1024 * 1024;
/** Part of an unknown name that an error repeats. */
const NAME_SHOWN_CHARS = 60;

export function isForm({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return /^multipart\/form-data(;|$)/i.test(headers['content-type'] ?? '');
}

/**
 * Reads a form, whose files go to a file, never into memory.
 * @param dir for that file
 * @param partsFor what reads the parts
 * @throws CaptureError `invalid_request`; `internal_error` (503) for a full disk
 */
export async function readForm<Body>(
  incoming: IncomingMessage,
  dir: string,
  partsFor: (files: PackedFiles) => FormParts<Body>,
): Promise<ReceivedForm<Body>> {
  return await packFiles(dir, async (files) => {
    const parts = partsFor(files);
    await readParts(incoming, parts, { tooLarge: () => tooLarge() });
    return await parts.end();
  });
}

/**
 * A request whose files `add` packs.
 * @throws CaptureError as `PackedFiles`
 */
export async function packFiles<Body>(
  dir: string,
  add: (files: PackedFiles) => Promise<Body>,
): Promise<ReceivedForm<Body>> {
  const pack = await NewPack.open(dir);
  const dispose = () => pack[Symbol.asyncDispose]();
  try {
    const packed = new PackedFiles(pack);
    const body = await add(packed);
    const files = packed.list.length === 0 ? null : { pack: null, key: pack.key, list: packed.list };
    return { body, files, pack, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** The form of the API: a part `request` with JSON, and files. */
export class RequestParts implements FormParts<unknown> {
  #request: Buffer | null = null;

  constructor(private readonly files: PackedFiles) {}

  async take(part: string | undefined, fileName: string | undefined, content: Readable): Promise<void> {
    if (part === REQUEST_PART) return await this.#takeRequest(content);
    if (part !== FILES_PART) {
      const excerpt = (part ?? '').slice(0, NAME_SHOWN_CHARS);
      throw refusedBody(`Unknown part \`${excerpt}\`. Known parts: \`${REQUEST_PART}\`, \`${FILES_PART}\`.`);
    }
    await this.files.add(fileName ?? '', content);
  }

  /** @returns the value of the part `request`; an empty object without one */
  end(): unknown {
    const problem = pageFilesProblem(this.files.list.map(({ name }) => name));
    if (problem !== null) throw refusedBody(problem);
    if (this.#request === null) return {};
    const request = readRequestJson(this.#request, BODY_LIMIT_BYTES, THE_REQUEST);
    if (!isObject(request)) throw refusedBody(`${THE_REQUEST} must be a JSON object.`);
    return request;
  }

  async #takeRequest(content: Readable): Promise<void> {
    if (this.#request !== null) throw refusedBody(`There is more than one part \`${REQUEST_PART}\`.`);
    this.#request = await readPart(content, BODY_LIMIT_BYTES);
    if (this.#request === null) throw sendAsFiles(THE_REQUEST);
  }
}

/** @returns null if the content is larger */
export async function readPart(content: Chunks, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The page's files. */
export class PackedFiles {
  readonly list: PageFile[] = [];
  readonly #names = new Set<string>();

  constructor(private readonly pack: NewPack) {}

  /** @throws CaptureError `invalid_request` for a name that is no relative path, or that another file has; for too many or too large files */
  async add(name: string, content: Chunks): Promise<void> {
    const problem = fileNameProblem(name) ?? (this.#names.has(name) ? 'must not have the name of another file' : null);
    if (problem !== null) throw invalidField(`files.${this.list.length}`, problem);
    if (this.list.length === PAGE_FILES_MAX) throw refusedBody(`There are more than ${PAGE_FILES_MAX} files.`);
    this.#names.add(name);
    const type = pageTypeOf(name) ?? 'application/octet-stream';
    const text = type.startsWith('text/') ? new TextCheck() : null;
    const place = await this.#store(content, text);
    this.list.push({ name, type: text === null ? type : withEncoding(type, text.end()), ...place });
  }

  /** Adds a document in UTF-8, whatever encoding it declares. */
  async addDocument(html: Uint8Array): Promise<void> {
    this.list.push({ name: INDEX_FILE, type: 'text/html; charset=utf-8', ...(await this.#store(partsOf(html), null)) });
  }

  /** The content of all files. @throws CaptureError `invalid_request` if it is larger */
  async content(maxBytes: number): Promise<Buffer> {
    const content = await readPart(this.pack.bytes > maxBytes ? [] : this.pack.content(), maxBytes);
    if (content === null || this.pack.bytes > maxBytes) throw tooLarge(maxBytes);
    return content;
  }

  async #store(content: Chunks, text: TextCheck | null): Promise<Pick<PageFile, 'at' | 'bytes' | 'sha256'>> {
    const at = this.pack.bytes;
    const hash = createHash('sha256');
    for await (const chunk of content) {
      if (this.pack.bytes + chunk.length > PAGE_FILES_MAX_BYTES) throw tooLarge();
      hash.update(chunk);
      text?.add(chunk);
      await this.pack.write(chunk);
    }
    return { at, bytes: this.pack.bytes - at, sha256: hash.digest('hex') };
  }
}

/** A large document at once would hold up other requests. */
function* partsOf(bytes: Uint8Array): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PART_BYTES)
    yield Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(PART_BYTES, bytes.length - at));
}

/** Determines the charset of a text without keeping the text in memory. */
class TextCheck {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #start = Buffer.alloc(0);
  #isUtf8 = true;

  add(chunk: Buffer): void {
    if (this.#start.length < DECLARATION_BYTES)
      this.#start = Buffer.concat([this.#start, chunk.subarray(0, DECLARATION_BYTES)]);
    this.#decode(chunk);
  }

  end(): { start: Buffer; isUtf8: boolean } {
    this.#decode();
    return { start: this.#start, isUtf8: this.#isUtf8 };
  }

  #decode(chunk?: Buffer): void {
    if (!this.#isUtf8) return;
    try {
      this.#decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      this.#isUtf8 = false;
    }
  }
}

function tooLarge(maxBytes = PAGE_FILES_MAX_BYTES): CaptureError {
  return refusedBody(`The files are larger than ${maxBytes} bytes together.`);
}

/**
 * Gives the parts of a body to `parts`, one after the other.
 * @param limits.tooLarge the error for a larger body
 * @throws CaptureError `invalid_request`
 */
export async function readParts(
  incoming: IncomingMessage,
  parts: Pick<FormParts<unknown>, 'take'>,
  { maxBytes = FORM_MAX_BYTES, tooLarge }: { maxBytes?: number; tooLarge: () => CaptureError },
): Promise<void> {
  const { Busboy } = await import('@fastify/busboy');
  const limits = {
    headerPairs: PART_HEADERS_MAX,
    headerSize: PART_HEADER_MAX_BYTES,
    parts: PAGE_FILES_MAX + FIELDS_MAX,
  };
  let form: InstanceType<typeof Busboy>;
  try {
    const headers = { ...incoming.headers, 'content-type': incoming.headers['content-type'] ?? '' };
    form = new Busboy({ headers, isPartAFile: () => true, preservePath: true, limits });
  } catch {
    throw malformed();
  }
  const stop = new AbortController();
  const open = new Set<Readable>();
  const fail = (error: unknown): void => {
    stop.abort(error instanceof CaptureError ? error : malformed());
    // Nothing more comes for them, so whoever reads them would wait for ever.
    for (const content of open) content.destroy();
  };
  let taken: Promise<void> = Promise.resolve();
  form.on('file', (part, content, fileName) => {
    content.on('error', fail);
    open.add(content);
    content.once('close', () => open.delete(content));
    taken = taken.then(() => (stop.signal.aborted ? undefined : parts.take(part, fileName, content))).catch(fail);
  });
  form.on('partsLimit', () =>
    fail(refusedBody(`There are more than ${PAGE_FILES_MAX} files and ${FIELDS_MAX} fields.`)),
  );
  form.on('error', fail);
  const finished = once(form, 'finish', { signal: stop.signal });
  finished.catch(() => undefined);
  try {
    let bytes = 0;
    // The rest is left to the server, which discards it, so that the client can read the response.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw tooLarge();
      if (!form.write(chunk)) await once(form, 'drain', { signal: stop.signal });
      stop.signal.throwIfAborted();
    }
    form.end();
    await finished;
    await taken;
    stop.signal.throwIfAborted();
  } catch (thrown) {
    fail(thrown);
    form.destroy();
    await taken;
    throw stop.signal.reason;
  }
}

function malformed(): CaptureError {
  return refusedBody('The body is incomplete, or no valid multipart/form-data.');
}
