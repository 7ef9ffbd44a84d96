import { isProcedural } from './parse-procedural.js';
import { scriptletLine } from './scriptlet-syntax.js';

/** Raise it when the result changes: lists are then parsed again. */
export const SYNTAX_VERSION = 3;

/** Domains, the rule's kind between `#` and `#`, and its body. */
const RULE = /^([^#\s[/|^]*)#(@?)(\$?\??)#(.+)$/;
/** AdGuard's and Adblock Plus' names of what uBlock Origin calls otherwise. */
const SYNONYMS: readonly [RegExp, string][] = [
  [/:(?:-abp-)?contains\(/g, ':has-text('],
  [/:-abp-has\(/g, ':has('],
  [/:nth-ancestor\(/g, ':upward('],
];
/** `selector { declarations }` */
const STYLED = /^(.*\S)\s*\{([^{}]*)\}\s*$/;

/**
 * A filter list with AdGuard's and Adblock Plus' procedural rules in the syntax of uBlock Origin, which is the only one that the library
 * parses, and with calls of scriptlets written in one way. Other lines stay as they are.
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

/** AdGuard's CSS rules, if they are procedural: others only style what is shown. */
function withStyle(body: string): string | null {
  const [, selector, style] = STYLED.exec(body) ?? [];
  if (selector === undefined || style === undefined) return null;
  if (/^\s*remove:\s*true;?\s*$/.test(style)) return `${selector}:remove()`;
  return isProcedural(selector) ? `${selector}:style(${style.trim()})` : null;
}
