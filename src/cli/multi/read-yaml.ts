import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type ParsedNode, parseDocument } from 'yaml';
import { ShotsError } from './shots-error.js';

/** A parsed YAML file whose values know their lines. */
export interface YamlFile {
  value: unknown;
  /** The line of the value at a path, or of the nearest one above it that exists. */
  lineOf(path: readonly string[]): number;
}

/** Reads YAML 1.2, with merge keys. Tags that are not part of it are refused. @throws ShotsError with the line of each problem */
export function readYaml(text: string, file: string): YamlFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true, logLevel: 'silent' });
  const problems = [...document.errors, ...document.warnings];
  if (problems.length > 0) {
    throw new ShotsError(
      file,
      problems.map(({ message, pos }) => ({ path: '', line: lines.linePos(pos[0]).line, message: firstSentence(message), field: '' })),
    );
  }
  const lineOf = (path: readonly string[]) => lines.linePos(offsetOf(document.contents, path, (node) => resolved(node))).line || 1;
  const resolved = (node: Node | null) => (isAlias(node) ? (node.resolve(document) ?? null) : node);
  return { value: toValue(file, () => document.toJS()), lineOf };
}

/** Without the place, which is told in front, and the excerpt. */
function firstSentence(message: string): string {
  const [first = message] = message.split('\n', 1);
  return first.replace(/ at line \d+, column \d+:?$/, '');
}

/** Aliases can make a small file enormous. */
function toValue(file: string, convert: () => unknown): unknown {
  try {
    return convert();
  } catch (error) {
    throw new ShotsError(file, [{ path: '', line: 1, message: (error as Error).message, field: '' }]);
  }
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
