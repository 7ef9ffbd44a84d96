import type { IncomingMessage } from 'node:http';
import type { CaptureError } from '../../contract/capture-error.js';
import { type QueryPair, readQuery } from '../../contract/render-link.js';
import { refusedBody } from '../../contract/request-json.js';
import { readBytes } from '../read-body.js';

/** A body of the largest permitted HTML, in percent-encoding. */
const FORM_LIMIT_BYTES = 1_000_000;
const FIELDS_MAX = 1_000;

/** The fields of a form that was sent. */
export interface Form {
  /** The first value; empty if there is none. */
  value(name: string): string;
  values(name: string): string[];
  has(name: string): boolean;
}

/** @throws CaptureError `invalid_request` for another content type, too many bytes or fields, or a wrong encoding */
export async function readForm(incoming: IncomingMessage): Promise<Form> {
  const [type = ''] = (incoming.headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw refusedBody('The console takes forms only.');
  const text = (await readBytes(incoming, FORM_LIMIT_BYTES, tooLarge)).toString('latin1');
  if (text.split('&', FIELDS_MAX + 1).length > FIELDS_MAX)
    throw refusedBody(`The form has more than ${FIELDS_MAX} fields.`);
  const pairs = readQuery(text);
  if (pairs === null) throw refusedBody('The form is not valid percent-encoded UTF-8.');
  // No name or key has it, and PostgreSQL cannot store it.
  if (pairs.some((pair) => pair.some((part) => part.includes('\0'))))
    throw refusedBody('The form contains a NUL character.');
  return formOf(pairs);
}

export function formOf(pairs: readonly QueryPair[]): Form {
  const byName = new Map<string, string[]>();
  // Browsers send CRLF for a line break in a text area.
  for (const [name, value] of pairs) byName.set(name, [...(byName.get(name) ?? []), value.replaceAll('\r\n', '\n')]);
  return {
    value: (name) => byName.get(name)?.[0] ?? '',
    values: (name) => byName.get(name) ?? [],
    has: (name) => byName.has(name),
  };
}

function tooLarge(): CaptureError {
  return refusedBody(`The form is larger than ${FORM_LIMIT_BYTES} bytes.`);
}
