/** A thread that parses one large JSON body, so that the server goes on meanwhile. A separate bundle entry. */
import { readText } from '../contract/comparison.js';
import { isObject } from '../contract/field-rules.js';
import { BODY_LIMIT_BYTES } from '../contract/limits.js';
import { readRequestJson, refusedBody } from '../contract/request-json.js';
import { answerTask } from '../thread.js';

/** The members of the object that may be long: each is a text in UTF-8, or a picture in base64. */
export type LongMembers = Record<string, 'text' | 'picture'>;

export interface JsonTask {
  chunks: readonly Uint8Array[];
  limitBytes: number;
  /** null: the whole value may be long, and have `valuesMax` values. */
  long: LongMembers | null;
  valuesMax?: number;
}

await answerTask(parse);

function parse({ chunks, limitBytes, long, valuesMax }: JsonTask): unknown {
  const value = readRequestJson(Buffer.concat(chunks), limitBytes, undefined, valuesMax);
  if (long === null) return value;
  const members = isObject(value) ? Object.entries(value) : [];
  const isLong = ([name, member]: [string, unknown]) => typeof member === 'string' && Object.hasOwn(long, name);
  // Whatever is copied to the main thread is small.
  const rest = members.some(isLong) ? Object.fromEntries(members.filter((member) => !isLong(member))) : value;
  if (Buffer.byteLength(JSON.stringify(rest)) > BODY_LIMIT_BYTES) {
    const names = Object.keys(long).map((name) => `\`${name}\``);
    throw refusedBody(`The body is larger than ${BODY_LIMIT_BYTES} bytes without ${names.join(' and ')}.`);
  }
  const bytes = members.filter(isLong).map(([name, member]) => [name, bytesOf(long[name], name, String(member))]);
  return isObject(value) ? { ...value, ...Object.fromEntries(bytes) } : value;
}

/** The name of a picture remains a text. */
function bytesOf(kind: LongMembers[string] | undefined, name: string, text: string): Uint8Array | string {
  if (kind === 'text') return new TextEncoder().encode(text);
  const source = readText(name, text);
  return source.kind === 'given' ? source.content : text;
}
