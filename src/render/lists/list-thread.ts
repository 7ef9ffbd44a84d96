/** The worker for one expensive task: checking or parsing filter lists, or extracting them from a package. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { FiltersEngine, type NetworkFilter } from '@ghostery/adblocker';
import { isBoundedRegex } from './bounded-regex.js';
import { ENGINE_OPTIONS, MATCHED_CHARS } from './engines.js';
import { commonSyntax } from './list-syntax.js';

interface ListFacts {
  /** The number of rules of the list to be replaced; 0 if there is none. */
  formerRules: number;
  /** Whether the operator has configured its URL. */
  isOwn?: boolean;
  /** Whether the response stated its length, so that the text is known to be complete. */
  isWhole?: boolean;
}

/** A default list with fewer rules is invalid. An operator's own list may be shorter. */
const RULES_MIN = 10;
/** A list that has lost more than this share of its rules counts as truncated, unless it was short. */
const SHRINK_MAX = 0.5;
/** The engine tries such rules for every request, whatever its URL. The largest public lists have some hundreds. */
const REGEXES_MAX = 5_000;
const REGEX_LINE = /^(?:@@)?\/.+\/(?:\$|[ \t]*$)/;
const CHECKSUM_LINE = /^[ \t]*![ \t]*checksum[ \t:-]+([\w+/=]+)(?![\w+/=])[^\n]*\n/im;

/** The tasks by name. Arguments and results are plain data. */
const JOBS = { parse, check, extract };
export type Jobs = typeof JOBS;

/**
 * Parses filter lists, in this order, without regular expressions that may not end.
 * @returns the serialized engine
 */
function parse(texts: string[]): Uint8Array {
  const engine = FiltersEngine.parse(commonSyntax(texts.join('\n')), ENGINE_OPTIONS);
  const isEndless = (rule: NetworkFilter) =>
    rule.isFullRegex() && !isBoundedRegex(rule.getRegex().source, MATCHED_CHARS);
  const { networkFilters } = engine.getFilters();
  engine.update({ removedNetworkFilters: networkFilters.filter(isEndless).map((rule) => rule.getId()) });
  return engine.serialize();
}

/**
 * Checks a fetched list.
 * @returns `problem` is the reason why the text may not replace a list, or null
 */
function check(content: Uint8Array, facts: ListFacts) {
  const text = new TextDecoder().decode(content);
  return { problem: listProblem(text, facts), rules: countRules(text) };
}

/**
 * The lists that the rule sets of the npm package were made from, by number, each stored in the first entry of its set.
 * @throws Error if a set has none
 */
function extract(dir: string, ids: readonly number[]): Record<number, string> {
  const lists: Record<number, string> = {};
  for (const id of ids) {
    const file = join(dir, `dist/filters/declarative/ruleset_${id}/ruleset_${id}.json`);
    if (!existsSync(file)) continue;
    const [first] = JSON.parse(readFileSync(file, 'utf8')) as { metadata?: { rawFilterList?: unknown } }[];
    const list = first?.metadata?.rawFilterList;
    if (typeof list !== 'string') throw new Error('the package has no filter list at the expected path');
    lists[id] = list;
  }
  return lists;
}

/** Counts the lines that are rules: neither empty, nor comments, nor headers. */
function countRules(text: string): number {
  return text.split('\n').filter((line) => line.length > 2 && !/^\s*(!|\[|#\s|$)/.test(line)).length;
}

/**
 * Checks whether a fetched text may replace a list.
 * @returns the problem, or null
 */
export function listProblem(text: string, { formerRules, isOwn = false, isWhole = false }: ListFacts): string | null {
  const normal = text.replaceAll('\r', '').replace(/^\uFEFF/, '');
  if (/^\s*(<!doctype|<html|<\?xml|\{)/i.test(normal)) return 'is not a filter list';
  if (normal.includes('\0') || normal.includes('\uFFFD\uFFFD')) return 'is not text';
  if (!(isOwn && isWhole) && !normal.endsWith('\n') && !/^!\s*checksum/im.test(normal))
    return 'ends in the middle of a line';
  const rules = countRules(normal);
  if (rules < (isOwn ? 1 : RULES_MIN)) return rules === 1 ? 'has 1 rule' : `has ${rules} rules`;
  if (formerRules >= RULES_MIN && rules < formerRules * (1 - SHRINK_MAX))
    return `has ${rules} rules where it had ${formerRules}`;
  const regexes = normal.split('\n').filter((line) => REGEX_LINE.test(line)).length;
  if (regexes > REGEXES_MAX) return `has ${regexes} rules that are regular expressions, more than ${REGEXES_MAX}`;
  const stated = CHECKSUM_LINE.exec(normal)?.[1]?.replace(/(?<!=)=+$/, '');
  if (stated !== undefined && !checksums(normal).includes(stated)) return 'does not match its own checksum';
  return null;
}

/** The checksum by the list authors' convention: MD5 without the checksum line, with or without empty lines. */
function checksums(text: string): string[] {
  const rest = text.replace(CHECKSUM_LINE, '');
  return [rest, rest.replace(/\n+/g, '\n')].map((form) =>
    createHash('md5')
      .update(form)
      .digest('base64')
      .replace(/(?<!=)=+$/, ''),
  );
}

if (parentPort !== null) {
  const { name, given: args } = workerData as { name: keyof Jobs; given: never[] };
  parentPort.postMessage((JOBS[name] as (...all: never[]) => unknown)(...args));
}
