import { createHash } from 'node:crypto';

/** A default list with fewer rules is invalid. An operator's own list may be short. */
const RULES_MIN = 10;
/** A list that has lost more than this share of its rules is considered truncated, unless it was a short one. */
const SHRINK_MAX = 0.5;
const CHECKSUM_LINE = /^[ \t]*![ \t]*checksum[ \t:-]+([\w+/=]+)[^\n]*\n/im;

/** Lines that are rules: neither empty, nor comment, nor header. */
export function countRules(text: string): number {
  let count = 0;
  for (const line of text.split('\n')) if (line.length > 2 && !/^\s*(!|\[|#\s|$)/.test(line)) count += 1;
  return count;
}

export interface ListFacts {
  /** Number of rules of the list that it replaces, 0 for none. */
  formerRules: number;
  /** Whether the operator has named its address. */
  isOwn?: boolean;
  /** Whether the answer stated its length, so that nothing was lost on the way. */
  isWhole?: boolean;
}

/**
 * Checks whether a fetched text may replace a list.
 *
 * @returns the problem, or null
 */
export function listProblem(text: string, { formerRules, isOwn = false, isWhole = false }: ListFacts): string | null {
  const normal = text.replaceAll('\r', '').replace(/^\uFEFF/, '');
  if (/^\s*(<!doctype|<html|<\?xml|\{)/i.test(normal)) return 'is not a filter list';
  if (normal.includes('\0') || normal.includes('\uFFFD\uFFFD')) return 'is not text';
  if (!(isOwn && isWhole) && !normal.endsWith('\n') && !/^!\s*checksum/im.test(normal)) return 'ends in the middle of a line';
  const rules = countRules(normal);
  if (rules < (isOwn ? 1 : RULES_MIN)) return rules === 1 ? 'has 1 rule' : `has ${rules} rules`;
  if (formerRules >= RULES_MIN && rules < formerRules * (1 - SHRINK_MAX)) return `has ${rules} rules where it had ${formerRules}`;
  const told = CHECKSUM_LINE.exec(normal)?.[1]?.replace(/=+$/, '');
  if (told !== undefined && !checksums(normal).includes(told)) return 'does not match its own checksum';
  return null;
}

/** The checksum that list authors use: MD5 without the checksum line, with or without empty lines. */
function checksums(text: string): string[] {
  const rest = text.replace(CHECKSUM_LINE, '');
  return [rest, rest.replace(/\n+/g, '\n')].map((form) => createHash('md5').update(form).digest('base64').replace(/=+$/, ''));
}
