import { NetworkFilter } from '@ghostery/adblocker';

/** Rules are matched against this many characters of a URL. */
export const MATCHED_CHARS = 2_048;

const patternOf = Object.getOwnPropertyDescriptor(NetworkFilter.prototype, 'getRegex')?.value as (this: NetworkFilter) => RegExp;

/**
 * Makes the library match rules with wildcards in linear time. Its own regular expressions are exponential in the number of
 * wildcards, and both list and URL may be hostile.
 */
export function matchLinearly(): void {
  NetworkFilter.prototype.getRegex = function getRegex(this: NetworkFilter): RegExp {
    if (this.regex === undefined && !this.isFullRegex() && this.filter?.includes('*')) this.regex = wildcardPattern(this, this.filter);
    return this.regex ?? patternOf.call(this);
  };
}

/** A lookahead never backtracks, so the text between two wildcards is matched at its first occurrence only. */
function wildcardPattern(rule: NetworkFilter, text: string): RegExp {
  const [first = '', ...others] = text.split('*').map(literalPattern);
  const last = others.pop() ?? '';
  const found = [...(rule.isLeftAnchor() ? [] : [first]), ...others].map((part, index) => `(?=(.*?${part}))\\${index + 1}`).join('');
  const start = rule.isLeftAnchor() ? first : '';
  return new RegExp(`^${start}${found}.*?${last}${rule.isRightAnchor() ? '$' : ''}`, rule.isCaseSensitive ? '' : 'i');
}

function literalPattern(text: string): string {
  return text.replace(/[|.$+?{}()[\]\\]/g, '\\$&').replaceAll('^', '(?:[^\\w\\d_.%-]|$)');
}
