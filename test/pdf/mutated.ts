import { seeded } from '../trials/seeded.js';

/** PDFs that make parsers fail. */
const TOKENS = [
  '<<',
  '>>',
  '[',
  ']',
  '(',
  ')',
  '/',
  '0 R',
  'obj',
  'endobj',
  'stream',
  'endstream',
  '-1',
  '99999999999',
  'null',
  '%',
  '\0',
  '<',
  'R',
  'xref',
  'trailer',
  '/Kids',
  '/Parent',
  '/Type',
];

/** A damaged copy of a file: bytes and tokens are changed, removed, repeated and inserted. The same for the same seed. */
export function mutated(content: Buffer, seed: number): Buffer {
  const random = seeded(seed);
  const pick = (max: number) => Math.floor(random() * max);
  let bytes = content;
  for (let times = 1 + pick(8); times > 0; times--) {
    const at = pick(bytes.length);
    const length = 1 + pick(random() < 0.2 ? 400 : 8);
    const before = bytes.subarray(0, at);
    const after = bytes.subarray(at + length);
    switch (pick(6)) {
      case 0:
        bytes = Buffer.concat([before, Buffer.from(Array.from({ length }, () => pick(256))), after]);
        break;
      case 1:
        bytes = Buffer.concat([before, after]);
        break;
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)]);
        break;
      case 3:
        bytes = Buffer.concat([before, Buffer.from(TOKENS[pick(TOKENS.length)] ?? ''), bytes.subarray(at)]);
        break;
      case 4:
        bytes = withNumber(bytes, pick, at);
        break;
      default:
        bytes = Buffer.from(bytes);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << pick(8));
    }
    if (bytes.length === 0) return bytes;
  }
  return bytes;
}

/** Another number in place of the next one: references lead elsewhere, and lengths and counts lie. */
function withNumber(bytes: Buffer, pick: (max: number) => number, from: number): Buffer {
  const text = bytes.toString('latin1');
  const at = text.slice(from).search(/\d/);
  if (at === -1) return bytes;
  const [digits = ''] = /^\d+/.exec(text.slice(from + at)) ?? [];
  const number = String(pick(3) === 0 ? pick(2 ** 31) : pick(60));
  return Buffer.from(text.slice(0, from + at) + number + text.slice(from + at + digits.length), 'latin1');
}
