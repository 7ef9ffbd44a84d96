/**
 * Blocks ads, trackers, chats and cookie banners, and adds the caller's headers to requests to the target. Owns the filter
 * engines and lists; knows no jobs, destination policy or pictures.
 */
import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { Egress } from '../../egress/egress.js';
import type { Log } from '../../log.js';
import { monotonicNow } from '../deadlines.js';
import {
  builtInEngines,
  builtInText,
  type Category,
  type Engines,
  engineSet,
  type Refusal,
  readBuiltInRules,
} from '../lists/engines.js';
import { ListStore, type Manifest } from '../lists/list-store.js';
import {
  hasRule,
  type ListDeps,
  type ListedEngines,
  ListThread,
  listSources,
  loadEngines,
  updateLists,
} from '../lists/lists.js';
import type { PageSession } from '../page-session.js';
import { guardPage, type PageGuard } from './guard-page.js';

export interface BlockerOptions {
  dataDir: string;
  /** The output directory of scripts/build-rules.mjs, with a trailing slash. */
  built: URL;
  lists: {
    /** Whether lists are fetched automatically, now and daily. Existing lists are used in any case. */
    enabled: boolean;
    /** URLs that replace the default ones, by category. */
    urls?: Partial<Record<Category, readonly string[]>>;
  };
  egress: Pick<Egress, 'fetch'>;
  log: Log;
  fetchPackaged?: ListDeps['fetchPackaged'];
}

export interface ListStatus {
  name: string;
  category: Category;
  url: string;
  /** `missing`: only the built-in rules are used; `old`: not updated for three days. */
  state: 'in use' | 'old' | 'missing';
  rules: number;
  /** Unix ms; null if the list was never fetched. */
  fetchedAt: number | null;
  /** The source of the copy. */
  origin: 'address' | 'package' | null;
  /** The problem met by this process's last update; null if there was none. */
  problem: string | null;
}

const REFRESH_MS = 86_400_000;
const OLD_MS = 3 * 86_400_000;
/** The delay before another update after one that met problems. */
const RETRY_MS = 3_600_000;
/** The interval at which to check whether a refresh is due or another process has made one. */
const CHECK_INTERVAL_MS = 600_000;

export class Blocker implements AsyncDisposable {
  private engines: Engines;
  #manifest: Manifest = { lists: {}, engines: {} };
  #manifestAt = 0;
  /** The engines of lists that are loaded. A damaged engine, or one of another version, is rebuilt from the existing lists. */
  #listed: ListedEngines = {};
  #problems: Record<string, string> = {};
  #updating: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  /** No automatic update starts before this time, ms by `monotonicNow`. */
  #restUntil = 0;
  readonly #end = new AbortController();

  private constructor(
    private readonly options: BlockerOptions,
    private readonly lists: ListDeps,
    private readonly consentBundle: string,
    private readonly builtInOnly: Engines,
  ) {
    this.engines = builtInOnly;
  }

  /** Resolves once the existing lists are loaded; others are fetched in the background. */
  static async start(options: BlockerOptions): Promise<Blocker> {
    const { built, dataDir, egress, fetchPackaged } = options;
    const [builtIn, store, consentBundle] = await Promise.all([
      readBuiltInRules(built),
      ListStore.open(dataDir),
      readFile(new URL('consent-page.js', built), 'utf8'),
    ]);
    const lists: ListDeps = {
      store,
      thread: new ListThread(new URL('list-thread.mjs', built)),
      builtIn,
      sources: listSources(options.lists.urls),
      egress,
      fetchPackaged,
    };
    const blocker = new Blocker(options, lists, consentBundle, builtInEngines(builtIn));
    await blocker.#reload();
    blocker.#keepFresh();
    return blocker;
  }

  /**
   * Must be called before the navigation. Does nothing if all four switches are off and there are no headers.
   * @param id of the capture, for the log
   */
  guard(session: PageSession, options: CaptureOptions, id: string): Promise<PageGuard> {
    return guardPage(
      {
        engines: this.engines,
        listsOf: (refusals) => this.#listsOf(refusals),
        consentBundle: this.consentBundle,
        log: this.options.log.child({ job_id: id }),
      },
      session,
      options,
    );
  }

