import { documentProperty, isVisible } from './dom.js';
import { force, styleOf } from './styles.js';

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

/** The time limits of one call, and of all calls in one document. */
const CALL_MAX_MS = 25;
const DOCUMENT_MAX_MS = 75;
/** Reading the clock costs about as much as testing one element. */
const CHECK_EVERY = 16;
/** This many steps are always allowed, so that a page's few rules are evaluated even on a busy machine. */
const STEPS_MIN = 512;
const FRAMES_MAX = 20;
/** The maximum length of an element's text that is tested. */
const TEXT_MAX_CHARS = 100_000;
/** An XPath expression is evaluated in one call, and may be quadratic in the number of elements. */
const XPATH_ELEMENTS_MAX = 10_000;

let spentMs = 0;

/**
 * Hides or changes what the rules are about, in this document and the frames that may be read, as far as the time allows.
 * `@ghostery/adblocker-extended-selectors` cannot be stopped within a rule, and takes up to 90 ms for one on 25,000 elements.
 *
 * @returns how many visible elements were hidden or removed
 */
export function apply(rules: readonly ProceduralRule[]): number {
  const all = matched(rules);
  // Measured before any change, so that the layout is computed once.
  const gone = all.filter(({ element, rule }) => disappears(rule) && isVisible(element)).length;
  for (const { element, rule } of all) act(element, rule);
  return gone;
}

function disappears({ action }: ProceduralRule): boolean {
  return action === 'hide' || action === 'remove';
}

class OutOfTime extends Error {}

/** Measures time, and throws once the limit is reached. */
class Clock {
  readonly #began = performance.now();
  readonly #endsAt = this.#began + Math.min(CALL_MAX_MS, DOCUMENT_MAX_MS - spentMs);
  #looks = 0;

  get ms(): number {
    return performance.now() - this.#began;
  }

