import { readFile } from 'node:fs/promises';
import { CATEGORIES, type Category } from './category.js';

/** What scripts/build-rules.mjs leaves in rules.json. */
export interface BuiltInRules {
  /** Of the filter library that made `engines`; another version must parse the text again. */
  engineVersion: number;
  /** Changes with the rules. */
  digest: string;
  /** Vendors that a switch owns, each with everything under it. */
  hosts: Record<Category, string[]>;
  /** Filter rules as they stand. */
  rules: Record<Category, string[]>;
  /** Serialised engines of the two, base64. */
  engines: Record<Category, string>;
}

/** @param built directory of the build's files */
export async function readBuiltInRules(built: URL): Promise<BuiltInRules> {
  const parsed: unknown = JSON.parse(await readFile(new URL('rules.json', built), 'utf8'));
  return parsed as BuiltInRules;
}

/** The built-in rules of one switch as a filter list. */
export function builtInText(builtIn: Pick<BuiltInRules, 'hosts' | 'rules'>, category: Category): string {
  return [...builtIn.hosts[category].map((host) => `||${host}^$third-party`), ...builtIn.rules[category]].join('\n');
}

/**
 * Exceptions that keep a switch's hands off the vendors of the other three: lists overlap, and each vendor is to be
 * caught by its own switch only. With all on nothing is lost, since the owner blocks the same.
 */
export function othersText(builtIn: Pick<BuiltInRules, 'hosts' | 'rules'>, category: Category): string {
  return CATEGORIES.filter((other) => other !== category)
    .flatMap((other) => [
      ...builtIn.hosts[other].map((host) => `@@||${host}^`),
      ...builtIn.rules[other].filter((rule) => rule.startsWith('||')).map((rule) => `@@${rule}`),
    ])
    .join('\n');
}
