import { CosmeticFilter } from '@ghostery/adblocker';
import type { Scriptlet } from '../in-page/scriptlets/scriptlet.js';
import { isProcedural } from './parse-procedural.js';

/** Must be raised when the result changes, so that lists are parsed again. */
export const SYNTAX_VERSION = 3;

/** Matches the domains, the rule's kind between `#` and `#`, and its body. */
const RULE = /^([^#\s[/|^]*)#(@?)(\$?\??)#(.+)$/;
/** AdGuard's and Adblock Plus' names for operators of uBlock Origin. */
const SYNONYMS: readonly [RegExp, string][] = [
  [/:(?:-abp-)?contains\(/g, ':has-text('],
  [/:-abp-has\(/g, ':has('],
  [/:nth-ancestor\(/g, ':upward('],
];
/** Matches `selector { declarations }`. */
const STYLED = /^(.*\S)\s*\{([^{}]*)\}\s*$/;

/**
 * Converts AdGuard's and Adblock Plus' procedural rules to uBlock Origin's syntax, the only one that the library parses, and
 * scriptlet calls to one form. Other lines are unchanged.
 */
export function commonSyntax(text: string): string {
  return text.split(/\r?\n/).map(commonLine).join('\n');
}

function commonLine(line: string): string {
  const sharp = line.indexOf('#');
  if (sharp === -1 || line.startsWith('!')) return line;
  const scriptlet = scriptletLine(line);
  if (scriptlet !== null) return scriptlet;
  const [, domains, at, kind, body] = RULE.exec(line) ?? [];
  if (body === undefined || (kind === '' && !line.includes(':'))) return line;
  const selector = SYNONYMS.reduce((renamed, [synonym, name]) => renamed.replace(synonym, name), body);
  if (kind === '' || kind === '?') return `${domains}#${at}#${selector}`;
  const styled = withStyle(selector);
  return styled === null ? line : `${domains}#${at}#${styled}`;
}

/** Converts AdGuard's CSS rules if they are procedural. Others only restyle visible content. */
function withStyle(body: string): string | null {
  const [, selector, style] = STYLED.exec(body) ?? [];
  if (selector === undefined || style === undefined) return null;
  if (/^\s*remove:\s*true;?\s*$/.test(style)) return `${selector}:remove()`;
  return isProcedural(selector) ? `${selector}:style(${style.trim()})` : null;
}

/** The scriptlets of src/render/in-page/scriptlets/run.ts, with their aliases in uBlock Origin and AdGuard. */
const NAMES: Record<string, readonly string[]> = {
  'abort-current-script': ['acs', 'abort-current-inline-script', 'acis'],
  'abort-on-property-read': ['aopr'],
  'abort-on-property-write': ['aopw'],
  'adjust-setInterval': ['nano-setInterval-booster', 'nano-sib'],
  'adjust-setTimeout': ['nano-setTimeout-booster', 'nano-stb'],
  'json-prune': [],
  'prevent-addEventListener': ['addEventListener-defuser', 'aeld'],
  'prevent-fetch': ['no-fetch-if'],
  'prevent-setInterval': ['no-setInterval-if', 'nosiif', 'setInterval-defuser'],
  'prevent-setTimeout': ['no-setTimeout-if', 'nostif', 'setTimeout-defuser'],
  'prevent-window-open': ['nowoif', 'no-window-open-if', 'window.open-defuser'],
  'prevent-xhr': ['no-xhr-if'],
  'remove-attr': ['ra'],
  'remove-class': ['rc'],
  'remove-node-text': ['rmnt'],
  'set-constant': ['set'],
  'set-cookie': ['set-cookie-reload'],
  'set-local-storage-item': [],
  'set-session-storage-item': [],
};
const NAME_OF = new Map(Object.entries(NAMES).flatMap(([name, others]) => [name, ...others].map((one) => [one, name] as const)));

const ARGUMENTS_MAX = 9;
const ARGUMENT_MAX_CHARS = 1_000;
/** Matches the domains, the exception mark, and the call. */
const ADGUARD = /^([^#]*)#(@?)%#\/\/scriptlet\((.*)\)\s*$/;
const UBLOCK = /^([^#]*)#(@?)#\+js\((.*)\)\s*$/;
const QUOTED = /(["'])((?:\\.|(?!\1).)*)\1/g;

/**
 * Converts a rule that calls a scriptlet, in either syntax, to `domains##+js(…)` with name and arguments as JSON, so that
 * exceptions match the same call in any spelling.
 * @returns null for any other line; an empty string if there is no such scriptlet
 */
export function scriptletLine(line: string): string | null {
  const adguard = line.includes('%#//scriptlet(') ? ADGUARD.exec(line) : null;
  const ublock = adguard === null && line.includes('#+js(') ? UBLOCK.exec(line) : null;
  const [, domains = '', at = '', text = ''] = adguard ?? ublock ?? [];
  if (adguard === null && ublock === null) return null;
  // AdGuard's rules for certain paths or apps would apply everywhere without that condition, so they are dropped.
  if (domains.startsWith('[')) return '';
  if (text.trim() === '') return at === '' ? '' : `${domains}#@#+js()`;
  const scriptlet = canonical(adguard === null ? ublockCall(line) : adguardCall(text));
  // The library treats a line with two dollar signs as another kind of rule.
  return scriptlet === null ? '' : `${domains}#${at}#+js(${JSON.stringify(scriptlet).replaceAll('$', '\\u0024')})`;
}

/** Parses the call of a rule written by `scriptletLine`; null for any other rule. */
export function readScriptlet(selector: string): Scriptlet | null {
  if (!selector.startsWith('[')) return null;
  try {
    return canonical(JSON.parse(selector) as string[]);
  } catch {
    return null;
  }
}

function ublockCall(line: string): string[] {
  const { name = '', args = [] } = CosmeticFilter.parse(line)?.parseScript() ?? {};
  return [name, ...args];
}

function adguardCall(text: string): string[] {
  return [...text.matchAll(QUOTED)].map(([, quote = '', inner = '']) => inner.replaceAll(`\\${quote}`, quote));
}

function canonical([called = '', ...given]: string[]): Scriptlet | null {
  const name = NAME_OF.get(called.replace(/^ubo-/, '').replace(/\.js$/, ''));
  if (name === undefined || given.length > ARGUMENTS_MAX || given.some((one) => one.length > ARGUMENT_MAX_CHARS)) return null;
  // A condition on the call stack is not supported, and the rule would apply everywhere without it.
  if (name === 'set-constant' && given.slice(2).some((one) => one !== '')) return null;
  return [name, ...given];
}
