import { isProcedural } from './parse-procedural.js';

/** Must be raised when the result changes, so that lists are parsed again. */
export const SYNTAX_VERSION = 4;

/** Matches a call of a scriptlet, which the library would load for nothing. */
const SCRIPTLET = /#@?#\+js\(/;
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
 * Converts AdGuard's and Adblock Plus' procedural rules to uBlock Origin's syntax, the only one that the library parses.
 * Calls of scriptlets become empty lines. Other lines are unchanged.
 */
export function commonSyntax(text: string): string {
  return text.split(/\r?\n/).map(commonLine).join('\n');
}

function commonLine(line: string): string {
  const sharp = line.indexOf('#');
  if (sharp === -1 || line.startsWith('!')) return line;
  if (SCRIPTLET.test(line)) return '';
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
