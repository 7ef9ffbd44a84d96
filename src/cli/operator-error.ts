import { stripVTControlCharacters } from 'node:util';
import { CaptureError, type ErrorDetails, type StoredError, toStoredError } from '../contract/capture-error.js';
import { ConfigError } from '../contract/config-error.js';
import { withOwnCommand } from './own-command.js';

/** A failure that the operator can fix, with a one-line message that says how. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}

/** A failure of the command line itself. */
export class UsageError extends OperatorError {
  override readonly name = 'UsageError';

  /** @param details for `--json`, in the form of an API error's */
  constructor(
    message: string,
    readonly details?: ErrorDetails,
  ) {
    super(message);
  }
}

/** A handler of rejections, which throws an error that says what could not be done, and why. */
export function failing(
  problem: string,
  Failure: new (message: string) => OperatorError = OperatorError,
): (error: unknown) => never {
  return (error) => {
    throw new Failure(`${problem}: ${(error as Error).message}`);
  };
}

/** Prints a line on standard error, where remarks go. */
export function printLine(line: string): void {
  process.stderr.write(`${withOwnCommand(line)}\n`);
}

const EXPECTED = new Set([
  'OperatorError',
  'UsageError',
  'ConfigError',
  'StoreError',
  'CaptureError',
  'BrowserError',
  'ListenError',
  'StillframeError',
]);

/** Ends a command with exit code 1 or 2, and prints one line for an expected failure, the stack trace for a bug. */
export function failWith(error: unknown): void {
  process.exitCode = isUsage(error) ? 2 : 1;
  printLine(`stillframe: ${printable(describeError(error))}`);
}

/** Builds the error object that `--json` prints: that of a CaptureError, or the message of another expected failure. */
export function toErrorObject(error: unknown): Pick<StoredError, 'code' | 'message' | 'retriable' | 'details'> {
  // A server's own words about a capture.
  if (error instanceof Error && error.name === 'StillframeError') {
    const { code, message, retriable, details } = error as CaptureError;
    return { code, message, retriable, ...(details === undefined ? {} : { details }) };
  }
  const { code, message, retriable, details: stored } = toStoredError(error);
  const details = error instanceof UsageError ? error.details : stored;
  const own = isExpected(error) ? error.message : message;
  return {
    code: isUsage(error) ? 'invalid_request' : code,
    message: own,
    retriable: isUsage(error) || (isExpected(error) && !(error instanceof CaptureError)) ? false : retriable,
    ...(details === undefined ? {} : { details }),
  };
}

/** Removes the characters that control a terminal, since messages may contain text of pages. Keeps line breaks and tabs. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    '',
  );
}

function isUsage(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof UsageError;
}

function isExpected(error: unknown): error is Error {
  return error instanceof Error && EXPECTED.has(error.name);
}

/** Returns one line for an expected failure, the stack trace for a bug. */
export function describeError(error: unknown): string {
  if (error instanceof CaptureError) return `${error.code}: ${error.message}`;
  if (isExpected(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Builds a workflow command that GitHub shows at a line of a file. */
export function githubAnnotation({ file, line, message }: { file: string; line: number; message: string }): string {
  const path = escaped(file).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::error file=${path},line=${line}::${escaped(message)}`;
}

function escaped(text: string): string {
  return printable(text).replaceAll('%', '%25').replaceAll('\n', '%0A');
}
