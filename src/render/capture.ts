/** One capture, from an open page session to its picture, as one flat list of steps. It knows no job, account, store or HTTP. */

import type { CaptureChanges, CaptureWarning, Inspection, RenderDiagnostics } from '../contract/capture-data.js';
import { type CaptureFormat, type CaptureOptions, HTML_DOCUMENT_URL } from '../contract/capture-request.js';
import type { LocalPassage, Passage } from '../egress/egress.js';
import type { Log } from '../log.js';
import type { DebugSink } from './debug-sink.js';
import { explain } from './explain.js';
import type { MemoryBudget } from './memory-budget.js';
import { monotonicNow } from './monotonic-now.js';
import { checkOutput, refuseWhite } from './page/check-output.js';
import { checkPage } from './page/check-page.js';
import { bypassCsp, runCustomJs } from './page/custom-js.js';
import { type Deadlines, TIMED_OUT } from './page/deadline.js';
import { DocumentReplaced } from './page/document-replaced.js';
import { dropStalledStyleSheets } from './page/drop-stalled-style-sheets.js';
import { edit, fetches } from './page/edit.js';
import type { DocumentState } from './page/main-document.js';
import { navigate } from './page/navigate.js';
import { type OpenPage, openPage } from './page/open-page.js';
import { advanceTime } from './page/page-clock.js';
import { restoreLogin } from './page/restore-login.js';
import { checkSelectors } from './page/selectors.js';
import type { StageTime, StageTimes } from './page/stage-times.js';
import { resumePage, stopPage } from './page/stop-page.js';
import { Tolerance } from './page/tolerance.js';
import { type EgressCountries, verifyEgress } from './page/verify-egress.js';
import { waitForContent } from './page/wait-for-content.js';
import { ADVANCE_AGAIN_MS, waitForIdle } from './page/wait-for-idle.js';
import { waitForSelector } from './page/wait-for-selector.js';
import { followNavigations, waitUntil } from './page/wait-until.js';
import type { PageSession } from './page-session.js';
import type { EncodeQueue, Picture } from './picture/picture.js';
import { type ScrollReport, scrollThrough, scrollToElement } from './picture/scroll-through.js';
import { takePicture } from './picture/take-picture.js';
import { browserNotReady, keepsNavigating } from './render-failure.js';
import { warningsOf, watchMissingFiles } from './warnings.js';

export interface RenderOrder {
  options: CaptureOptions;
  /** Identifies the capture in the log and in leases. */
  id: string;
  /** Identifies the account in the log. */
  account?: string;
  local?: LocalPassage | undefined;
  /** Called when memory is available for the capture, and again if it is repeated. Its timeout starts here. */
  onBegin?(): void;
  /** Receives the progress, 0–100, at the start of each stage. */
  onProgress(progress: number): void;
  /** Called at the end of each rendering, whether it failed or not. */
  onStages?(stages: readonly StageTime[]): void;
  /** Receives each step and band, for `--debug`. */
  debug?: DebugSink | undefined;
  /** The page closes once this resolves, so that closing does not compete for the processor; at once when absent. */
  kept?: Promise<unknown>;
}

/** A picture and its metadata. */
export interface Rendering {
  content: Uint8Array;
  format: CaptureFormat;
  /** Output px, read from the encoded bytes. For a PDF, CSS px of its first page. */
  width: number;
  height: number;
  finalUrl: string;
  blockedRequests: number;
  warnings: CaptureWarning[];
  /** Present only with the option `explain`. */
  changed: CaptureChanges | null;
  egressCountry: string | null;
  diagnostics: RenderDiagnostics;
  inspection: Inspection | null;
  /** Durations in ms by stage: navigate, run, settle, scroll, stop, shoot, encode. */
  timings: Record<string, number>;
}

export interface RenderDeps {
  pool: {
    acquire(options: CaptureOptions, signal: AbortSignal, passage: Pick<Passage, 'requester' | 'local'>): Promise<PageLease>;
    /** Acquires a page in a browser that no other capture uses. */
    acquireAlone(options: CaptureOptions, signal: AbortSignal, passage: Pick<Passage, 'requester' | 'local'>): Promise<PageLease>;
  };
  memory: Pick<MemoryBudget, 'reserve'>;
  blocker: { guard(session: PageSession, options: CaptureOptions, id: string): Promise<BlockGuard> };
  countries: EgressCountries;
  /** The process's one queue for encoding big pictures. */
  encodes: EncodeQueue;
  inspect(session: PageSession, how: { timeoutMs: number }): Promise<Inspection>;
  log: Log;
}

