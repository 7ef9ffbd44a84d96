import type { IncomingHttpHeaders } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import fresh from 'fresh';
import type { Context } from 'hono';
import { type ByteRange, LINK_SECONDS, type OpenArtifact } from '../artifacts/artifacts.js';
import { pictureDeleted } from '../capture/open-picture.js';
import { type CaptureData, contentTypeOf } from '../contract/capture-data.js';
import { CaptureError, notFound } from '../contract/capture-error.js';
import type { AppEnv, AppServices } from './app-services.js';

/** Files may contain third-party content: nothing in them may run or load anything on this origin. The browser's own viewer needs styles. */
const SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'";
/** The names of stored pictures, videos, PDFs and texts. */
export const ARTIFACT_NAME = /^[A-Za-z0-9_-]{32,128}\.(png|jpeg|jpg|webp|avif|bmp|gif|mp4|pdf|txt)$/;

export interface NamedArtifact {
  name: string;
  artifact: OpenArtifact;
  cacheControl: string;
  /** Whether range and conditional requests are honored. */
  conditional: boolean;
  /** Whether the client may be sent to the storage. */
  mayRedirect: boolean;
  /** The header `Content-Disposition`. Default: inline, with the name of the artifact. */
  disposition?: string;
  /** Default: that of its name. */
  contentType?: string;
}

/** @throws CaptureError `invalid_request` (404, or 410 for one that has been deleted) */
export async function openArtifact(services: AppServices, name: string): Promise<OpenArtifact> {
  const artifact = ARTIFACT_NAME.test(name) ? await services.openPicture(name) : null;
  if (artifact === null) throw notFound('No such artifact');
  if (artifact === 'deleted') throw pictureDeleted();
  return artifact;
}

/** The file of a capture. @throws CaptureError `invalid_request` (410) if it has been deleted */
export async function openPictureOf(services: AppServices, data: CaptureData): Promise<OpenArtifact> {
  const artifact = await services.openPicture(data.artifact);
  if (artifact === null || artifact === 'deleted') throw pictureDeleted();
  return artifact;
}

/** The headers of a picture, as the OpenAPI document describes them. */
export const PICTURE_HEADERS = {
  etag: 'of a picture',
  'x-width': 'of a picture: output px',
  'x-height': 'of a picture: output px',
  'x-cached': 'of a picture: whether it comes from the cache',
};

/**
 * Answers with the picture itself (extensions.md, Answers).
 *
 * @throws CaptureError as `openArtifact` and `sendArtifact`
 */
export async function answerPicture(
  services: AppServices,
  c: Context<AppEnv>,
  {
    data,
    artifact,
    ...options
  }: { data: CaptureData; artifact?: OpenArtifact } & Pick<
    NamedArtifact,
    'cacheControl' | 'conditional' | 'disposition' | 'contentType'
  >,
): Promise<Response> {
  const opened = artifact ?? (await openPictureOf(services, data));
  const { headers } = c.var.exchange;
  headers['x-width'] = String(data.width);
  headers['x-height'] = String(data.height);
  headers['x-cached'] = String(data.cached);
  return await sendArtifact(services, c, { name: data.artifact, artifact: opened, mayRedirect: false, ...options });
}

/**
 * Answers with an artifact's bytes: 200, 206, or 304. A GET is sent to the storage instead (302), if `mayRedirect` and the artifact has a
 * link.
 *
 * @throws CaptureError `invalid_request` (416), `internal_error` (503) if the storage cannot be reached
 */
