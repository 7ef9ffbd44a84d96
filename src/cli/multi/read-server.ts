import { type Fields, isFields } from './read-shot.js';

/** A server that runs while the shots are taken. */
export interface ServerOrder {
  /** A line for the shell, or a program and its arguments. */
  command: string | string[];
  /** The port that it answers on; null: those of the shots on this machine. */
  port: number | null;
  /** ms that it may take to answer. */
  timeoutMs: number;
}

const TIMEOUT_MS = { default: 30_000, max: 600_000 };
const FIELDS = ['command', 'port', 'timeout'];

/** Reads `server`: a command, or `{command, port, timeout}`. @param note told each problem, by its field. @returns null if there is one */
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
  const port = fields.port === undefined || isWhole(fields.port, 65_535) ? fields.port : problem('port', 'must be a port number');
  const { timeout = TIMEOUT_MS.default } = fields;
  const timeoutMs = isWhole(timeout, TIMEOUT_MS.max) ? timeout : problem('timeout', `must be 1 to ${TIMEOUT_MS.max} ms`);
  if (!isSound || command === null || timeoutMs === null) return null;
  return { command, port: port ?? null, timeoutMs };
}

function isCommand(value: unknown): value is string | string[] {
  if (typeof value === 'string') return value.trim() !== '';
  return Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string') && value[0] !== '';
}

function isWhole(value: unknown, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max;
}
