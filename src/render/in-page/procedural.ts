import { documentProperty, force, isElement, isVisible, styleOf } from './dom.js';
import { documents } from './dom-cache.js';

/** A filter rule that no style sheet can express: it selects elements step by step, then acts on them. */
export interface ProceduralRule {
  steps: Step[];
  action: 'hide' | 'style' | 'remove' | 'remove-attr' | 'remove-class';
  /** The declarations, attribute or class that the action uses. */
  value: string;
}

/**
 * One step from the selected elements to the next: `find` selects by CSS among descendants and siblings, `is` among the
 * elements themselves; the others are uBlock Origin's operators.
 */
export type Step =
  | { op: 'find' | 'is' | Operator; arg: string }
  | {
      op: 'has' | 'not';
      /** Alternative chains of steps. */
      of: Step[][];
    };

export type Operator =
  | 'has-text'
  | 'matches-attr'
  | 'matches-css'
  | 'matches-css-after'
  | 'matches-css-before'
  | 'matches-path'
  | 'upward'
  | 'xpath';

/** The time limits of one call, and of all calls in one document, which are checked between rules. */
const CALL_MAX_MS = 25;
const DOCUMENT_MAX_MS = 75;
/** The maximum length of an element's text that is tested. */
const TEXT_MAX_CHARS = 100_000;
/** An XPath expression is evaluated in one call, and may be quadratic in the number of elements. */
const XPATH_ELEMENTS_MAX = 10_000;

let spentMs = 0;
/** By rule, the elements that match it only because it has removed others. */
const spared = new Map<string, WeakSet<Element>>();

/**
 * Hides or changes what the rules are about, in this document and the frames that may be read, as far as the time allows.
 * @returns how many visible elements were hidden or removed
 */
export function apply(rules: readonly ProceduralRule[]): number {
  const began = performance.now();
  const mostMs = Math.min(CALL_MAX_MS, DOCUMENT_MAX_MS - spentMs);
  const all = documents();
  const matched: { element: HTMLElement; rule: ProceduralRule }[] = [];
  for (const rule of rules) {
    if (performance.now() - began > mostMs) break;
    for (const element of elementsOf(rule, all)) matched.push({ element, rule });
  }
  spentMs += performance.now() - began;
  // Measured before any change, so that the layout is computed once.
  const gone = matched.filter(({ element, rule }) => /^(hide|remove)$/.test(rule.action) && isVisible(element)).length;
  for (const { element, rule } of matched) act(element, rule);
  for (const rule of new Set(matched.map((one) => one.rule)))
    if (rule.action === 'remove') for (const element of elementsOf(rule, all)) sparedBy(rule).add(element);
  return gone;
}

/** The elements that match one rule; none if the rule is invalid. */
function elementsOf(rule: ProceduralRule, all: readonly Document[]): HTMLElement[] {
  try {
    const found = all.flatMap((one) => run(rule.steps, [one])).filter(isElement) as HTMLElement[];
    return rule.action === 'remove' ? found.filter((element) => !sparedBy(rule).has(element)) : found;
  } catch {
    return [];
  }
}

function sparedBy({ steps }: ProceduralRule): WeakSet<Element> {
  const key = JSON.stringify(steps);
  const known = spared.get(key) ?? new WeakSet();
  spared.set(key, known);
  return known;
}

type Subject = Document | Element;

function run(steps: readonly Step[], from: readonly Subject[]): readonly Subject[] {
  return steps.reduce(
    (subjects, step) => [...new Set(subjects.flatMap((subject) => [...select(step, subject)]))],
    from,
  );
}

/** The elements that a step selects from one. */
function select(step: Step, subject: Subject): Iterable<Subject> {
  switch (step.op) {
    case 'find':
      return below(subject, step.arg);
    case 'is':
      return isElement(subject) ? only(subject, subject.matches(step.arg)) : below(subject, step.arg);
    case 'has':
      return only(subject, matchesAny(step.of, subject));
    case 'not':
      return only(subject, !matchesAny(step.of, subject));
    case 'upward':
      return upward(subject, step.arg);
    case 'xpath':
      return byXPath(subject, step.arg);
    case 'matches-path':
      return only(subject, isIn(pathOf(subject), step.arg));
    case 'has-text':
      return only(
        subject,
        isElement(subject) && isIn((subject.textContent ?? '').slice(0, TEXT_MAX_CHARS).trim(), step.arg),
      );
    case 'matches-attr':
      return only(subject, isElement(subject) && hasAttribute(subject, step.arg));
    default:
      return only(subject, isElement(subject) && hasStyle(subject, step.op, step.arg));
  }
}

