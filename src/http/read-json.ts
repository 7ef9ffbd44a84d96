import type { IncomingMessage } from 'node:http';
import { CaptureError } from '../contract/capture-error.js';
import { BODY_DEPTH_LIMIT_LEVELS, BODY_LIMIT_BYTES } from '../contract/limits.js';
import { invalidRequest } from '../contract/submission.js';

/** Keeps a BOM, which is then rejected as invalid JSON (RFC 8259, 8.1). */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The JSON value of a request's body: any JSON, but within the size and depth limits, in well-formed Unicode and without `__proto__`.
 *
 * @throws CaptureError `invalid_request`, for other content types too (decisions.md, Envelope: no 413, no 415)
 */
export async function readJson(incoming: IncomingMessage): Promise<unknown> {
  refuseContentType(incoming);
  const bytes = await readBytes(incoming);
  if (bytes.length === 0) throw refused('The body is empty. It must be a JSON object, such as {"url": "https://example.com"}.');
  refuseShape(bytes);
  const text = decode(bytes);
  const value = parse(text);
  if (/__proto__|\\u/.test(text)) refuseTrickery(value, []);
  return value;
}

function refuseContentType(incoming: IncomingMessage): void {
  const [type = '', ...parameters] = (incoming.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/json') throw refused('The content type must be application/json.');
  const charset = parameters.map((parameter) => parameter.trim().toLowerCase()).find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) throw refused('The charset of the body must be UTF-8.');
  const encoding = incoming.headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw refused('The body must not be compressed: leave Content-Encoding out.');
  }
}

/** Counts the bytes received, whatever Content-Length says, and stops reading at the limit. */
function readBytes(incoming: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (act: () => void) => {
      incoming.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut);
      act();
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= BODY_LIMIT_BYTES) return void chunks.push(chunk);
      incoming.pause();
      settle(() => reject(refused(`The body is larger than ${BODY_LIMIT_BYTES} bytes.`)));
    };
    const onEnd = () => settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)));
    const onCut = () => settle(() => reject(refused('The body is incomplete.')));
    incoming.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut);
    if (incoming.readableEnded) onEnd();
    else if (incoming.destroyed) onCut();
  });
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
/** More than any request needs; 256 KiB can hold 100,000, and validating them would block other requests. */
const VALUES_MAX = 2_048;

/** Checked on the bytes, before any recursive code runs; none of these bytes occurs in a multi-byte UTF-8 character. */
function refuseShape(bytes: Buffer): void {
  let depth = 0;
  let values = 1;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) inString = !inString;
    else if (inString) {
      if (byte === BACKSLASH) i++;
    } else if (byte === COMMA) {
      if (++values > VALUES_MAX) throw refused(`The body has more than ${VALUES_MAX} values.`);
    } else if (OPENING.has(byte)) {
      if (++depth > BODY_DEPTH_LIMIT_LEVELS) throw refused(`The body is nested deeper than ${BODY_DEPTH_LIMIT_LEVELS} levels.`);
    } else if (CLOSING.has(byte)) depth--;
  }
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw refused('The body is not valid UTF-8.');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    throw refused(`The body is not valid JSON${position === undefined ? '' : ` (at position ${position})`}.`);
  }
}

/**
 * Rejects `__proto__`, which schema libraries drop silently from free-form objects, and lone surrogates, which have no UTF-8 form, so that
 * different strings would be stored as equal.
 */
function refuseTrickery(value: unknown, path: readonly string[]): void {
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value))
      throw invalidRequest([{ path: path.join('.'), message: 'must be well-formed Unicode (lone surrogate)' }]);
    return;
  }
  if (value === null || typeof value !== 'object') return;
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') throw invalidRequest([{ path: [...path, key].join('.'), message: 'Unknown field `__proto__`.' }]);
    if (/\p{Surrogate}/u.test(key))
      throw invalidRequest([{ path: path.join('.'), message: 'Unknown field (its name is not well-formed Unicode).' }]);
    refuseTrickery(item, [...path, key]);
  }
}

function refused(message: string): CaptureError {
  return new CaptureError({ code: 'invalid_request', message, details: { issues: [{ path: '', message }] } });
}
