/**
 * One capture, from an open page session to its picture, as one flat list of steps. Knows no job, account, store or HTTP.
 */

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
import { contentReady } from './page/content-ready.js';
import { bypassCsp, runCustomJs } from './page/custom-js.js';
import { type Deadlines, TIMED_OUT } from './page/deadline.js';
import { dropStalledStyleSheets } from './page/drop-stalled-style-sheets.js';
import { edit, fetches } from './page/edit.js';
import type { DocumentState } from './page/main-document.js';
import { navigate } from './page/navigate.js';
import { type OpenPage, openPage } from './page/open-page.js';
import { passTime } from './page/page-clock.js';
import { PageMoved } from './page/page-moved.js';
import { restoreLogin } from './page/restore-login.js';
import { checkSelectors } from './page/selectors.js';
import { RUN_AGAIN_MS, settle } from './page/settle.js';
import type { StageTime, StageTimes } from './page/stage-times.js';
import { resumePage, stopPage } from './page/stop-page.js';
import { Tolerance } from './page/tolerance.js';
import { type EgressCountries, verifyEgress } from './page/verify-egress.js';
import { waitForSelector } from './page/wait-for-selector.js';
import { follow, waitUntil } from './page/wait-until.js';
import type { PageSession } from './page-session.js';
import type { EncodeQueue } from './picture/encode-queue.js';
import type { Picture } from './picture/picture.js';
import { type ScrollReport, scrollThrough, scrollToElement } from './picture/scroll-through.js';
import { takePicture } from './picture/take-picture.js';
import { neverReady, neverStays } from './render-failure.js';
import { warningsOf, watchMissingFiles } from './warnings.js';

/** One capture to make. */
export interface RenderOrder {
  options: CaptureOptions;
  /** For the log and for leases only. */
  id: string;
  /** For the log only. */
  account?: string;
  local?: LocalPassage | undefined;
  /** Called when there is memory for the capture, and again if it is repeated: its time counts from there. */
  onBegin?(): void;
  /** 0–100, by stage. */
  onProgress(progress: number): void;
  /** Called at the end of each rendering, whether it failed or not. */
  onStages?(stages: readonly StageTime[]): void;
  /** Told each step. */
  debug?: DebugSink | undefined;
  /** The page is closed only then: it would take the processor from whoever still works on the picture. At once when absent. */
  kept?: Promise<unknown>;
}

/** A picture and all that is to be told of it. */
export interface Rendering {
  content: Uint8Array;
  format: CaptureFormat;
  /** Output px, read from the encoded bytes (PDF: CSS px of its first page). */
  width: number;
  height: number;
  finalUrl: string;
  blockedRequests: number;
  warnings: CaptureWarning[];
  /** With the option `explain`. */
  changed: CaptureChanges | null;
  egressCountry: string | null;
  diagnostics: RenderDiagnostics;
  inspection: Inspection | null;
  /** ms by stage: navigate, run, settle, scroll, stop, shoot, encode. */
  timings: Record<string, number>;
}

export interface RenderDeps {
  pool: {
    acquire(options: CaptureOptions, signal: AbortSignal, passage: Pick<Passage, 'requester' | 'local'>): Promise<PageLease>;
    /** With a browser that no other capture uses. */
    acquireAlone(options: CaptureOptions, signal: AbortSignal, passage: Pick<Passage, 'requester' | 'local'>): Promise<PageLease>;
  };
  memory: Pick<MemoryBudget, 'reserve'>;
  blocker: { guard(session: PageSession, options: CaptureOptions, id: string): Promise<BlockGuard> };
  countries: EgressCountries;
  /** The process's one queue for big pictures. */
  encodes: EncodeQueue;
  inspect(session: PageSession, how: { timeoutMs: number }): Promise<Inspection>;
  log: Log;
}

export interface PageLease {
  readonly session: PageSession;
  verify(): void;
  release(): Promise<void>;
}

/** Blocks requests, and removes consent banners from a page. */
interface BlockGuard {
  readonly blockedRequests: number;
  answerBanners(signal: AbortSignal, last: boolean): Promise<{ outcome: string }>;
  explain(): Promise<Pick<CaptureChanges, 'blocked' | 'banner'>>;
}

const MECHANISMS_MAX_MS = 500;
const LOOK_MAX_MS = 1_000;
const INSPECT_MS = 5_000;
/** And the inspection this long, though it always has a moment. */
const INSPECT_GRACE_MS = 4_500;
const INSPECT_MIN_MS = 500;
/** Times that a page may go elsewhere under our hands before it is given up. */
const MOVES_FOLLOWED = 3;
const SCROLL_MAX_MS = 20_000;
/** Kept for what comes after the scrolling. */
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

