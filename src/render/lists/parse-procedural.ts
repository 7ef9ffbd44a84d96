import type { Operator, ProceduralRule, Step } from '../in-page/procedural.js';

const OPERATORS: readonly Operator[] = [
  'has-text',
  'matches-attr',
  'matches-css',
  'matches-css-after',
  'matches-css-before',
  'matches-path',
  'upward',
  'xpath',
];
const SELECTOR_MAX_CHARS = 2_000;
const NESTED_MAX = 3;
const CONTAINS_OPERATOR = new RegExp(`:(?:${OPERATORS.join('|')})\\(`);
const ACTION = /^(.+):(remove|remove-attr|remove-class)\(([^()]*)\)$/s;
/** Declarations that could fetch something or conceal others. */
const UNSAFE_STYLE = /url\(|image-set\(|\\|\/\*|[{}@]/i;

/**
 * Parses a procedural selector into steps, one rule for each of its alternatives.
 * @param style declarations to apply instead of hiding
 * @returns no rules if the selector is malformed or uses unsupported operators
 */
export function parseProcedural(selector: string, style: string | undefined): ProceduralRule[] {
  if (selector.length > SELECTOR_MAX_CHARS || (style !== undefined && UNSAFE_STYLE.test(style))) return [];
  const [, subject = selector, action = 'hide', value = ''] = ACTION.exec(selector) ?? [];
  const act =
    style === undefined
      ? { action: action as ProceduralRule['action'], value: unquoted(value) }
      : { action: 'style' as const, value: style };
  return (alternatives(subject, 0) ?? []).map((steps) => ({ steps, ...act }));
}

/** Whether a selector has operators that no style sheet can express. */
export function isProcedural(selector: string): boolean {
  return CONTAINS_OPERATOR.test(selector);
}

function alternatives(selector: string, depth: number, prepare = (part: string) => part.trim()): Step[][] | null {
  if (depth > NESTED_MAX) return null;
  const chains: Step[][] = [];
  for (const part of splitAtCommas(selector)) {
    const steps = stepsOf(prepare(part), depth);
    if (steps === null || steps.length === 0) return null;
    chains.push(steps);
  }
  return chains;
}

function stepsOf(selector: string, depth: number): Step[] | null {
  const steps: Step[] = [];
  let plain = selector;
  for (let at = operatorAt(plain); at !== null; at = operatorAt(plain)) {
    const step = at.end > plain.length ? null : stepOf(at, depth);
    if (step === null) return null;
    pushPlain(steps, plain.slice(0, at.start), { depth, next: at.name });
    steps.push(step);
    plain = plain.slice(at.end);
  }
  pushPlain(steps, plain, { depth, next: null });
  return steps;
}

function stepOf({ name, arg }: OperatorAt, depth: number): Step | null {
  if (name !== 'has' && name !== 'not') return { op: name, arg: unquoted(arg.trim()) };
  const of = alternatives(arg, depth + 1, name === 'has' ? asRelative : undefined);
  return of === null || (name === 'not' && !of.every(isAboutItself)) ? null : { op: name, of };
}

/** The argument of `:has(a)` selects descendants. */
function asRelative(selector: string): string {
  return /^\s*[>+~]/.test(selector) ? selector.trim() : ` ${selector.trim()}`;
}

/** Whether the steps test an element itself, without selecting other elements first. */
function isAboutItself(steps: Step[]): boolean {
  return steps.every(({ op }, index) => op !== 'find' && (index === 0 || op !== 'upward') && op !== 'xpath');
}

interface Place {
  depth: number;
  /** The operator that follows; null at the end. */
  next: string | null;
}

/** Appends the plain CSS between two operators as steps. */
function pushPlain(steps: Step[], css: string, { depth, next }: Place): void {
  const isFirst = steps.length === 0;
  if (css.trim() === '') {
    if (isFirst && depth === 0 && next !== 'matches-path' && next !== 'xpath') steps.push({ op: 'find', arg: '*' });
    return;
  }
  const whole = next !== null && /[\s>+~]$/.test(css) ? `${css}*` : css;
  const rest = isFirst && depth === 0 ? 0 : compoundEnd(whole);
  if (rest > 0) steps.push({ op: 'is', arg: whole.slice(0, rest) });
  if (rest < whole.length) steps.push({ op: 'find', arg: whole.slice(rest) });
}

/** The index at which the selector's first compound ends and a combinator begins. */
function compoundEnd(css: string): number {
  return topLevel(css).find((at) => /[\s>+~]/.test(css[at] ?? '')) ?? css.length;
}

interface OperatorAt {
  name: Operator | 'has' | 'not';
  arg: string;
  start: number;
  end: number;
}

function operatorAt(css: string): OperatorAt | null {
  for (const at of topLevel(css).filter((place) => css[place] === ':')) {
    const name = /^:([a-z-]+)\(/.exec(css.slice(at, at + 24))?.[1];
    if (name === undefined) continue;
    const open = at + name.length + 1;
    const end = closing(css, open);
    const arg = css.slice(open + 1, end - 1);
    if (isOperator(name) || ((name === 'has' || name === 'not') && isProcedural(arg)))
      return { name, arg, start: at, end };
  }
  return null;
}

function isOperator(name: string): name is Operator {
  return (OPERATORS as readonly string[]).includes(name);
}

/** The indexes of the characters that are in no brackets or quotes. */
function topLevel(css: string): number[] {
  const indexes: number[] = [];
  for (let at = 0; at < css.length; at = indexAfter(css, at)) indexes.push(at);
  return indexes;
}

/** The index after a character, or after the brackets or quotes that open there. */
function indexAfter(css: string, at: number): number {
  const char = css[at] ?? '';
  if (char === '\\') return at + 2;
  if (char === '(' || char === '[') return closing(css, at);
  if (char === '"' || char === "'") return quoteEnd(css, at);
  return at + 1;
}

/** The index after the bracket that closes the one at `open`; beyond the end of the text if none does. */
function closing(css: string, open: number, isText = startsText(css, open)): number {
  const closes = css[open] === '[' ? ']' : ')';
  for (let at = open + 1; at < css.length; at++) {
    const char = css[at];
    if (char === '\\') at++;
    else if (char === closes) return at + 1;
    else if (!isText && (char === '"' || char === "'")) at = quoteEnd(css, at) - 1;
    else if (char === '(') at = closing(css, at, isText || startsText(css, at)) - 1;
  }
  return css.length + 1;
}

/** Whether the argument is a regular expression or text, in which quotes are ordinary characters. */
function startsText(css: string, open: number): boolean {
  return (
    /:(?:has-text|matches-path)$/.test(css.slice(Math.max(0, open - 13), open)) && !/^["']/.test(css[open + 1] ?? '')
  );
}

function quoteEnd(css: string, start: number): number {
  for (let at = start + 1; at < css.length; at++) {
    if (css[at] === '\\') at++;
    else if (css[at] === css[start]) return at + 1;
  }
  return css.length;
}

function splitAtCommas(selector: string): string[] {
  const ends = [...topLevel(selector).filter((at) => selector[at] === ','), selector.length];
  return ends.map((end, nth) => selector.slice(nth === 0 ? 0 : (ends[nth - 1] ?? 0) + 1, end));
}

function unquoted(text: string): string {
  return /^"[^"]*"$|^'[^']*'$/.test(text) ? text.slice(1, -1) : text;
}