export interface PageLease {
  readonly session: PageSession;
  verify(): void;
  release(): Promise<void>;
}

/** Blocks requests and removes consent banners of one page. */
interface BlockGuard {
  readonly blockedRequests: number;
  answerBanners(signal: AbortSignal, last: boolean): Promise<{ outcome: string }>;
  explain(): Promise<Pick<CaptureChanges, 'blocked' | 'banner'>>;
}

const MECHANISMS_MAX_MS = 500;
const LOOK_MAX_MS = 1_000;
const INSPECT_MS = 5_000;
/** The inspection may run this long past the budget. It gets INSPECT_MIN_MS in any case. */
const INSPECT_GRACE_MS = 4_500;
const INSPECT_MIN_MS = 500;
/** How many navigations during the capture are followed before it fails. */
const NAVIGATIONS_MAX = 3;
const SCROLL_MAX_MS = 20_000;
/** Time reserved for the steps after scrolling. */
const AFTER_SCROLL_MS = 8_000;
const MOTION_MAX_MS = 1_000;
const DECODED_AFTER_MS = 500;
const FRAMES_MAX_MS = 200;
/** A picture of the view may take this long past the budget. */
const PICTURE_GRACE_MS = 4_000;

export interface Running {
  session: PageSession;
  deadlines: Deadlines;
  times: StageTimes;
}

/** @throws CaptureError with any code of a capture (decisions.md, Error codes); Error if the browser has closed */
export async function capture(deps: RenderDeps, order: RenderOrder, on: Running): Promise<Rendering> {
  const { options } = order;
  const { session, deadlines, times } = on;
  const missing = watchMissingFiles(session, options);
  const [page, guard, egressCountry] = await prepare(deps, order, on);
  times.enter('navigate', 15);
  await navigate(page, options.url);
  await waitUntil(page, options.waitUntil);
  if (options.customJs !== null) await runCustomJs(page, options.customJs);
  if (options.waitForSelector !== null) await waitForSelector(page, options.waitForSelector);
  const { picture, shown } = await captureStableDocument({ page, guard, times, encodes: deps.encodes }, options);
  const { tolerance } = page;
  const showsAll = options.selector === null && options.clip === null && !options.omitBackground;
  if (options.format !== 'pdf' && showsAll)
    await refuseWhite(picture, () => paintsWhite(page)).catch((error: unknown) => tolerance.orThrow(error));
  checkOutput(picture, options, tolerance);
  const warnings = [...tolerance.warnings, ...(await warningsOf(page, options, { picture, missing }))];
  await logMechanisms(deps.log, order.id, page);
  const changed = options.explain || order.debug !== undefined ? await deadlines.orEnd(explain(page, guard)) : null;
  if (changed !== null) order.debug?.note({ step: 'changed', ...changed });
  if (options.inspectPage) times.enter('inspect', 90);
  const inspection = options.inspectPage ? await deadlines.orEnd(deps.inspect(session, { timeoutMs: inspectMs(deadlines) })) : null;
  const { prepare: _prepare, picture: _picture, inspect: _inspect, ...timings } = times.taken();
  order.onStages?.(stagesOf(times, picture));
  return {
    content: picture.content,
    format: options.format,
    width: picture.width,
    height: picture.height,
    finalUrl: finalUrl(session, shown, options),
    blockedRequests: guard.blockedRequests + session.captureProxy.refusedCount,
    warnings,
    changed,
    egressCountry,
    diagnostics: picture.diagnostics,
    inspection,
    timings: { scroll: 0, ...timings, shoot: Math.round(picture.timings.shoot), encode: Math.round(picture.timings.encode) },
  };
}

interface Shooting {
  page: OpenPage;
  guard: BlockGuard;
  times: StageTimes;
  encodes: EncodeQueue;
}

/** Takes the picture again if the page navigated to another document meanwhile. */
async function captureStableDocument(shooting: Shooting, options: CaptureOptions): Promise<{ picture: Picture; shown: DocumentState }> {
  const { main } = shooting.page;
  for (let moves = 0; moves <= NAVIGATIONS_MAX; moves++) {
    const shown = await waitUntil(shooting.page, options.waitUntil === 'networkidle' ? 'load' : options.waitUntil);
    try {
      const picture = await shoot({ ...shooting, shown }, options);
      if (main.current === shown) return { picture, shown };
    } catch (error) {
      if (main.current === shown && !(error instanceof DocumentReplaced)) throw error;
    }
    await resumePage(shooting.page.session);
  }
  throw keepsNavigating();
}

