import { NetworkFilter } from '@ghostery/adblocker';

/** Rules are matched with so much of a URL. */
export const MATCHED_CHARS = 2_048;

const patternOf = Object.getOwnPropertyDescriptor(NetworkFilter.prototype, 'getRegex')?.value as (this: NetworkFilter) => RegExp;

/**
 * Makes the library match rules with wildcards in linear time. Its own regular expressions take time to the power of the number of wildcards,
 * and both list and URL may be hostile.
 */
export function matchLinearly(): void {
  NetworkFilter.prototype.getRegex = function getRegex(this: NetworkFilter): RegExp {
    if (this.regex === undefined && !this.isFullRegex() && this.filter?.includes('*')) this.regex = wildcardPattern(this, this.filter);
    return this.regex ?? patternOf.call(this);
  };
}

/** What stands between two wildcards is found where it first occurs, once and for all: lookaheads are never tried again. */
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
