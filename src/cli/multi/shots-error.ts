import { UsageError } from '../operator-error.js';

/** One problem of a shots file. */
export interface ShotsIssue {
  /** Dotted path from the top of the file; empty for the file itself. */
  path: string;
  /** Line number, from 1. */
  line: number;
  /** A sentence without its subject, which is the field; a whole sentence if `field` is empty. */
  message: string;
  /** Name of the field in the message. */
  field: string;
}

/** The error for a shots file with problems: a line for each in the message, all of them in `details.issues`. */
export class ShotsError extends UsageError {
  constructor(file: string, issues: readonly ShotsIssue[]) {
    const shown = issues.map(({ path, line, message, field }) => ({
      path,
      line,
      message: field === '' || message.startsWith('Unknown field') ? message : `\`${field}\` ${message}`,
    }));
    super(shown.map(({ line, message }) => `${file}:${line}: ${message}`).join('\n'), { issues: shown });
  }
}
