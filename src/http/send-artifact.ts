import { pipeline, type Readable } from 'node:stream';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { type ByteRange, type LentBytes, LINK_SECONDS, type OpenArtifact } from '../artifacts/artifacts.js';
import { CaptureError } from '../contract/capture-error.js';
import { contentTypeOf } from '../contract/content-type.js';
import type { AppEnv, AppServices } from './app-services.js';
import { isUnchanged, type Validators } from './conditional.js';
import { readRange } from './range.js';

/** Files may contain third-party content: nothing in them may run or load anything on this origin. The browser's own viewer needs styles. */
const SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

export interface NamedArtifact {
  name: string;
  artifact: OpenArtifact;
  cacheControl: string;
  /** Whether range and conditional requests are honoured. */
  conditional: boolean;
  /** Whether the client may be sent to the storage. */
  mayRedirect: boolean;
}

/**
 * Answers with an artifact's bytes: 200, 206, or 304. A GET is sent to the storage instead (302), if `mayRedirect` and the artifact has a
 * link.
 *
 * @throws CaptureError `invalid_request` (416), `internal_error` (503) if the storage cannot be reached
 */
export async function sendArtifact(services: AppServices, c: Context<AppEnv>, wanted: NamedArtifact): Promise<Response> {
  const { name, artifact, conditional } = wanted;
  const { headers } = c.var.exchange;
  // The file of a name never changes, so the name serves as ETag.
  const validators: Validators = { etag: `"${name}"`, modifiedAt: artifact.modifiedAt };
  const asked = conditional ? c.env.incoming.headers : {};
  const isGet = c.req.method === 'GET';
  if (isUnchanged(asked, validators)) {
    Object.assign(headers, commonHeaders(wanted, validators));
    return new Response(null, { status: 304, headers });
  }
  if (isGet && wanted.mayRedirect && artifact.link !== null) return redirect(c, wanted, artifact.link);
  // Ranges are defined for GET only (RFC 9110, 14.2).
  const range = isGet ? readRange(asked, artifact.bytes, validators) : null;
  if (range === 'unsatisfiable') {
    Object.assign(headers, commonHeaders(wanted, validators), {
      'content-range': `bytes */${artifact.bytes}`,
      'cache-control': 'no-store',
    });
    throw new CaptureError({
      code: 'invalid_request',
      status: 416,
      message: `The range is outside the ${artifact.bytes} bytes of the artifact.`,
    });
  }
  const part = range ?? undefined;
  const hasBody = c.req.method !== 'HEAD' && artifact.bytes > 0;
  const lent = hasBody ? artifact.lend(part) : null;
  // Before the headers: a storage that cannot be reached is an error response without them.
  const stream = hasBody && lent === null ? await artifact.read(part) : null;
  Object.assign(headers, commonHeaders(wanted, validators), contentHeaders(wanted, range));
  const status = range === null ? 200 : 206;
  if (lent !== null) return sendLent(c, status, lent);
  return stream === null ? new Response(null, { status, headers }) : sendStream(services, c, { status, stream });
}

function commonHeaders({ cacheControl, conditional }: NamedArtifact, { etag, modifiedAt }: Validators): Record<string, string> {
  return {
    etag,
    'last-modified': new Date(modifiedAt).toUTCString(),
    'cache-control': cacheControl,
    'content-security-policy': SANDBOX,
    'cross-origin-resource-policy': 'cross-origin',
    ...(conditional ? { 'accept-ranges': 'bytes' } : {}),
  };
}

function contentHeaders({ name, artifact: { bytes } }: NamedArtifact, range: ByteRange | null): Record<string, string> {
  return {
    'content-type': contentTypeOf(name),
    'content-disposition': dispositionOf(name),
    'content-length': String(range === null ? bytes : range.end - range.start + 1),
    ...(range === null ? {} : { 'content-range': `bytes ${range.start}-${range.end}/${bytes}` }),
  };
}

function dispositionOf(name: string): string {
  return `inline; filename="${name}"`;
}

/** The redirect may be reused for a part of the time that the link is valid. */
async function redirect(
  c: Context<AppEnv>,
  { name, cacheControl }: NamedArtifact,
  link: NonNullable<OpenArtifact['link']>,
): Promise<Response> {
  const { headers } = c.var.exchange;
  headers.location = await link({ contentType: contentTypeOf(name), contentDisposition: dispositionOf(name), cacheControl });
  headers['cache-control'] = `private, max-age=${Math.floor(LINK_SECONDS / 5)}`;
  headers['cross-origin-resource-policy'] = 'cross-origin';
  return new Response(null, { status: 302, headers });
}

/** Sends bytes that are in memory directly to the socket. */
function sendLent(c: Context<AppEnv>, status: number, { content, release }: LentBytes): Response {
  const { outgoing } = c.env;
  // The client has left: there will be no `close` any more.
  if (outgoing.destroyed) release();
  else outgoing.once('close', release).writeHead(status, c.var.exchange.headers).end(content);
  return RESPONSE_ALREADY_SENT;
}

/** Streams directly to the socket, with back-pressure; closes the file when the client disconnects. */
function sendStream(services: AppServices, c: Context<AppEnv>, answer: { status: number; stream: Readable }): Response {
  const { exchange } = c.var;
  const { outgoing } = c.env;
  if (outgoing.destroyed) {
    // A pipeline to a closed response throws in Node 24, and leaves the file open.
    answer.stream.destroy();
    return RESPONSE_ALREADY_SENT;
  }
  outgoing.writeHead(answer.status, exchange.headers);
  pipeline(answer.stream, outgoing, (error) => {
    if (error === null || error === undefined || (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    services.log.warn({ request_id: exchange.requestId, err: error }, 'artifact could not be sent completely');
  });
  return RESPONSE_ALREADY_SENT;
}
