import { createHash } from 'node:crypto';

/** A list with fewer rules is invalid. */
const RULES_MIN = 10;
/** A list that has lost more than this share of its rules is considered truncated. */
const SHRINK_MAX = 0.5;
const CHECKSUM_LINE = /^[ \t]*![ \t]*checksum[ \t:-]+([\w+/=]+)[^\n]*\n/im;

/** Lines that are rules: neither empty, nor comment, nor header. */
export function countRules(text: string): number {
  let count = 0;
  for (const line of text.split('\n')) if (line.length > 2 && !/^\s*(!|\[|#\s|$)/.test(line)) count += 1;
  return count;
}

/**
 * Checks whether a fetched text may replace a list.
 *
 * @param formerRules number of rules of the list that it replaces, 0 for none
 * @returns the problem, or null
 */
export function listProblem(text: string, formerRules: number): string | null {
  const normal = text.replaceAll('\r', '').replace(/^\uFEFF/, '');
  if (/^\s*(<!doctype|<html|<\?xml|\{)/i.test(normal)) return 'is not a filter list';
  if (normal.includes('\0') || normal.includes('\uFFFD\uFFFD')) return 'is not text';
  if (!normal.endsWith('\n') && !/^!\s*checksum/im.test(normal)) return 'ends in the middle of a line';
  const rules = countRules(normal);
  if (rules < RULES_MIN) return `has ${rules} rules`;
  if (rules < formerRules * (1 - SHRINK_MAX)) return `has ${rules} rules where it had ${formerRules}`;
  const told = CHECKSUM_LINE.exec(normal)?.[1]?.replace(/=+$/, '');
  if (told !== undefined && !checksums(normal).includes(told)) return 'does not match its own checksum';
  return null;
}

/** The checksum that list authors use: MD5 without the checksum line, with or without empty lines. */
function checksums(text: string): string[] {
  const rest = text.replace(CHECKSUM_LINE, '');
  return [rest, rest.replace(/\n+/g, '\n')].map((form) => createHash('md5').update(form).digest('base64').replace(/=+$/, ''));
}
