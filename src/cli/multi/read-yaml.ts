import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type ParsedNode, parseDocument, visit } from 'yaml';
import { ShotsError } from './shots-error.js';

/** A parsed YAML file with the lines of its values. */
export interface YamlFile {
  value: unknown;
  /** Returns the line of the value at a path, or of the nearest existing one above it. */
  lineOf(path: readonly string[]): number;
}

/** Maximum number of anchor uses, with those in anchored values multiplied, and of values, with each use counted again. */
const ALIASES_MAX = 200_000;
const VALUES_MAX = 1_000_000;
const PROBLEMS_MAX = 100;

/**
 * Reads YAML 1.2, with merge keys. Tags that are not part of it are refused.
 * @throws ShotsError with the line of each problem
 */
export function readYaml(text: string, file: string): YamlFile {
  const lines = new LineCounter();
  const document = orRefuse(file, () =>
    // The library's own check for repeated keys takes quadratic time.
    parseDocument(text, { lineCounter: lines, merge: true, logLevel: 'silent', prettyErrors: false, uniqueKeys: false }),
  );
  const found = [...document.errors, ...document.warnings, ...(document.errors.length > 0 ? [] : repeatedKeys(document))];
  const problems = found.slice(0, PROBLEMS_MAX);
  if (problems.length > 0) {
    throw new ShotsError(
      file,
      problems.map(({ message, pos }) => ({ path: '', line: lines.linePos(pos[0]).line, message: describeProblem(message), field: '' })),
    );
  }
  const lineOf = (path: readonly string[]) => lines.linePos(offsetOf(document.contents, path, (node) => resolved(node))).line || 1;
  const resolved = (node: Node | null) => (isAlias(node) ? (node.resolve(document) ?? null) : node);
  return { value: orRefuse(file, () => toValue(document)), lineOf };
}

/**
 * Turns an error of the library into a ShotsError. A file of a few kB can have too many levels, or stand for more values than fit into
 * memory.
 */
function orRefuse<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw new ShotsError(file, [{ path: '', line: 1, message: describeProblem((error as Error).message), field: '' }]);
  }
}

function describeProblem(message: string): string {
  return message.startsWith('Maximum call stack') ? 'The file is nested too deeply.' : message;
}

function repeatedKeys(document: Document.Parsed): { message: string; pos: [number, ...number[]] }[] {
  const found: ReturnType<typeof repeatedKeys> = [];
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key) || key.value === '<<') continue;
        if (seen.has(key.value)) found.push({ message: 'Map keys must be unique', pos: [key.range?.[0] ?? 0] });
        seen.add(key.value);
      }
    },
  });
  return found;
}

function toValue(document: Document.Parsed): unknown {
  const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
  if (sizeOf(value, new Map()) > VALUES_MAX) throw new Error(`The file stands for more than ${VALUES_MAX} values, by its aliases.`);
  return value;
}

function sizeOf(value: unknown, known: Map<unknown, number>): number {
  if (value === null || typeof value !== 'object') return 1;
  const size = known.get(value) ?? Object.values(value).reduce<number>((sum, inner) => sum + sizeOf(inner, known), 1);
  known.set(value, size);
  return size;
}

function offsetOf(root: ParsedNode | null, path: readonly string[], resolve: (node: Node | null) => Node | null): number {
  let node: Node | null = root;
  let offset = node?.range?.[0] ?? 0;
  for (const step of path) {
    const parent = resolve(node);
    if (isMap<Node, Node | null>(parent)) {
      const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === step);
      if (pair === undefined) return offset;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq<Node>(parent)) {
      node = parent.items[Number(step)] ?? null;
      if (node === null) return offset;
      offset = node.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}
