import { isNode, LineCounter, parseDocument } from 'yaml';
import { UsageError } from '../operator-error.js';

/** A parsed YAML file with the lines of its values. */
export interface YamlFile {
  value: unknown;
  /** Returns the line of the value at a path, or of the nearest existing one above it. */
  lineOf(path: readonly string[]): number;
}

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

/** The error for a shots file with problems: a line for each of the first 100 in the message, and all of these in `details.issues`. */
export class ShotsError extends UsageError {
  constructor(file: string, issues: readonly ShotsIssue[]) {
    const shown = issues.slice(0, ISSUES_MAX).map(({ path, line, message, field }) => ({
      path,
      line,
      message: field === '' || message.startsWith('Unknown field') ? message : `\`${field}\` ${message}`,
    }));
    super(shown.map(({ line, message }) => `${file}:${line}: ${message}`).join('\n'), { issues: shown });
  }
}

const ISSUES_MAX = 100;
/** Maximum number of anchor uses, with those in anchored values multiplied. */
const ALIASES_MAX = 200_000;

/**
 * Reads YAML 1.2, with merge keys. Tags that are not part of it are refused.
 * @throws ShotsError with the line of each problem
 */
export function readYaml(text: string, file: string): YamlFile {
  const lines = new LineCounter();
  const lineAt = (offset: number) => lines.linePos(offset).line || 1;
  const refuse = (problems: readonly { message: string; pos: [number, ...number[]] }[]) =>
    new ShotsError(
      file,
      problems.map(({ message, pos }) => ({ path: '', line: lineAt(pos[0]), message: describeProblem(message), field: '' })),
    );
  try {
    const document = parseDocument(text, { lineCounter: lines, merge: true, logLevel: 'silent', prettyErrors: false });
    const problems = [...document.errors, ...document.warnings];
    if (problems.length > 0) throw refuse(problems);
    const lineOf = (path: readonly string[]): number => {
      const node = document.getIn(path, true);
      if (isNode(node) && node.range) return lineAt(node.range[0]);
      return path.length === 0 ? 1 : lineOf(path.slice(0, -1));
    };
    return { value: document.toJS({ maxAliasCount: ALIASES_MAX }), lineOf };
  } catch (error) {
    if (error instanceof ShotsError) throw error;
    throw refuse([{ message: (error as Error).message, pos: [0] }]);
  }
}

function describeProblem(message: string): string {
  return message.startsWith('Maximum call stack') ? 'The file is nested too deeply.' : message;
}
