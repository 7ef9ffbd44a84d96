import { pipeline } from 'node:stream';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { LentBytes, OpenArtifact } from '../artifacts/artifacts.js';
import { CaptureError } from '../contract/capture-error.js';
import { isUnchanged, type Validators } from './conditional.js';
import type { Edge, EdgeEnv } from './edge.js';
import { readRange } from './range.js';

const CONTENT_TYPES: Record<string, string> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  pdf: 'application/pdf',
};
/** Files may contain third-party content: nothing in them may run or load anything on this origin. The browser's own viewer needs styles. */
const SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

export interface NamedArtifact {
  name: string;
  artifact: OpenArtifact;
  cacheControl: string;
  /** Whether range and conditional requests are honoured. */
  conditional: boolean;
}

/** Media type of an artifact, or of a format, by its extension. */
export function contentTypeOf(nameOrFormat: string): string {
  return CONTENT_TYPES[nameOrFormat.slice(nameOrFormat.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
}

/**
 * Answers with an artifact's bytes: 200, 206, or 304.
 *
 * @throws CaptureError `invalid_request` (416)
 */
export function sendArtifact(edge: Edge, c: Context<EdgeEnv>, { name, artifact, cacheControl, conditional }: NamedArtifact): Response {
  const { headers } = c.var.exchange;
  // The file of a name never changes, so the name serves as ETag.
  const validators: Validators = { etag: `"${name}"`, modifiedAt: artifact.modifiedAt };
  headers.etag = validators.etag;
  headers['last-modified'] = new Date(artifact.modifiedAt).toUTCString();
  headers['cache-control'] = cacheControl;
  headers['content-security-policy'] = SANDBOX;
  headers['cross-origin-resource-policy'] = 'cross-origin';
  if (conditional) headers['accept-ranges'] = 'bytes';
  const asked = conditional ? c.env.incoming.headers : {};
  if (isUnchanged(asked, validators)) return new Response(null, { status: 304, headers });
  // Ranges are defined for GET only (RFC 9110, 14.2).
  const range = c.req.method === 'GET' ? readRange(asked, artifact.bytes, validators) : null;
  if (range === 'unsatisfiable') {
    headers['content-range'] = `bytes */${artifact.bytes}`;
    headers['cache-control'] = 'no-store';
    throw new CaptureError({
      code: 'invalid_request',
      status: 416,
      message: `The range is outside the ${artifact.bytes} bytes of the artifact.`,
    });
  }
  headers['content-type'] = contentTypeOf(name);
  headers['content-disposition'] = `inline; filename="${name}"`;
  headers['content-length'] = String(range === null ? artifact.bytes : range.end - range.start + 1);
  if (range !== null) headers['content-range'] = `bytes ${range.start}-${range.end}/${artifact.bytes}`;
  const status = range === null ? 200 : 206;
  if (c.req.method === 'HEAD' || artifact.bytes === 0) return new Response(null, { status, headers });
  const lent = artifact.lend(range ?? undefined);
  if (lent !== null) return sendLent(c, status, lent);
  return sendStream(edge, c, { status, stream: artifact.read(range ?? undefined) });
}

/** Sends bytes that are in memory directly to the socket. */
function sendLent(c: Context<EdgeEnv>, status: number, { content, release }: LentBytes): Response {
  const { outgoing } = c.env;
  // The client has left: there will be no `close` any more.
  if (outgoing.destroyed) release();
  else outgoing.once('close', release).writeHead(status, c.var.exchange.headers).end(content);
  return RESPONSE_ALREADY_SENT;
}

/** Streams directly to the socket, with back-pressure; closes the file when the client disconnects. */
function sendStream(edge: Edge, c: Context<EdgeEnv>, answer: { status: number; stream: NodeJS.ReadableStream }): Response {
  const { exchange } = c.var;
  const { outgoing } = c.env;
  outgoing.writeHead(answer.status, exchange.headers);
  pipeline(answer.stream, outgoing, (error) => {
    if (error === null || error === undefined || (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    edge.log.warn({ request_id: exchange.requestId, err: error }, 'artifact could not be sent completely');
  });
  return RESPONSE_ALREADY_SENT;
}
