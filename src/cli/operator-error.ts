import { CaptureError } from '../contract/capture-error.js';
import { ConfigError } from '../contract/config-error.js';

/** A failure that its operator can do something about: one line that says what. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

const SPOKEN = new Set(['OperatorError', 'ConfigError', 'StoreError', 'CaptureError', 'BrowserError', 'ListenError']);

/** Ends a command: one line for failures with a name of ours, all that is known for bugs. */
export function failWith(error: unknown): void {
  process.exitCode = error instanceof ConfigError ? 2 : 1;
  if (error instanceof CaptureError) process.stderr.write(`stillframe: ${error.code}: ${error.message}\n`);
  else if (error instanceof Error && SPOKEN.has(error.name)) process.stderr.write(`stillframe: ${error.message}\n`);
  else process.stderr.write(`stillframe: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
}