function matchesAny(chains: readonly Step[][], subject: Subject): boolean {
  return chains.some((steps) => run(steps, [subject]).length > 0);
}

function only(subject: Subject, fits: boolean): Subject[] {
  return fits ? [subject] : [];
}

/** Selects by a selector that may begin with a combinator. */
function below(subject: Subject, css: string): Iterable<Element> {
  const selector = css.trim();
  if (!isElement(subject)) return subject.querySelectorAll(/^[>+~]/.test(selector) ? `:scope ${selector}` : selector);
  if (!/^[+~]/.test(selector)) return subject.querySelectorAll(`:scope ${selector}`);
  const parent = subject.parentElement;
  if (parent === null) return [];
  const place = Array.prototype.indexOf.call(parent.children, subject) + 1;
  return parent.querySelectorAll(`:scope > :nth-child(${place}) ${selector}`);
}

function upward(subject: Subject, arg: string): Element[] {
  let at = isElement(subject) ? subject.parentElement : null;
  if (!/^\d{1,3}$/.test(arg)) at = at?.closest(arg) ?? null;
  else for (let left = Number(arg); left > 1 && at !== null; left--) at = at.parentElement;
  return at === null || arg === '0' ? [] : [at];
}

function byXPath(subject: Subject, expression: string): Element[] {
  const tree = subject.ownerDocument ?? (subject as Document);
  if (tree.getElementsByTagName('*').length > XPATH_ELEMENTS_MAX) return [];
  const result = tree.evaluate(expression, subject, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
  const nodes = Array.from({ length: result.snapshotLength }, (_, at) => result.snapshotItem(at));
  return nodes.filter((node) => node !== null && isElement(node));
}

function pathOf(subject: Subject): string {
  const { location } = subject.ownerDocument?.defaultView ?? (subject as Document).defaultView ?? window;
  return location.pathname + location.search;
}

/** @param wanted `name` or `name=value`, each a text or a regular expression */
function hasAttribute(element: Element, wanted: string): boolean {
  const [, name = wanted, value] = /^("[^"]*"|\/.*?[^\\]\/[imu]*|[^=]*)=(.*)$/s.exec(wanted) ?? [];
  return element
    .getAttributeNames()
    .some((one) => is(one, name) && (value === undefined || is(element.getAttribute(one) ?? '', value)));
}

/** @param wanted `property: value`; the value is a text or a regular expression */
function hasStyle(
  element: Element,
  op: 'matches-css' | 'matches-css-after' | 'matches-css-before',
  wanted: string,
): boolean {
  const [, part, property = '', value = ''] = /^(?:(before|after)\s*,\s*)?([\w-]+)\s*:(.*)$/s.exec(wanted) ?? [];
  const pseudo = part ?? (op === 'matches-css' ? null : op.slice('matches-css-'.length));
  const style = element.ownerDocument.defaultView?.getComputedStyle(element, pseudo === null ? null : `::${pseudo}`);
  return style !== undefined && is(style.getPropertyValue(property), value.trimStart());
}

/** Whether the text contains the pattern, or matches it. */
function isIn(text: string, pattern: string): boolean {
  return expressionOf(pattern)?.test(text) ?? text.includes(pattern);
}

/** Whether the text is the pattern, or matches it. */
function is(text: string, pattern: string): boolean {
  const plain = pattern.replace(/^(["'])(.*)\1$/s, '$2');
  return expressionOf(plain)?.test(text) ?? text === plain;
}

/** Parses `/…/flags`; null for other text. */
function expressionOf(pattern: string): RegExp | null {
  const [, source, flags] = /^\/(.+)\/([imsu]*)$/s.exec(pattern) ?? [];
  return source === undefined ? null : new RegExp(source, flags);
}

function act(element: HTMLElement, { action, value }: ProceduralRule): void {
  if (element === documentProperty('documentElement', element.ownerDocument)) return;
  if (action === 'hide') force(element, 'display', 'none');
  else if (action === 'remove') Element.prototype.remove.call(element);
  else if (action === 'style') setStyle(element, value);
  else if (action === 'remove-class')
    element.classList.remove(...[...element.classList].filter((name) => is(name, value)));
  else for (const name of element.getAttributeNames()) if (is(name, value)) element.removeAttribute(name);
}

function setStyle(element: HTMLElement, declarations: string): void {
  const wanted = document.createElement('i').style;
  wanted.cssText = declarations;
  for (const property of wanted) {
    styleOf(element).setProperty(property, wanted.getPropertyValue(property), wanted.getPropertyPriority(property));
  }
}