  tick(): void {
    if (this.#looks++ % CHECK_EVERY === 0) this.check();
  }

  check(): void {
    if (this.#looks > STEPS_MIN && performance.now() > this.#endsAt) throw new OutOfTime();
  }
}

interface Matched {
  element: HTMLElement;
  rule: ProceduralRule;
}

/** The elements that match the rules, as far as they are found in time. */
function matched(rules: readonly ProceduralRule[]): Matched[] {
  const all: Matched[] = [];
  if (rules.length === 0) return all;
  const clock = new Clock();
  try {
    for (const tree of documents()) {
      for (const rule of rules) for (const element of found(rule, tree, clock)) all.push({ element: element as HTMLElement, rule });
    }
  } catch (error) {
    if (!(error instanceof OutOfTime)) throw error;
  } finally {
    spentMs += clock.ms;
  }
  return all;
}

function documents(): Document[] {
  const frames = [...document.querySelectorAll('iframe')].slice(0, FRAMES_MAX);
  return [document, ...frames.map((frame) => frame.contentDocument).filter((inner) => inner !== null)];
}

/** The elements that match one rule; none if the rule is invalid. */
function found(rule: ProceduralRule, tree: Document, clock: Clock): Element[] {
  clock.check();
  try {
    return run(rule.steps, [tree], clock).filter((node) => node.nodeType === Node.ELEMENT_NODE) as Element[];
  } catch (error) {
    if (error instanceof OutOfTime) throw error;
    return [];
  }
}

type Subject = Document | Element;

function run(steps: readonly Step[], from: readonly Subject[], clock: Clock): Subject[] {
  let subjects = [...from];
  for (const step of steps) {
    const next = new Set<Subject>();
    const take = taker(step, clock);
    for (const subject of subjects) {
      clock.tick();
      for (const one of take(subject)) next.add(one);
    }
    subjects = [...next];
    if (subjects.length === 0) break;
  }
  return subjects;
}

/** Maps one element to the elements that a step selects from it. */
type Take = (subject: Subject) => Iterable<Subject>;

function taker(step: Step, clock: Clock): Take {
  switch (step.op) {
    case 'find':
      return (subject) => below(subject, step.arg);
    case 'is':
      return (subject) => (isElement(subject) ? only(subject, subject.matches(step.arg)) : below(subject, step.arg));
    case 'has':
      return (subject) => only(subject, matchesAny(step.of, subject, clock));
    case 'not':
      return (subject) => only(subject, !matchesAny(step.of, subject, clock));
    case 'upward':
      return upward(step.arg);
    case 'xpath':
      return (subject) => byXPath(subject, step.arg);
    default:
      return filterOf(step.op, step.arg);
  }
}

function matchesAny(chains: readonly Step[][], subject: Subject, clock: Clock): boolean {
  return chains.some((steps) => run(steps, [subject], clock).length > 0);
}

function filterOf(op: Exclude<Step['op'], 'find' | 'is' | 'has' | 'not' | 'upward' | 'xpath'>, arg: string): Take {
  if (op === 'matches-path') {
    const fits = textTest(arg);
    return (subject) => only(subject, fits(pathOf(subject)));
  }
  const test = op === 'has-text' ? textOf(arg) : op === 'matches-attr' ? attributeTest(arg) : styleTest(op, arg);
  return (subject) => only(subject, isElement(subject) && test(subject));
}

function only(subject: Subject, fits: boolean): Subject[] {
  return fits ? [subject] : [];
}

/** Tested by node type, since nodes in a frame are instances of that frame's classes. */
function isElement(subject: Subject): subject is Element {
  return subject.nodeType === Node.ELEMENT_NODE;
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

function upward(arg: string): Take {
  const steps = /^\d{1,3}$/.test(arg) ? Number(arg) : null;
  return (subject) => {
    let at = isElement(subject) ? subject.parentElement : null;
    if (steps === null) at = at?.closest(arg) ?? null;
    else for (let left = steps; left > 1 && at !== null; left--) at = at.parentElement;
    return at === null || steps === 0 ? [] : [at];
  };
}

function byXPath(subject: Subject, expression: string): Element[] {
  const tree = subject.ownerDocument ?? (subject as Document);
  if (tree.getElementsByTagName('*').length > XPATH_ELEMENTS_MAX) return [];
  const result = tree.evaluate(expression, subject, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
  const elements: Element[] = [];
  for (let at = 0; at < result.snapshotLength; at++) {
    const node = result.snapshotItem(at);
    if (node?.nodeType === Node.ELEMENT_NODE) elements.push(node as Element);
  }
  return elements;
}

function pathOf(subject: Subject): string {
  const { location } = subject.ownerDocument?.defaultView ?? (subject as Document).defaultView ?? window;
  return location.pathname + location.search;
}

function textOf(arg: string): (element: Element) => boolean {
  const fits = textTest(arg);
  return (element) => fits((element.textContent ?? '').slice(0, TEXT_MAX_CHARS).trim());
}

/** Parses `name` or `name=value`, each a text or a regular expression. */
function attributeTest(arg: string): (element: Element) => boolean {
  const [, name = arg, value] = /^("[^"]*"|\/.*?[^\\]\/[imu]*|[^=]*)=(.*)$/s.exec(arg) ?? [];
  const fitsName = exactTest(name);
  const fitsValue = value === undefined ? () => true : exactTest(value);
  return (element) => element.getAttributeNames().some((one) => fitsName(one) && fitsValue(element.getAttribute(one) ?? ''));
}

/** Parses `property: value`; the value is a text or a regular expression. */
function styleTest(op: 'matches-css' | 'matches-css-after' | 'matches-css-before', arg: string): (element: Element) => boolean {
  const [, part, property = '', value = ''] = /^(?:(before|after)\s*,\s*)?([\w-]+)\s*:\s*(.*)$/s.exec(arg) ?? [];
  const pseudo = part ?? (op === 'matches-css' ? null : op.slice('matches-css-'.length));
  const fits = exactTest(value);
  return (element) => {
    const style = element.ownerDocument.defaultView?.getComputedStyle(element, pseudo === null ? null : `::${pseudo}`);
    return style !== undefined && fits(style.getPropertyValue(property));
  };
}

function textTest(pattern: string): (text: string) => boolean {
  const expression = expressionOf(pattern);
  return expression === null ? (text) => text.includes(pattern) : (text) => expression.test(text);
}

function exactTest(pattern: string): (text: string) => boolean {
  const plain = pattern.replace(/^(["'])(.*)\1$/s, '$2');
  const expression = expressionOf(plain);
  return expression === null ? (text) => text === plain : (text) => expression.test(text);
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
  else if (action === 'remove-attr') eachNamed(element.getAttributeNames(), value, (name) => element.removeAttribute(name));
  else if (action === 'remove-class') eachNamed([...element.classList], value, (name) => element.classList.remove(name));
  else setStyle(element, value);
}

function eachNamed(names: readonly string[], pattern: string, change: (name: string) => void): void {
  const fits = exactTest(pattern);
  for (const name of names) if (fits(name)) change(name);
}

function setStyle(element: HTMLElement, declarations: string): void {
  const wanted = document.createElement('i').style;
  wanted.cssText = declarations;
  for (const property of wanted) {
    styleOf(element).setProperty(property, wanted.getPropertyValue(property), wanted.getPropertyPriority(property));
  }
}
