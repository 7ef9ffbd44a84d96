/**
 * Decides whether a filter list's regular expression runs in bounded time on any input, from an upper bound for the number
 * of ways in which it can match and the characters examined. Exceeding a limit counts as unbounded.
 */

/** One open repetition that may begin anywhere in 2,048 characters, which takes about 30 ms. */
const WAYS_MAX = 4_200_000;
const SOURCE_MAX_CHARS = 2_000;
const DEPTH_MAX = 20;

interface Repeated {
  min: number;
  max: number;
}
type Node = Repeated &
  (
    | { kind: 'character'; may: Characters }
    /** Consumes no character; no character follows `$`. */
    | { kind: 'assertion'; next: Characters | null }
    | { kind: 'group'; alternatives: Node[][]; isLookaround: boolean }
  );
/** A bit set: one bit for each ASCII character, and one for all others. */
type Characters = bigint;

/** @param maxChars the maximum length of the texts that it is matched against */
export function isBoundedRegex(source: string, maxChars: number): boolean {
  if (source.length > SOURCE_MAX_CHARS) return false;
  const { alternatives } = readAlternatives({ source, maxChars }, 0, 0);
  const isAnchored = alternatives.every(([first]) => first?.kind === 'assertion' && first.next === null);
  const starts = isAnchored ? 1 : maxChars;
  const { ways, steps } = costOfAny(alternatives, null);
  return starts * ways <= WAYS_MAX && starts * steps <= 2 * WAYS_MAX;
}

/** Upper bounds for the ways in which an expression can match, and for the characters that its repetitions examine. */
interface Cost {
  ways: number;
  steps: number;
}

function costOfAny(alternatives: Node[][], follow: Characters | null): Cost {
  const costs = alternatives.map((nodes) => costOf(nodes, follow));
  const firsts = alternatives.map((nodes) => firstOf(nodes, follow));
  const areDistinct = firsts.every(
    (first, index) => first !== null && firsts.slice(0, index).every((other) => ((other ?? 0n) & first) === 0n),
  );
  const ways = costs.map((effort) => effort.ways);
  return {
    ways: areDistinct ? Math.max(...ways) : ways.reduce((sum, each) => sum + each, 0),
    steps: costs.reduce((sum, { steps }) => sum + steps, 0),
  };
}

function costOf(nodes: Node[], follow: Characters | null): Cost {
  const nexts: (Characters | null)[] = [];
  let next = follow;
  for (const node of [...nodes].reverse()) {
    nexts.unshift(next);
    next = firstOfNode(node, next);
  }
  // A repetition examines its characters again for each way in which the preceding nodes can match.
  return nodes.reduce<Cost>(
    ({ ways, steps }, node, index) => {
      const own = costOfNode(node, nexts[index] ?? null);
      return { ways: ways * own.ways, steps: steps + ways * own.steps };
    },
    { ways: 1, steps: 0 },
  );
}

/** @param next the characters that may follow it; null if they are unknown */
function costOfNode(node: Node, next: Characters | null): Cost {
  const counts = node.max - node.min + 1;
  if (node.kind === 'assertion') return { ways: 1, steps: 0 };
  // If no character can both continue and follow the repetition, only one count can match.
  if (node.kind === 'character') {
    return { ways: next !== null && (node.may & next) === 0n ? 1 : counts, steps: node.max === 1 ? 0 : node.max };
  }
  const inner = costOfAny(node.alternatives, node.isLookaround || node.max > 1 ? null : next);
  if (inner.ways !== 1) return { ways: inner.ways ** node.max * counts, steps: inner.ways ** (node.max - 1) * inner.steps };
  return { ways: counts, steps: Math.min(inner.steps * node.max, Math.max(inner.steps, node.max)) };
}

/** The characters that a match can start with; null if it can be empty. */
function firstOf(nodes: Node[], follow: Characters | null): Characters | null {
  return nodes.reduceRight<Characters | null>((next, node) => firstOfNode(node, next), follow);
}

function firstOfNode(node: Node, next: Characters | null): Characters | null {
  if (node.kind === 'assertion') return node.next;
  if (node.kind === 'group' && node.isLookaround) return null;
  const firsts = node.kind === 'character' ? [node.may] : node.alternatives.map((inner) => firstOf(inner, null));
  if (node.min === 0) firsts.push(next);
  return firsts.reduce<Characters | null>((all, first) => (all === null || first === null ? null : all | first), 0n);
}

interface Reading {
  source: string;
  maxChars: number;
}

function readAlternatives(reading: Reading, start: number, depth: number): { alternatives: Node[][]; end: number } {
  const { source } = reading;
  let nodes: Node[] = [];
  const alternatives = [nodes];
  let at = start;
  while (at < source.length && source[at] !== ')') {
    if (source[at] === '|') {
      nodes = [];
      alternatives.push(nodes);
      at += 1;
    } else {
      const { node, end } = readRepeated(reading, at, depth);
      nodes.push(node);
      at = end;
    }
  }
  return { alternatives, end: at };
}

const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y;

function readRepeated(reading: Reading, start: number, depth: number): { node: Node; end: number } {
  const { node, end } = readOne(reading, start, depth);
  const [whole = '', sign = '', least = '', comma = '', most = ''] = matchAt(QUANTIFIER, reading.source, end) ?? [];
  if (whole === '') return { node, end };
  const limit = (count: number) => Math.min(count, reading.maxChars);
  const min = sign === '' ? limit(Number(least)) : sign === '+' ? 1 : 0;
  const max =
    sign === '?' ? 1 : sign !== '' || (comma !== '' && most === '') ? reading.maxChars : limit(Number(most === '' ? least : most));
  return { node: { ...node, min, max }, end: end + whole.length };
}

const OPENING = /\((?:\?(?::|<?[=!]|<[^>]*>))?/y;
const SINGLE = /\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|k<[^>]*>|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S]/iy;

function readOne(reading: Reading, start: number, depth: number): { node: Node; end: number } {
  const once = { min: 1, max: 1 };
  const opening = matchAt(OPENING, reading.source, start)?.[0];
  if (opening !== undefined) {
    const { alternatives, end } = depth < DEPTH_MAX ? readAlternatives(reading, start + opening.length, depth + 1) : ENDLESS;
    return { node: { kind: 'group', alternatives, isLookaround: /[=!]$/.test(opening), ...once }, end: end + 1 };
  }
  const text = matchAt(SINGLE, reading.source, start)?.[0] ?? '';
  const end = start + text.length;
  if (/^(?:\^|\$|\\b)$/i.test(text)) return { node: { kind: 'assertion', next: text === '$' ? 0n : null, ...once }, end };
  // The text that a back-reference repeats is unknown.
  if (/^\\[1-9k]/.test(text)) return { node: { kind: 'character', may: EVERY, min: 0, max: reading.maxChars }, end };
  return { node: { kind: 'character', may: charactersOf(text), ...once }, end };
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(source);
}

const TRIED = [...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)), '\u00e9'];
const EVERY = (1n << BigInt(TRIED.length)) - 1n;
const ENDLESS = {
  alternatives: [[{ kind: 'character', may: EVERY, min: 0, max: Number.POSITIVE_INFINITY } as const]],
  end: Number.MAX_SAFE_INTEGER,
};

function charactersOf(single: string): Characters {
  const pattern = new RegExp(`^${single}$`, 'is');
  return TRIED.reduce((all, character, bit) => (pattern.test(character) ? all | (1n << BigInt(bit)) : all), 0n);
}
