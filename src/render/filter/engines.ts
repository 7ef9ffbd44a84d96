import { ENGINE_VERSION, FiltersEngine, type NetworkFilter, Request, type RequestType } from '@ghostery/adblocker';
import { type BuiltInRules, builtInExceptions, builtInText } from './built-in.js';
import { CATEGORIES, type Category } from './category.js';
import options from './engine-options.json';
import { MATCHED_CHARS, matchLinearly } from './linear-patterns.js';

matchLinearly();

/** Four engines, one per category. A set is never changed, only replaced. */
export type Engines = Readonly<Record<Category, FiltersEngine>> & {
  /** Ids of exceptions that hold within their own engine only: the built-in ones, which say whose a vendor is. Read at the first call. */
  ownExceptions(): ReadonlySet<number>;
};

/**
 * The library's options, also used by scripts/build-rules.mjs. Its slow integrity check is off, since stored engines have
 * their own checksum; its optimizer is off, since linear-patterns.ts supports no joined patterns.
 */
export const ENGINE_OPTIONS = options;

/** A request to match. */
export interface Ask {
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

/** The engines of the built-in rules, prebuilt, or parsed if another version of the library built them. */
export function builtInEngines(builtIn: BuiltInRules): Engines {
  const engineOf = (category: Category) => {
    const readyMade = builtIn.engineVersion === ENGINE_VERSION ? loadEngine(Buffer.from(builtIn.engines[category], 'base64')) : null;
    return readyMade ?? FiltersEngine.parse(builtInText(builtIn, category), ENGINE_OPTIONS);
  };
  let exceptions: ReadonlySet<number> | null = null;
  return engineSet(engineOf, () => {
    exceptions ??= builtInExceptions(builtIn);
    return exceptions;
  });
}

export function engineSet(of: (category: Category) => FiltersEngine, ownExceptions: Engines['ownExceptions']): Engines {
  const engines = Object.fromEntries(CATEGORIES.map((category) => [category, of(category)])) as Record<Category, FiltersEngine>;
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

/**
 * A URL of 2 MB would take the engines half a second, and rules are about hosts and paths. The part is copied so that the
 * whole string can be freed.
 */
export function matchedPart(url: string): string {
  return url.length <= MATCHED_CHARS ? url : Buffer.from(url.slice(0, MATCHED_CHARS)).toString();
}

/** The category whose rules block the request, or null. */
export function refusing(engines: Engines, on: readonly Category[], ask: Ask): Category | null {
  return refusalOf(engines, on, ask)?.category ?? null;
}

/**
 * The first category whose rules block the request, with the rule, or null. Takes about 5 µs and reads the first 2,048
 * characters of URLs. An exception in any active list overrides the rules of all of them, unless a rule is marked important.
 */
export function refusalOf(engines: Engines, on: readonly Category[], ask: Ask): Refusal | null {
  const request = Request.fromRawDetails({ ...ask, url: matchedPart(ask.url), sourceUrl: matchedPart(ask.sourceUrl) });
  for (const category of on) {
    const { match, filter } = engines[category].match(request);
    if (!match) continue;
    const others = on.filter((other) => other !== category);
    if (filter?.isImportant() || !others.some((other) => isExcepted(engines, other, request))) return { category, filter };
  }
  return null;
}

function isExcepted(engines: Engines, category: Category, request: Request): boolean {
  return engines[category].exceptions.matchAll(request).some((exception) => !engines.ownExceptions().has(exception.getId()));
}
