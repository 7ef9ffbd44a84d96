import { pino } from 'pino';

/** The one log of the process, on stderr: JSON lines, or pretty on a terminal. Secrets are redacted by path as a last resort. */
export type Log = pino.Logger;

export interface LogOptions {
  level: string;
  format: 'json' | 'pretty';
}

/** Limit of each string of a line, of all strings of a line together, and of the line. */
const STRING_MAX_CHARS = 8_192;
const LINE_MAX_CHARS = 65_536;
/** Limit of the entries of each object and list. */
const ENTRIES_MAX = 256;
const NAME_MAX_CHARS = 256;

const REDACTED = [
  'authorization',
  'password',
  'secret',
  '*.authorization',
  '*.password',
  '*.secret',
  'headers',
  '*.headers',
];

export function createLog(options: LogOptions): Log {
  const settings = {
    level: options.level,
    redact: { paths: REDACTED, censor: '[redacted]' },
    base: null,
    hooks: { streamWrite: cutLine },
  };
  if (options.format === 'json') return pino(settings, pino.destination({ dest: 2, sync: true }));
  return pino({
    ...settings,
    transport: {
      target: 'pino-pretty',
      options: { destination: 2, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true },
    },
  });
}

/** Whatever is logged, by whom and how deep, ends up in a line: a long one is cut string by string, and remains JSON. */
function cutLine(line: string): string {
  if (line.length <= STRING_MAX_CHARS) return line;
  let left = LINE_MAX_CHARS;
  const cut = (_name: string, value: unknown): unknown => {
    if (typeof value === 'object' && value !== null) return left > 0 ? fewEntries(value) : '…';
    if (typeof value !== 'string') return value;
    const kept = value.slice(0, Math.min(left, STRING_MAX_CHARS));
    left -= kept.length;
    return kept.length < value.length ? `${kept}… (${value.length} characters)` : value;
  };
  const text = JSON.stringify(JSON.parse(line), cut);
  return `${text.length <= LINE_MAX_CHARS ? text : fieldsThatFit(text)}\n`;
}

/** Many entries, long names and escapes add up beyond what their strings have: then the message stays, and the fields that fit beside it. */
function fieldsThatFit(line: string): string {
  const { msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const sizeOf = (name: string, value: unknown) => JSON.stringify({ [name]: value }).length;
  let left = LINE_MAX_CHARS - sizeOf('msg', msg) - sizeOf('omitted_fields', ENTRIES_MAX);
  const fitting = Object.entries(fields).filter(([name, value]) => {
    const fits = sizeOf(name, value) <= left;
    if (fits) left -= sizeOf(name, value);
    return fits;
  });
  return JSON.stringify({
    ...Object.fromEntries(fitting),
    omitted_fields: Object.keys(fields).length - fitting.length,
    msg,
  });
}

function fewEntries(value: object): object {
  if (Array.isArray(value)) return value.slice(0, ENTRIES_MAX);
  const entries = Object.entries(value).slice(0, ENTRIES_MAX);
  return Object.fromEntries(entries.map(([name, entry]) => [name.slice(0, NAME_MAX_CHARS), entry]));
}

/** For tests and commands that log nothing. */
export function silentLog(): Log {
  return pino({ level: 'silent' });
}