/** @throws CaptureError with any code of a capture (decisions.md, Error codes); Error of a browser that has gone */
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
  const { picture, shown } = await untilItStays({ page, guard, times, encodes: deps.encodes }, options);
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
  /** The process's one queue for big pictures. */
  encodes: EncodeQueue;
}

/** The picture of a page that was still the same one when it had been taken; begun anew when the page went elsewhere. */
async function untilItStays(shooting: Shooting, options: CaptureOptions): Promise<{ picture: Picture; shown: DocumentState }> {
  const { main } = shooting.page;
  for (let moves = 0; moves <= MOVES_FOLLOWED; moves++) {
    const shown = await waitUntil(shooting.page, options.waitUntil === 'networkidle' ? 'load' : options.waitUntil);
    try {
      const picture = await shoot({ ...shooting, shown }, options);
      if (main.current === shown) return { picture, shown };
    } catch (error) {
      if (main.current === shown && !(error instanceof PageMoved)) throw error;
    }
    await resumePage(shooting.page.session);
  }
  throw neverStays();
}

/** From a loaded page to its picture: run, clear of banners, wait, scroll, check, stop, picture. */
async function shoot(shooting: Shooting & { shown: DocumentState }, options: CaptureOptions): Promise<Picture> {
  const { page, guard, times, encodes } = shooting;
  const { deadlines } = page;
  const scrolls = options.selector === null && (options.fullPage || options.format === 'pdf' || clipsBelowView(options));
  const waits = options.waitForContent || options.delay > 0;
  times.enter('run', 40);
  if (options.waitForIdle) await settle(page);
  if (page.network.refusedAhead && !page.realTime && options.customJs === null) await loadInRealTime(page, shooting.shown);
  times.enter('settle', 50);
  await clearBanners(page, options, { guard, last: !waits && !scrolls });
  if (options.waitForContent) await contentReady(page);
  if (options.delay > 0) await deadlines.outside(() => passTime(page, options.delay, { realMs: options.delay }));
  if (waits) await clearBanners(page, options, { guard, last: !scrolls });
  await dropStalledStyleSheets(page, shooting.shown);
  times.enter('scroll', 60);
  if (options.selector !== null) await reach(page, options.selector, options);
  const scroll = scrolls ? await deadlines.outside(() => scrolled(page, guard, options)) : null;
  times.enter('settle', 70);
  const shown = await follow(page, shooting.shown, options.waitUntil);
  if (shown !== shooting.shown) throw new PageMoved('the page navigated away while it was being prepared');
  await checkPage(page, shown, options);
  const deadline = scroll === null ? viewDeadline(deadlines) : deadlines.endsAt;
  times.enter('stop', 75);
  await stop(page, options, { deadline, expands: options.clip !== null && !scrolls });
  times.enter('picture', 80);
  const how = { deadline, scroll, encodes };
  const taking = () =>
    takePicture(page, options, how).catch((error: unknown) => {
      // An element or a part of the page that is not there: the view is what stands.
      page.tolerance.orThrow(error);
      return takePicture(page, { ...options, selector: null, clip: null }, { ...how, scroll: options.fullPage ? scroll : null });
    });
  // A view's picture is begun anew when the page moves: its time counts, so that the whole ends in time.
  return scroll === null ? await deadlines.orEnd(taking()) : await deadlines.outside(taking);
}

/** For a server that refuses a page whose clock is ahead of its own. @throws PageMoved always */
async function loadInRealTime(page: OpenPage, shown: DocumentState): Promise<never> {
  const { session, main, deadlines } = page;
  page.realTime = true;
  await session.cdp.send('Page.reload');
  await deadlines.within(
    main.until(() => main.current !== shown),
    deadlines.leftMs(),
  );
  throw new PageMoved('the page is loaded again in real time');
}

/** Brings the page to a stand, within a second: what is late is pictured as it is. */
async function stop(page: OpenPage, options: CaptureOptions, { deadline, expands }: { deadline: number; expands: boolean }): Promise<void> {
  const { deadlines, world, session, network } = page;
  const within = (work: Promise<unknown>) => deadlines.within(work, Math.min(MOTION_MAX_MS, deadline - monotonicNow()));
  if (expands) await within(world.call('scrollers.expandAll'));
  if (options.reduceMotion) await within(world.call('motion.end'));
  await within(stopPage(session, options));
  // A background that has just come is decoded while it is drawn for the first time.
  if (network.hasLoadedImages(DECODED_AFTER_MS)) await within(world.call('frames.passFrames', 2, FRAMES_MAX_MS));
}

