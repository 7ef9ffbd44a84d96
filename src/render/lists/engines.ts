import { readFile } from 'node:fs/promises';
import { ENGINE_VERSION, FiltersEngine, NetworkFilter, Request, type RequestType } from '@ghostery/adblocker';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { POPUP_KINDS } from '../../contract/popups.js';
import options from './engine-options.json';

/** The categories, in the order in which a request is matched against them: the first match blocks it. */
export const CATEGORIES = ['ads', 'trackers', 'chats', 'cookies', 'popups'] as const;
export type Category = (typeof CATEGORIES)[number];

/** The request option of each category. */
export const OPTION_OF = {
  ads: 'block_ads',
  trackers: 'block_trackers',
  chats: 'block_chats',
  cookies: 'block_cookie_banners',
  popups: 'block_popups',
} as const;
const SWITCH_OF = {
  ads: 'blockAds',
  trackers: 'blockTrackers',
  chats: 'blockChats',
  cookies: 'blockCookieBanners',
  popups: 'blockPopups',
} as const;

/** The categories that a capture blocks. Lists do not say of which kind a popup is, so they apply only to all kinds. */
export function switchedOn(options: Pick<CaptureOptions, (typeof SWITCH_OF)[Category]>): Category[] {
  return CATEGORIES.filter((category) =>
    category === 'popups' ? options.blockPopups.length === POPUP_KINDS.length : options[SWITCH_OF[category]],
  );
}

/** Engines, one per category. A set is never changed, only replaced. */
export type Engines = Readonly<Record<Category, FiltersEngine>> & {
  /** Ids of exceptions that hold within their own engine only: the built-in ones, which say whose a vendor is. Read at the first call. */
  ownExceptions(): ReadonlySet<number>;
};

/**
 * The library's options, also used by scripts/build-rules.mjs. Its slow integrity check is off, since stored engines have
 * their own checksum; its optimizer is off, since `linearRegex` below supports no joined patterns.
 */
export const ENGINE_OPTIONS = options;

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
  /** Serialized engines of `hosts` and `rules`, in base64. */
  engines: Record<Category, string>;
}

/** @param built directory of the build's files */
export async function readBuiltInRules(built: URL): Promise<BuiltInRules> {
  return JSON.parse(await readFile(new URL('rules.json', built), 'utf8')) as BuiltInRules;
}

/** The engines of the built-in rules, prebuilt, or parsed if another version of the library built them. */
export function builtInEngines(builtIn: BuiltInRules): Engines {
  const engineOf = (category: Category) => {
    const readyMade =
      builtIn.engineVersion === ENGINE_VERSION ? loadEngine(Buffer.from(builtIn.engines[category], 'base64')) : null;
    return readyMade ?? FiltersEngine.parse(builtInText(builtIn, category), ENGINE_OPTIONS);
  };
  let exceptions: ReadonlySet<number> | null = null;
  return engineSet(engineOf, () => {
    exceptions ??= builtInExceptions(builtIn);
    return exceptions;
  });
}

export function engineSet(of: (category: Category) => FiltersEngine, ownExceptions: Engines['ownExceptions']): Engines {
  matchInLinearTime();
  const engines = Object.fromEntries(CATEGORIES.map((category) => [category, of(category)])) as Record<
    Category,
    FiltersEngine
  >;
  return { ...engines, ownExceptions };
}

/** @returns null if the bytes are damaged or of another version */
export function loadEngine(bytes: Uint8Array): FiltersEngine | null {
  try {
    return FiltersEngine.deserialize(bytes);
  } catch {
    return null;
  }
}

/** The built-in rules of one category as a filter list. */
export function builtInText({ hosts, rules }: Pick<BuiltInRules, 'hosts' | 'rules'>, category: Category): string {
  return [...hosts[category].map((host) => `||${host}^$third-party`), ...rules[category]].join('\n');
}

/**
 * Exceptions from one category for the vendors of the others: lists overlap, but only a vendor's own category may block it.
 * With all switches on, that category blocks the same requests.
 */
