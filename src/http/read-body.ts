import type { IncomingMessage } from 'node:http';
import { CaptureError } from '../contract/capture-error.js';
import { BODY_LIMIT_BYTES } from '../contract/limits.js';
import { bodyTooLarge, readRequestJson, refusedBody } from '../contract/request-json.js';

/**
 * The JSON value of a request's body, with the rules of request-json.ts.
 *
 * @param tooLarge the error for a larger body
 * @throws CaptureError `invalid_request`, for other content types too (decisions.md, Envelope: no 413, no 415)
 */
export async function readJson(incoming: IncomingMessage, tooLarge = () => bodyTooLarge()): Promise<unknown> {
  requireJson(incoming);
  return readRequestJson(await readBytes(incoming, BODY_LIMIT_BYTES, tooLarge));
}

/** @throws CaptureError `invalid_request` for a body that is not plain JSON in UTF-8 by its headers */
export function requireJson({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  if (type.trim() !== 'application/json') throw refusedBody('The content type must be application/json.');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))
    throw refusedBody('The charset of the body must be UTF-8.');
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity')
    throw refusedBody('The body must not be compressed: leave Content-Encoding out.');
}

/**
 * The body of a request. Counts the bytes received, whatever Content-Length says, and stops reading at the limit.
 *
 * @param tooLarge the error for a larger body
 */
export async function readBytes(
  incoming: IncomingMessage,
  limit: number,
  tooLarge: () => CaptureError,
): Promise<Buffer> {
  return Buffer.concat(await readChunks(incoming, limit, tooLarge));
}

/** As `readBytes`, but not joined, which would block other requests if the body is large. */
export async function readChunks(
  incoming: IncomingMessage,
  limit: number,
  tooLarge: () => CaptureError,
): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // The rest is left to the server, which discards it, so that the client can read the response.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      length += (chunk as Buffer).length;
      if (length > limit) throw tooLarge();
      chunks.push(chunk as Buffer);
    }
  } catch (thrown) {
    throw thrown instanceof CaptureError ? thrown : refusedBody('The body is incomplete.');
  }
  return chunks;
}
