import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { UsageError } from '../operator-error.js';

/** A parsed YAML file with the lines of its values. */
export interface YamlFile {
  value: unknown;
  /** Returns the line of the field or the item at a path, or of the nearest existing one above it. */
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

/** Maximum number of problems that are reported. */
export const ISSUES_MAX = 100;
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
      problems.map(({ message, pos }) => ({
        path: '',
        line: lineAt(pos[0]),
        message: describeProblem(message),
        field: '',
      })),
    );
  try {
    // The library's own check for repeated keys takes quadratic time.
    const document = parseDocument(text, {
      lineCounter: lines,
      merge: true,
      logLevel: 'silent',
      prettyErrors: false,
      uniqueKeys: false,
    });
    const problems = [
      ...document.errors,
      ...document.warnings,
      ...(document.errors.length > 0 ? [] : repeatedKeys(document)),
    ];
    if (problems.length > 0) throw refuse(problems);
    const lineOf = (path: readonly string[]): number => {
      const parent = document.getIn(path.slice(0, -1), true);
      // A field is where its key is: its value may begin on a later line.
      const pair = isMap(parent)
        ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === path.at(-1))
        : undefined;
      const node = pair?.key ?? document.getIn(path, true);
      if (isNode(node) && node.range) return lineAt(node.range[0]);
      return path.length === 0 ? 1 : lineOf(path.slice(0, -1));
    };
    return { value: document.toJS({ maxAliasCount: ALIASES_MAX }), lineOf };
  } catch (error) {
    if (error instanceof ShotsError) throw error;
    throw refuse([{ message: (error as Error).message, pos: [0] }]);
  }
}

function repeatedKeys(document: Document.Parsed): { message: string; pos: [number, ...number[]] }[] {
  const found: ReturnType<typeof repeatedKeys> = [];
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) found.push({ message: 'Map keys must be unique', pos: [key.range?.[0] ?? 0] });
        seen.add(key.value);
      }
    },
  });
  return found;
}

function describeProblem(message: string): string {
  return message.startsWith('Maximum call stack') ? 'The file is nested too deeply.' : message;
}