/** Takes the picture of a loaded page: waits, removes banners, scrolls, checks, freezes the page, and captures it. */
async function shoot(shooting: Shooting & { shown: DocumentState }, options: CaptureOptions): Promise<Picture> {
  const { page, guard, times, encodes } = shooting;
  const { deadlines } = page;
  const scrolls = options.selector === null && (options.fullPage || options.format === 'pdf' || clipsBelowView(options));
  const waits = options.waitForContent || options.delay > 0;
  times.enter('run', 40);
  if (options.waitForIdle) await waitForIdle(page);
  if (page.network.refusedAhead && !page.realTime && options.customJs === null) await loadInRealTime(page, shooting.shown);
  times.enter('settle', 50);
  await clearBanners(page, options, { guard, last: !waits && !scrolls });
  if (options.waitForContent) await waitForContent(page);
  if (options.delay > 0) await deadlines.withBudgetPaused(() => advanceTime(page, options.delay, { realMs: options.delay }));
  if (waits) await clearBanners(page, options, { guard, last: !scrolls });
  await dropStalledStyleSheets(page, shooting.shown);
  times.enter('scroll', 60);
  if (options.selector !== null) await scrollToSelector(page, options.selector, options);
  const scroll = scrolls ? await deadlines.withBudgetPaused(() => scrollPage(page, guard, options)) : null;
  times.enter('settle', 70);
  const shown = await followNavigations(page, shooting.shown, options.waitUntil);
  if (shown !== shooting.shown) throw new DocumentReplaced('the page navigated away while it was being prepared');
  await checkPage(page, shown, options);
  const deadline = scroll === null ? viewDeadline(deadlines) : deadlines.endsAt;
  times.enter('stop', 75);
  await freezePage(page, options, { deadline, expands: options.clip !== null && !scrolls });
  times.enter('picture', 80);
  const how = { deadline, scroll, encodes };
  const taking = () =>
    takePicture(page, options, how).catch((error: unknown) => {
      // `tolerate` allows an element or clip that does not exist: the view is captured instead.
      page.tolerance.orThrow(error);
      return takePicture(page, { ...options, selector: null, clip: null }, { ...how, scroll: options.fullPage ? scroll : null });
    });
  // A navigation restarts the capture of a view, so its time limit covers all attempts.
  return scroll === null ? await deadlines.orEnd(taking()) : await deadlines.withBudgetPaused(taking);
}

/**
 * Reloads the page in real time, for servers that refuse requests from a page whose clock is ahead.
 * @throws DocumentReplaced always
 */
async function loadInRealTime(page: OpenPage, shown: DocumentState): Promise<never> {
  const { session, main, deadlines } = page;
  page.realTime = true;
  await session.cdp.send('Page.reload');
  await deadlines.withTimeout(
    main.until(() => main.current !== shown),
    deadlines.leftMs(),
  );
  throw new DocumentReplaced('the page is loaded again in real time');
}

/** Freezes the page, within a second. Animations and frames that are late are captured as they are. */
async function freezePage(
  page: OpenPage,
  options: CaptureOptions,
  { deadline, expands }: { deadline: number; expands: boolean },
): Promise<void> {
  const { deadlines, world, session, network } = page;
  const limited = (work: Promise<unknown>) => deadlines.withTimeout(work, Math.min(MOTION_MAX_MS, deadline - monotonicNow()));
  if (expands) await limited(world.call('scrollers.expandAll'));
  if (options.reduceMotion) await limited(world.call('motion.end'));
  await limited(stopPage(session, options));
  // An image that has just arrived is decoded only when it is first painted.
  if (network.hasLoadedImages(DECODED_AFTER_MS)) await limited(world.call('frames.passFrames', 2, FRAMES_MAX_MS));
}

/** The deadline for a picture of the view, ms by `monotonicNow`. */
function viewDeadline({ endsAt, budgetEndsAt }: Deadlines): number {
  return Math.min(endsAt, budgetEndsAt + PICTURE_GRACE_MS);
}

/** Called again after each wait that gave the page time to show another banner. */
async function clearBanners(page: OpenPage, options: CaptureOptions, { guard, last }: { guard: BlockGuard; last: boolean }): Promise<void> {
  const { deadlines } = page;
  const banner = await deadlines.withTimeout(guard.answerBanners(deadlines.signal, last), deadlines.leftMs());
  if (banner !== TIMED_OUT && banner.outcome !== 'none' && options.waitForIdle) await waitForIdle(page, ADVANCE_AGAIN_MS);
}

