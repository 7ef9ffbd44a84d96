import { readFile } from 'node:fs/promises';
import { NetworkFilter } from '@ghostery/adblocker';
import { CATEGORIES, type Category } from './category.js';

/** The content of rules.json, written by scripts/build-rules.mjs. */
export interface BuiltInRules {
  /** The version of the filter library that built `engines`. Another version must parse the rules again. */
  engineVersion: number;
  /** A digest that changes with the rules. */
  digest: string;
  /** Hosts of the vendors of a category, each with all subdomains. */
  hosts: Record<Category, string[]>;
  /** Filter rules, verbatim. */
  rules: Record<Category, string[]>;
  /** Serialised engines of `hosts` and `rules`, in base64. */
  engines: Record<Category, string>;
}

/** @param built directory of the build's files */
export async function readBuiltInRules(built: URL): Promise<BuiltInRules> {
  const parsed: unknown = JSON.parse(await readFile(new URL('rules.json', built), 'utf8'));
  return parsed as BuiltInRules;
}

/** The built-in rules of one category as a filter list. */
export function builtInText(builtIn: Pick<BuiltInRules, 'hosts' | 'rules'>, category: Category): string {
  return [...builtIn.hosts[category].map((host) => `||${host}^$third-party`), ...builtIn.rules[category]].join('\n');
}

/**
 * Exceptions from one category for the vendors of the others: lists overlap, but only a vendor's own category may block it.
 * With all switches on, that category blocks the same requests.
 */
export function othersText(builtIn: Pick<BuiltInRules, 'hosts' | 'rules'>, category: Category): string {
  return CATEGORIES.filter((other) => other !== category)
    .flatMap((other) => [
      ...builtIn.hosts[other].map((host) => `@@||${host}^`),
      ...builtIn.rules[other].filter((rule) => rule.startsWith('||')).map((rule) => `@@${rule}`),
    ])
    .join('\n');
}

/** Ids of all exceptions among the built-in rules, which only assign vendors to categories. Takes about 10 ms. */
export function builtInExceptions(builtIn: Pick<BuiltInRules, 'hosts' | 'rules'>): ReadonlySet<number> {
  const lines = CATEGORIES.flatMap((category) => [...builtIn.rules[category], ...othersText(builtIn, category).split('\n')]);
  const ids = lines.filter((line) => line.startsWith('@@')).map((line) => NetworkFilter.parse(line)?.getId());
  return new Set(ids.filter((id) => id !== undefined));
}