  /**
   * Fetches changed lists now, even if automatic fetching is off. Problems are part of the result.
   * @throws only if the blocker is stopped
   */
  async updateLists(): Promise<ListStatus[]> {
    this.#updating ??= this.#update().finally(() => {
      this.#updating = null;
    });
    await this.#updating;
    return this.status();
  }

  status(): ListStatus[] {
    return this.lists.sources.map(({ name, category, url }) => {
      const { rules = 0, fetchedAt = null, origin = null, checkedAt = 0 } = this.#manifest.lists[name] ?? {};
      const problem = this.#problems[name] ?? this.#problems[`${category} rules`] ?? null;
      const isMissing = fetchedAt === null || this.#listed[category] === undefined;
      const state = isMissing ? 'missing' : checkedAt < Date.now() - OLD_MS ? 'old' : 'in use';
      return { name, category, url, state, rules, fetchedAt, origin, problem };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#end.abort(new Error('stopped'));
    await this.#updating?.catch(() => {});
  }

  /** Searches the texts of the lists for the rules, since an engine does not store which list a rule is from. */
  async #listsOf(refusals: readonly Refusal[]): Promise<string[]> {
    const { store, sources, builtIn } = this.lists;
    const found = refusals.map(() => '');
    for (const category of new Set(refusals.map((refusal) => refusal.category))) {
      const own = sources.filter((source) => source.category === category).map(({ name }) => name);
      for (const name of ['built-in', ...own]) {
        const file = this.#manifest.lists[name]?.file;
        const text =
          name === 'built-in' ? builtInText(builtIn, category) : file === undefined ? null : await store.read(file);
        const lines = text?.toString().split('\n') ?? [];
        for (const [nth, { category: refusedBy, filter }] of refusals.entries()) {
          if (found[nth] !== '' || refusedBy !== category || filter === undefined) continue;
          if (hasRule(lines, filter)) found[nth] = name;
          // A list has megabytes, so other work gets a turn between two searches.
          await setImmediate();
        }
      }
    }
    return found;
  }

  async #update(): Promise<void> {
    const former = this.#problems;
    this.#problems = await updateLists(this.lists, this.#end.signal);
    this.#restUntil = monotonicNow() + (Object.keys(this.#problems).length > 0 ? RETRY_MS : 0);
    await this.#reload();
    this.#reportProblems(former);
  }

  /** Logs one line, and does not repeat it every hour while the same lists fail. */
  #reportProblems(former: Record<string, string>): void {
    const names = Object.keys(this.#problems);
    for (const name of names)
      this.options.log.debug({ list: name, problem: this.#problems[name] }, 'a filter list was not updated');
    if (names.length === 0 || names.every((name) => name in former)) return;
    const without = this.status().some(({ state }) => state === 'missing');
    const outcome = without ? 'fetched; the built-in rules are used instead' : 'updated; the last copies are used';
    this.options.log.warn(
      `Filter lists could not be ${outcome}: ${names.join(', ')} (${this.#problems[names[0] ?? '']})`,
    );
  }

  async #reload(): Promise<void> {
    const { store } = this.lists;
    this.#manifestAt = await store.changedAt();
    this.#manifest = await store.readManifest();
    this.#listed = await loadEngines(this.lists, this.#manifest);
    const plain = this.builtInOnly;
    this.engines = engineSet((category) => this.#listed[category] ?? plain[category], plain.ownExceptions);
  }

  #keepFresh(): void {
    const check = () => {
      this.#refreshIfDue().catch((error: unknown) => {
        if (!this.#end.signal.aborted) this.options.log.warn({ err: error }, 'filter lists could not be refreshed');
      });
    };
    this.#timer = setInterval(check, CHECK_INTERVAL_MS).unref();
    check();
  }

  async #refreshIfDue(): Promise<void> {
    if (this.#updating !== null) return;
    if ((await this.lists.store.changedAt()) !== this.#manifestAt) await this.#reload();
    if (!this.options.lists.enabled || monotonicNow() < this.#restUntil) return;
    const due = this.lists.sources.some(({ name, category }) => {
      const kept = this.#manifest.lists[name];
      return kept === undefined || kept.checkedAt < Date.now() - REFRESH_MS || this.#listed[category] === undefined;
    });
    if (due) await this.updateLists();
  }
}