async function scrollPage(page: OpenPage, guard: BlockGuard, options: CaptureOptions): Promise<ScrollReport> {
  // A page that does not respond at all fails as early as one that is not scrolled.
  const respondsBy = viewDeadline(page.deadlines);
  const deadline = Math.min(monotonicNow() + SCROLL_MAX_MS, page.deadlines.endsAt - AFTER_SCROLL_MS);
  const quiet = async () => {
    if (options.waitForIdle) await waitForIdle(page, ADVANCE_AGAIN_MS);
    await clearBanners(page, options, { guard, last: true });
  };
  return await scrollThrough(page, options, { deadline, respondsBy, waitForIdle: quiet });
}

/** Scrolls to the element within the budget; after that, the element is captured in its current state. */
async function scrollToSelector(page: OpenPage, selector: string, options: CaptureOptions): Promise<void> {
  const { deadlines } = page;
  const leftMs = deadlines.leftMs();
  const quiet = options.waitForIdle ? () => waitForIdle(page, ADVANCE_AGAIN_MS) : async () => {};
  await deadlines.withTimeout(scrollToElement(page, selector, { deadline: monotonicNow() + leftMs, waitForIdle: quiet }), leftMs);
}

/** Whether part of the clip is below the view, where content may load only when it is scrolled to. */
function clipsBelowView({ clip, view }: CaptureOptions): boolean {
  return clip !== null && clip.y + clip.height > view.height;
}

/** Splits the stage `picture` into `shoot` and `encode`, whose durations are part of the picture. */
function stagesOf(times: StageTimes, { timings: { begun, shoot, encode } }: Picture): StageTime[] {
  const shot = { name: 'shoot', began: begun, ended: begun + shoot, failed: false };
  const encoded = { name: 'encode', began: shot.ended, ended: shot.ended + encode, failed: false };
  return [...times.stages({ failed: false }).filter(({ name }) => name !== 'picture'), shot, encoded];
}

/** Prepares everything that must be in place before the navigation, in parallel. */
async function prepare({ blocker, countries }: RenderDeps, { options, id, debug }: RenderOrder, on: Running) {
  const { session, deadlines } = on;
  const preparing = Promise.all([
    openPage(session, deadlines, { tolerance: new Tolerance(options.tolerate), realTime: options.realTime, debug }),
    blocker.guard(session, options, id),
    verifyEgress(countries, { captureProxy: session.captureProxy, options, deadlines }),
    checkSelectors(on, options),
    edit(on, options),
    restoreLogin(on, options),
    options.customJs !== null || fetches(options.customCss) ? bypassCsp(session) : null,
  ]);
  const prepared = await deadlines.withTimeout(preparing, deadlines.leftMs());
  if (prepared === TIMED_OUT) throw browserNotReady(deadlines.timeout);
  return prepared;
}

/** Whether the page has a drawn canvas: a white drawing is content, such as the empty sheet of a drawing program. */
async function paintsWhite({ world, deadlines }: OpenPage): Promise<boolean> {
  return (await deadlines.withTimeout(world.call('blank.hasDrawnCanvas'), LOOK_MAX_MS).catch(() => TIMED_OUT)) === true;
}

/** Logs which page mechanisms affected the picture, for debugging. */
async function logMechanisms(log: Log, id: string, { world, deadlines }: OpenPage): Promise<void> {
  if (!log.isLevelEnabled('debug')) return;
  const mechanisms = await deadlines.withTimeout(world.call('mechanisms.counts'), MECHANISMS_MAX_MS).catch(() => TIMED_OUT);
  if (mechanisms !== TIMED_OUT) log.debug({ job_id: id, mechanisms }, 'pictured');
}

function inspectMs({ budgetEndsAt }: Deadlines): number {
  return Math.min(INSPECT_MS, Math.max(INSPECT_MIN_MS, budgetEndsAt + INSPECT_GRACE_MS - monotonicNow()));
}

/** The document's current address, including changes by scripts and the fragment. */
function finalUrl(session: PageSession, shown: DocumentState, { html, baseUrl }: CaptureOptions): string {
  const current = session.page.url();
  const url = /^https?:/.test(current) ? current : shown.url;
  const ownAddress = html !== null && baseUrl === null && url.startsWith(HTML_DOCUMENT_URL);
  return ownAddress ? `about:html${new URL(url).hash}` : url;
}
