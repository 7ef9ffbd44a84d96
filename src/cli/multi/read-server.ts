import { type Fields, isFields } from './read-shot.js';

/** A server that runs during the captures. */
export interface ServerOrder {
  /** A line for the shell, or a program and its arguments. */
  command: string | string[];
  /** URL whose answer shows that the server is ready; null if an answer of the port suffices. */
  url: string | null;
  /** Port that it answers on; null for those of the shots on this machine. */
  port: number | null;
  /** Time in ms that it may take to answer. */
  timeoutMs: number;
}

const TIMEOUT_MS = { default: 30_000, min: 1_000, max: 600_000 };
const FIELDS = ['command', 'url', 'port', 'timeout'];

/**
 * Reads `server`: a command, or `{command, url, port, timeout}`.
 * @param note receives each problem, by its field
 * @returns null if there is one
 */
export function readServer(value: unknown, note: (field: string, message: string) => void): ServerOrder | null {
  const fields: Fields = isFields(value) ? value : { command: value };
  let isSound = true;
  const problem = (field: string, message: string): null => {
    isSound = false;
    note(isFields(value) ? field : '', message);
    return null;
  };
  for (const name of Object.keys(fields)) {
    if (!FIELDS.includes(name)) problem(name, `Unknown field \`${name}\`. Known fields: ${FIELDS.join(', ')}.`);
  }
  const command = isCommand(fields.command) ? fields.command : problem('command', '`server` must be a command, or a list of its words');
  const port = fields.port === undefined || isWhole(fields.port, 1, 65_535) ? fields.port : problem('port', 'must be a port number');
  const url =
    fields.url === undefined || isWebUrl(fields.url) ? fields.url : problem('url', 'must be a URL such as http://127.0.0.1:4173/');
  if (fields.url !== undefined && fields.port !== undefined) problem('port', 'cannot be combined with `url`, which has a port of its own');
  const { timeout = TIMEOUT_MS.default } = fields;
  const timeoutMs = isWhole(timeout, TIMEOUT_MS.min, TIMEOUT_MS.max)
    ? timeout
    : problem('timeout', `must be ${TIMEOUT_MS.min} to ${TIMEOUT_MS.max} ms; 30 seconds are 30000`);
  if (!isSound || command === null || timeoutMs === null) return null;
  return { command, url: url ?? null, port: port ?? null, timeoutMs };
}

function isCommand(value: unknown): value is string | string[] {
  if (typeof value === 'string') return value.trim() !== '';
  return Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string') && value[0] !== '';
}

function isWhole(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function isWebUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value);
}
