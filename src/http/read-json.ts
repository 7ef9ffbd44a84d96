import type { IncomingMessage } from 'node:http';
import { BODY_LIMIT_BYTES } from '../contract/limits.js';
import { bodyTooLarge, readRequestJson, refusedBody } from '../contract/request-json.js';
import { readBytes } from './read-bytes.js';

/**
 * The JSON value of a request's body, with the rules of request-json.ts.
 *
 * @throws CaptureError `invalid_request`, for other content types too (decisions.md, Envelope: no 413, no 415)
 */
export async function readJson(incoming: IncomingMessage): Promise<unknown> {
  refuseContentType(incoming);
  return readRequestJson(await readBytes(incoming, BODY_LIMIT_BYTES, bodyTooLarge));
}

function refuseContentType(incoming: IncomingMessage): void {
  const [type = '', ...parameters] = (incoming.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json') throw refusedBody('The content type must be application/json.');
  const charset = parameters.map((parameter) => parameter.trim().toLowerCase()).find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) throw refusedBody('The charset of the body must be UTF-8.');
  const encoding = incoming.headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw refusedBody('The body must not be compressed: leave Content-Encoding out.');
  }
}