/** When a picture of the view must be there, ms by `monotonicNow`. */
function viewDeadline({ endsAt, budgetEndsAt }: Deadlines): number {
  return Math.min(endsAt, budgetEndsAt + PICTURE_GRACE_MS);
}

/** Again after whatever gave a page the time to show another one. */
async function clearBanners(page: OpenPage, options: CaptureOptions, { guard, last }: { guard: BlockGuard; last: boolean }): Promise<void> {
  const { deadlines } = page;
  const banner = await deadlines.within(guard.answerBanners(deadlines.signal, last), deadlines.leftMs());
  if (banner !== TIMED_OUT && banner.outcome !== 'none' && options.waitForIdle) await settle(page, RUN_AGAIN_MS);
}

async function scrolled(page: OpenPage, guard: BlockGuard, options: CaptureOptions): Promise<ScrollReport> {
  // A page that does not respond at all is given up as soon as one that is not scrolled.
  const respondsBy = viewDeadline(page.deadlines);
  const deadline = Math.min(monotonicNow() + SCROLL_MAX_MS, page.deadlines.endsAt - AFTER_SCROLL_MS);
  const quiet = async () => {
    if (options.waitForIdle) await settle(page, RUN_AGAIN_MS);
    await clearBanners(page, options, { guard, last: true });
  };
  return await scrollThrough(page, options, { deadline, respondsBy, settle: quiet });
}

/** Within the budget: what is late is pictured as it stands. */
async function reach(page: OpenPage, selector: string, options: CaptureOptions): Promise<void> {
  const { deadlines } = page;
  const leftMs = deadlines.leftMs();
  const quiet = options.waitForIdle ? () => settle(page, RUN_AGAIN_MS) : async () => {};
  await deadlines.within(scrollToElement(page, selector, { deadline: monotonicNow() + leftMs, settle: quiet }), leftMs);
}

/** Whether a part of the clip is below the view, where content may load only once it is scrolled to. */
function clipsBelowView({ clip, view }: CaptureOptions): boolean {
  return clip !== null && clip.y + clip.height > view.height;
}

/** The stage `picture` is told as its two parts, whose times the picture brings along. */
function stagesOf(times: StageTimes, { timings: { begun, shoot, encode } }: Picture): StageTime[] {
  const shot = { name: 'shoot', began: begun, ended: begun + shoot, failed: false };
  const encoded = { name: 'encode', began: shot.ended, ended: shot.ended + encode, failed: false };
  return [...times.stages({ failed: false }).filter(({ name }) => name !== 'picture'), shot, encoded];
}

/** All that must be in place before the page is navigated, at once. */
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
  const prepared = await deadlines.within(preparing, deadlines.leftMs());
  if (prepared === TIMED_OUT) throw neverReady(deadlines.timeout);
  return prepared;
}

/** A drawing may be white, as an empty sheet of a drawing program is. */
async function paintsWhite({ world, deadlines }: OpenPage): Promise<boolean> {
  return (await deadlines.within(world.call('blank.hasDrawnCanvas'), LOOK_MAX_MS).catch(() => TIMED_OUT)) === true;
}

/** For those who look into how a page was pictured. */
async function logMechanisms(log: Log, id: string, { world, deadlines }: OpenPage): Promise<void> {
  if (!log.isLevelEnabled('debug')) return;
  const mechanisms = await deadlines.within(world.call('mechanisms.told'), MECHANISMS_MAX_MS).catch(() => TIMED_OUT);
  if (mechanisms !== TIMED_OUT) log.debug({ job_id: id, mechanisms }, 'pictured');
}

function inspectMs({ budgetEndsAt }: Deadlines): number {
  return Math.min(INSPECT_MS, Math.max(INSPECT_MIN_MS, budgetEndsAt + INSPECT_GRACE_MS - monotonicNow()));
}

/** With what a script has made of the address since, and the fragment. */
function finalUrl(session: PageSession, shown: DocumentState, { html, baseUrl }: CaptureOptions): string {
  const current = session.page.url();
  const url = /^https?:/.test(current) ? current : shown.url;
  const ownAddress = html !== null && baseUrl === null && url.startsWith(HTML_DOCUMENT_URL);
  return ownAddress ? `about:html${new URL(url).hash}` : url;
}
