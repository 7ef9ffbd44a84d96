import { randomFillSync } from 'node:crypto';

export const ID_PREFIXES = {
  job: 'job_',
  request: 'req_',
  delivery: 'dlv_',
  key: 'key_',
  account: 'acc_',
  watch: 'wat_',
  run: 'run_',
  template: 'tpl_',
  batch: 'bat_',
} as const;

/** Crockford's base 32, as used by ULID (github.com/ulid/spec). */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;
/** Random bytes for the next ids: asking the system for those of each id would take longer than the rest of it. */
const random = Buffer.alloc(256 * RANDOM_CHARS);
let used = random.length;

/** A prefix and a 26-character ULID: sortable by time, 80 random bits. */
export function newId(kind: keyof typeof ID_PREFIXES, now: number = Date.now()): string {
  return ID_PREFIXES[kind] + encodeTime(now) + encodeRandom();
}

/** The smallest id of a time (Unix ms): those that were made earlier come before it. */
export function idAt(kind: keyof typeof ID_PREFIXES, time: number): string {
  return ID_PREFIXES[kind] + encodeTime(time) + '0'.repeat(RANDOM_CHARS);
}

/** Whether the text has the form of such an id, existing or not. */
export function isId(kind: keyof typeof ID_PREFIXES, text: string): boolean {
  const prefix = ID_PREFIXES[kind];
  return text.startsWith(prefix) && /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text.slice(prefix.length));
}

function encodeTime(now: number): string {
  let rest = now;
  let text = '';
  for (let i = 0; i < TIME_CHARS; i++) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function encodeRandom(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  let text = '';
  for (const end = used + RANDOM_CHARS; used < end; used++) text += ALPHABET.charAt((random[used] ?? 0) & 31);
  return text;
}