export async function sendArtifact(
  services: AppServices,
  c: Context<AppEnv>,
  wanted: NamedArtifact,
): Promise<Response> {
  const { name, artifact, cacheControl, conditional } = wanted;
  const { headers } = c.var.exchange;
  const { incoming, outgoing } = c.env;
  const isGet = c.req.method === 'GET';
  // The file of a name never changes, so the name serves as ETag.
  const validators: Validators = { etag: `"${name}"`, 'last-modified': new Date(artifact.modifiedAt).toUTCString() };
  const common = {
    ...validators,
    'cache-control': cacheControl,
    'content-security-policy': SANDBOX,
    'cross-origin-resource-policy': 'cross-origin',
    ...(conditional ? { 'accept-ranges': 'bytes' } : {}),
  };
  const answer = (status: number, more: Record<string, string>) =>
    new Response(null, { status, headers: Object.assign(headers, more) });
  if (conditional && isUnchanged(incoming.headers, validators)) return answer(304, common);
  const { disposition = `inline; filename="${name}"`, contentType = contentTypeOf(name) } = wanted;
  const content = { 'content-type': contentType, 'content-disposition': disposition };
  if (isGet && wanted.mayRedirect && artifact.link !== null) {
    return answer(302, {
      location: await artifact.link({
        contentType: content['content-type'],
        contentDisposition: content['content-disposition'],
        cacheControl,
      }),
      // It may be reused for a part of the time that the link is valid.
      'cache-control': `private, max-age=${Math.floor(LINK_SECONDS / 5)}`,
      'cross-origin-resource-policy': 'cross-origin',
    });
  }
  const { bytes } = artifact;
  // Ranges are defined for GET only (RFC 9110, 14.2).
  const range = isGet && conditional ? readRange(incoming.headers, bytes, validators) : null;
  if (range === 'unsatisfiable') {
    Object.assign(headers, common, { 'content-range': `bytes */${bytes}`, 'cache-control': 'no-store' });
    throw new CaptureError({
      code: 'invalid_request',
      status: 416,
      message: `The range is outside the ${bytes} bytes of the artifact.`,
    });
  }
  const part = range ?? undefined;
  const hasBody = c.req.method !== 'HEAD' && bytes > 0;
  const lent = hasBody ? artifact.lend(part) : null;
  // Before the headers: a storage that cannot be reached is an error response without them.
  const stream = hasBody && lent === null ? await artifact.read(part) : null;
  const status = range === null ? 200 : 206;
  const all = Object.assign(headers, common, content, {
    'content-length': String(range === null ? bytes : range.end - range.start + 1),
    ...(range === null ? {} : { 'content-range': `bytes ${range.start}-${range.end}/${bytes}` }),
  });
  if (lent !== null) {
    // If the client has left, there will be no `close` any more.
    if (outgoing.destroyed) lent.release();
    else outgoing.once('close', lent.release).writeHead(status, all).end(lent.content);
    return RESPONSE_ALREADY_SENT;
  }
  return stream === null ? answer(status, {}) : sendStream(services, c, { status, stream });
}

/** The header `Content-Disposition` (RFC 6266). */
export function dispositionOf(name: string, extension: string): string {
  const file = `${name}.${extension}`;
  const plain = file.replace(/[^\x20-\x7e]|["\\]/g, '_');
  const encoded = encodeURIComponent(file).replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"${plain === file ? '' : `; filename*=UTF-8''${encoded}`}`;
}

/** Streams directly to the socket, with back-pressure; closes the file when the client disconnects. */
export function sendStream(
  services: AppServices,
  c: Context<AppEnv>,
  answer: { status: number; stream: Readable },
): Response {
  const { exchange } = c.var;
  const { outgoing } = c.env;
  if (outgoing.destroyed) {
    // A pipeline to a closed response throws since Node 23 (nodejs/node#53241), and leaves the file open.
    answer.stream.destroy();
    return RESPONSE_ALREADY_SENT;
  }
  outgoing.writeHead(answer.status, exchange.headers);
  pipeline(answer.stream, outgoing, (error) => {
    if (error === null || error === undefined || (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE')
      return;
    services.log.warn({ request_id: exchange.requestId, err: error }, 'artifact could not be sent completely');
  });
  return RESPONSE_ALREADY_SENT;
}

interface Validators {
  /** Strong, with its quotes. */
  etag: string;
  'last-modified': string;
}

/** Whether the client's copy is current (RFC 9110, 13.1.2 and 13.1.3): `If-None-Match` takes precedence over `If-Modified-Since`. */
function isUnchanged(headers: IncomingHttpHeaders, validators: Validators): boolean {
  // It gets these headers only, since `Cache-Control: no-cache` of a request would make it answer no.
  const conditions = { 'if-none-match': headers['if-none-match'], 'if-modified-since': headers['if-modified-since'] };
  return fresh(conditions, { ...validators });
}

/**
 * The range that a request asks for (RFC 9110, 14.2). The package `range-parser` takes a suffix that is longer than the file, and a range
 * that ends before it begins, for unsatisfiable.
 *
 * @returns null for the whole file: no range, several ranges, or a malformed one, which servers may ignore
 */
function readRange(
  headers: IncomingHttpHeaders,
  bytes: number,
  validators: Validators,
): ByteRange | 'unsatisfiable' | null {
  const [, first, last] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(headers.range ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return null;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return null;
  // Strong comparison, or the same date (RFC 9110, 13.1.5).
  const condition = headers['if-range'];
  if (condition !== undefined && condition !== validators.etag && condition !== validators['last-modified'])
    return null;
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  if (start >= bytes) return 'unsatisfiable';
  return { start, end: first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1) };
}