export function othersText({ hosts, rules }: Pick<BuiltInRules, 'hosts' | 'rules'>, category: Category): string {
  const vendorsOf = (other: Category) => [
    ...hosts[other].map((host) => `||${host}^`),
    ...rules[other].filter((rule) => rule.startsWith('||')),
  ];
  const others = CATEGORIES.filter((other) => other !== category);
  return others.flatMap((other) => vendorsOf(other).map((rule) => `@@${rule}`)).join('\n');
}

/** Ids of all exceptions among the built-in rules, which only assign vendors to categories. Takes about 10 ms. */
export function builtInExceptions(builtIn: Pick<BuiltInRules, 'hosts' | 'rules'>): ReadonlySet<number> {
  const lines = CATEGORIES.flatMap((category) => [
    ...builtIn.rules[category],
    ...othersText(builtIn, category).split('\n'),
  ]);
  const ids = lines.filter((line) => line.startsWith('@@')).map((line) => NetworkFilter.parse(line)?.getId());
  return new Set(ids.filter((id) => id !== undefined));
}

/** Rules are matched against this many characters of a URL: one of 2 MB would take the engines half a second. */
export const MATCHED_CHARS = 2_048;

/** The part of a URL that is matched, copied so that the whole string can be freed. */
export function matchedPart(url: string): string {
  return url.length <= MATCHED_CHARS ? url : Buffer.from(url.slice(0, MATCHED_CHARS)).toString();
}

/** A request to match. */
export interface FilterQuery {
  url: string;
  type: RequestType;
  /** The URL of the document that makes the request. */
  sourceUrl: string;
}

export interface Refusal {
  category: Category;
  /** The rule that blocks the request. */
  filter: NetworkFilter | undefined;
}

/**
 * Ad blocking: the first category whose rules block the request, with the rule, or null. Takes about 5 µs. An exception in any active
 * list overrides the rules of all of them, unless a rule is marked important.
 */
export function refusalOf(engines: Engines, on: readonly Category[], query: FilterQuery): Refusal | null {
  const request = Request.fromRawDetails({
    ...query,
    url: matchedPart(query.url),
    sourceUrl: matchedPart(query.sourceUrl),
  });
  const isExcepted = (category: Category) =>
    engines[category].exceptions.matchAll(request).some((exception) => !engines.ownExceptions().has(exception.getId()));
  for (const category of on) {
    const { match, filter } = engines[category].match(request);
    if (match && (filter?.isImportant() || !on.some((other) => other !== category && isExcepted(other))))
      return { category, filter };
  }
  return null;
}

const { getRegex } = NetworkFilter.prototype;

/**
 * Makes the library match rules with wildcards in linear time. Its own regular expressions are exponential in the number of
 * wildcards (ghostery/adblocker 2.18.2, compileRegex of packages/adblocker/src/filters/network.ts), and both list and URL may be
 * hostile. An engine makes its rules itself, as it needs them, so that only their prototype can be changed.
 */
function matchInLinearTime(): void {
  NetworkFilter.prototype.getRegex = function linearRegex(): RegExp {
    if (this.regex === undefined && !this.isFullRegex() && this.filter?.includes('*'))
      this.regex = wildcardPattern(this, this.filter);
    return this.regex ?? getRegex.call(this);
  };
}

/** A lookahead never backtracks, so the text between two wildcards is matched at its first occurrence only. */
function wildcardPattern(rule: NetworkFilter, text: string): RegExp {
  const [first = '', ...others] = text.split('*').map(literalPattern);
  const last = others.pop() ?? '';
  const found = [...(rule.isLeftAnchor() ? [] : [first]), ...others]
    .map((part, index) => `(?=(.*?${part}))\\${index + 1}`)
    .join('');
  const start = rule.isLeftAnchor() ? first : '';
  return new RegExp(`^${start}${found}.*?${last}${rule.isRightAnchor() ? '$' : ''}`, rule.isCaseSensitive ? '' : 'i');
}

function literalPattern(text: string): string {
  return text.replace(/[|.$+?{}()[\]\\]/g, '\\$&').replaceAll('^', '(?:[^\\w\\d_.%-]|$)');
}
