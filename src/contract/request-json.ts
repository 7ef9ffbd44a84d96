import { CaptureError } from './capture-error.js';
import { BODY_DEPTH_LIMIT_LEVELS, BODY_LIMIT_BYTES } from './limits.js';
import { invalidField } from './submission.js';

/** Keeps a BOM, which is then rejected as invalid JSON (RFC 8259, 8.1). */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The JSON value of a request: any JSON, but within the size and depth limits, in well-formed Unicode and without `__proto__`.
 *
 * @param bytes of a whole body, or of a part of a form
 * @param subject names it in messages
 * @throws CaptureError `invalid_request`
 */
export function readRequestJson(
  bytes: Buffer,
  limitBytes = BODY_LIMIT_BYTES,
  subject = 'The body',
  valuesMax = VALUES_MAX,
): unknown {
  if (bytes.length === 0)
    throw refusedBody(`${subject} is empty. It must be a JSON object, such as {"url": "https://example.com"}.`);
  if (bytes.length > limitBytes) throw bodyTooLarge(limitBytes, subject);
  refuseShape(bytes, subject, valuesMax);
  const text = decode(bytes, subject);
  const value = parse(text, subject);
  if (/__proto__|\\u/.test(text)) refuseTrickery(value, []);
  return value;
}

export function bodyTooLarge(limitBytes = BODY_LIMIT_BYTES, subject = 'The body'): CaptureError {
  return refusedBody(`${subject} is larger than ${limitBytes} bytes.`);
}

/** For requests that may have files. */
export function sendAsFiles(subject?: string): CaptureError {
  const { message } = bodyTooLarge(BODY_LIMIT_BYTES, subject);
  return refusedBody(
    `${message} Send what is large as files in a form (multipart/form-data): an attachment refers to one by \`file\` in place of \`content\`.`,
  );
}

/** A problem of the body as a whole. */
export function refusedBody(message: string): CaptureError {
  return new CaptureError({ code: 'invalid_request', message, details: { issues: [{ path: '', message }] } });
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
/** More than any request needs; 256 KiB can hold 100,000, and validating them would block other requests. */
const VALUES_MAX = 2_048;

/** Checked on the bytes, before any recursive code runs; none of these bytes occurs in a multi-byte UTF-8 character. */
function refuseShape(bytes: Buffer, subject: string, valuesMax: number): void {
  let depth = 0;
  let values = 1;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) inString = !inString;
    else if (inString) {
      if (byte === BACKSLASH) i++;
    } else if (byte === COMMA) {
      if (++values > valuesMax) throw refusedBody(`${subject} has more than ${valuesMax} values.`);
    } else if (OPENING.has(byte)) {
      if (++depth > BODY_DEPTH_LIMIT_LEVELS)
        throw refusedBody(`${subject} is nested deeper than ${BODY_DEPTH_LIMIT_LEVELS} levels.`);
    } else if (CLOSING.has(byte)) depth--;
  }
}

function decode(bytes: Buffer, subject: string): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw refusedBody(`${subject} is not valid UTF-8.`);
  }
}

function parse(text: string, subject: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    throw refusedBody(`${subject} is not valid JSON${position === undefined ? '' : ` (at position ${position})`}.`);
  }
}

/**
 * Rejects `__proto__`, which schema libraries drop silently from free-form objects, and lone surrogates, which have no UTF-8 form, so that
 * different strings would be stored as equal.
 */
function refuseTrickery(value: unknown, path: readonly string[]): void {
  if (typeof value === 'string') {
    if (/\p{Surrogate}/u.test(value))
      throw invalidField(path.join('.'), 'must be well-formed Unicode (lone surrogate)');
    return;
  }
  if (value === null || typeof value !== 'object') return;
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') throw invalidField([...path, key].join('.'), 'Unknown field `__proto__`.');
    if (/\p{Surrogate}/u.test(key))
      throw invalidField(path.join('.'), 'Unknown field (its name is not well-formed Unicode).');
    refuseTrickery(item, [...path, key]);
  }
}
