/** One capture, with its share of memory, its page and its time limits, as one flat list of steps. Knows no job, account, store or HTTP. */

import { animationGraceMs } from '../contract/animation.js';
import type { CaptureChanges, CaptureWarning, Inspection, RenderDiagnostics } from '../contract/capture-data.js';
import { type CaptureFormat, type CaptureOptions, HTML_DOCUMENT_URL } from '../contract/capture-request.js';
import type { LocalPassage, Passage } from '../egress/egress.js';
import type { Log } from '../log.js';
import type { FactsReader } from './inspect/facts-reader.js';
import { estimateBytes, type MemoryBudget } from './memory-budget.js';
import { checkPage, checkPicture } from './page/check-page.js';
import { Deadlines, monotonicNow, type StageTime, StageTimes, TIMED_OUT, timingsOf } from './page/deadline.js';
import type { DocumentState } from './page/main-document.js';
import { runCustomJs } from './page/main-world.js';
import { keepsNavigating, navigate, waitUntil } from './page/navigate.js';
import { type OpenPage, openPage } from './page/open-page.js';
import { advanceTime, holdClock, resumePage, stopPage } from './page/page-clock.js';
import { bypassCsp, checkSelectors, type EgressCountries, edit, emulateOrigin, restoreLogin, verifyEgress } from './page/prepare.js';
import { runSteps, waitForFunction } from './page/steps.js';
import {
  ADVANCE_AGAIN_MS,
  dropStalledStyleSheets,
  waitForAssets,
  waitForContent,
  waitForIdle,
  waitForSelector,
  whileTimePasses,
} from './page/waits.js';
import { DocumentReplaced } from './page/world.js';
import type { DebugSink, PageSession } from './page-session.js';
import { takeAnimation } from './picture/animation.js';
import type { EncodeQueue, Picture } from './picture/picture.js';
import { scrollThrough, scrollToElement } from './picture/scroll-through.js';
import { takePicture } from './picture/take-picture.js';
import { browserNotReady, crashedAgain, isSharedLoss, translate } from './render-failure.js';
import { type BlockedAndBanner, explain, warningsOf, watchMissingFiles } from './report.js';

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

type Acquire = (options: CaptureOptions, signal: AbortSignal, passage: Pick<Passage, 'requester' | 'local'>) => Promise<PageLease>;

export interface RenderDeps {
  pool: {
    acquire: Acquire;
    /** Acquires a page in a browser that no other capture uses. */
    acquireAlone: Acquire;
  };
  memory: Pick<MemoryBudget, 'reserve'>;
  blocker: { guard(session: PageSession, options: CaptureOptions, id: string): Promise<BlockGuard> };
  countries: EgressCountries;
  /** The process's one queue for encoding big pictures. */
  encodes: EncodeQueue;
  /** STILLFRAME_FFMPEG, which makes mp4. */
  ffmpeg: string | null;
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
  answerBanners(signal: AbortSignal): Promise<{ outcome: string }>;
  explain(): Promise<BlockedAndBanner>;
}

/** How long the dedicated browser of a repeated capture may take to start. */
const OWN_BROWSER_START_MS = 30_000;
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

/**
 * Makes one picture in its own page session, which is always released. A capture that crashed together with others of its
 * browser is repeated in a dedicated browser.
 * @param signal ends the capture at once; its reason is thrown
 * @throws CaptureError with any code of a capture (decisions.md, Error codes)
 */
export async function capture(deps: RenderDeps, order: RenderOrder, signal: AbortSignal): Promise<Rendering> {
  return await captureOnce(deps, order, { signal, alone: false }).catch((error: unknown) => {
    if (signal.aborted || !isSharedLoss(error)) throw error;
    deps.log.info({ job_id: order.id, err: error }, 'a capture was lost with others of its browser and is repeated alone');
    return captureOnce(deps, order, { signal, alone: true }).catch((again: unknown) => Promise.reject(crashedAgain(again)));
  });
}

async function captureOnce(
  deps: RenderDeps,
  order: RenderOrder,
  { signal, alone }: { signal: AbortSignal; alone: boolean },
): Promise<Rendering> {
  const { options, id, account, local } = order;
  const memory = await deps.memory.reserve(estimateBytes(options, alone), signal);
  order.onBegin?.();
  const times = new StageTimes(order.onProgress);
  let lease: PageLease | null = null;
  try {
    times.enter('prepare', 5);
    const asked = monotonicNow();
    const ends = AbortSignal.any([signal, AbortSignal.timeout(alone ? OWN_BROWSER_START_MS : options.timeout)]);
    lease = await deps.pool[alone ? 'acquireAlone' : 'acquire'](options, ends, { requester: { job_id: id, account }, local });
    const { session } = lease;
    // The start of a dedicated browser does not count towards the timeout: the capture did not cause the first crash.
    using deadlines = new Deadlines({ ...options, grace: animationGraceMs(options), began: alone ? monotonicNow() : asked }, [
      signal,
      session.lost,
    ]);
    const rendering = await deadlines.orEnd(captureIn(session, { deps, order, deadlines, times }));
    // A browser whose network service has crashed still makes pictures, but without images.
    lease.verify();
    session.lost.throwIfAborted();
    return rendering;
  } catch (error) {
    order.onStages?.(times.stages({ failed: true }));
    signal.throwIfAborted();
    lease?.verify();
    throw lease === null ? error : translate(error, lease.session);
  } finally {
    // The page closes in the background; the pool kills a browser that fails to close it.
    const release = async () => {
      await lease?.release().catch((error: unknown) => deps.log.warn({ err: error, job_id: id }, 'a page was not closed'));
      memory[Symbol.dispose]();
    };
    // A crashed page is closed at once, before the capture is repeated.
    if (lease === null || lease.session.lost.aborted) void release();
    else Promise.resolve(order.kept).then(release, release);
  }
}

interface Running {
  deps: RenderDeps;
  order: RenderOrder;
  deadlines: Deadlines;
  times: StageTimes;
}

async function captureIn(session: PageSession, { deps, order, deadlines, times }: Running): Promise<Rendering> {
  const { options } = order;
  const missing = watchMissingFiles(session, options);
  const page = openPage(session, deadlines, order);
  const [guard, egressCountry] = await prepare(session, { deps, order, deadlines });
  times.enter('navigate', 15);
  await navigate(page, options.url, options.referer);
  await waitUntil(page, options.waitUntil);
  if (options.customJs !== null) await whileTimePasses(page, runCustomJs(page, options.customJs));
  if (options.steps.length > 0) await carryOut(page, { guard, times, options });
  if (options.waitForSelector !== null) await whileTimePasses(page, waitForSelector(page, options.waitForSelector));
  if (options.waitForFunction !== null) await waitForFunction(page, options.waitForFunction);
  const facts = options.inspectPage ? await openFacts(page, options) : null;
  const { picture, shown } = await pictureStableDocument({ page, guard, times, deps, options, facts });
  await checkPicture(page, picture, options);
  const warnings = [...page.tolerance.warnings, ...(await warningsOf(page, options, { picture, missing }))];
  const changed = options.explain || order.debug !== undefined ? await deadlines.orEnd(explain(page, guard)) : null;
  if (changed !== null) order.debug?.note({ step: 'changed', ...changed });
  if (options.inspectPage) times.enter('inspect', 90);
  const timeoutMs = Math.min(INSPECT_MS, Math.max(INSPECT_MIN_MS, deadlines.budgetEndsAt + INSPECT_GRACE_MS - monotonicNow()));
  const told = facts === null ? {} : await deadlines.orEnd(facts.finish(shown));
  const inspection = options.inspectPage ? { ...(await deadlines.orEnd(deps.inspect(session, { timeoutMs }))), ...told } : null;
  const stages = times.stages({ picture: picture.timings });
  order.onStages?.(stages);
  const { content, width, height, diagnostics } = picture;
  return {
    content,
    format: options.format,
    width,
    height,
    finalUrl: finalUrl(session, shown, options),
    blockedRequests: guard.blockedRequests + session.captureProxy.refusedCount,
    warnings,
    changed,
    egressCountry,
    diagnostics,
    inspection,
    timings: timingsOf(stages),
  };
}

/** Other captures do not load what reads facts. */
async function openFacts(page: OpenPage, { annotate }: CaptureOptions): Promise<FactsReader> {
  const { FactsReader } = await import('./inspect/facts-reader.js');
  return new FactsReader(page, annotate);
}

/** Prepares everything that must be in place before the navigation, in parallel. */
async function prepare(session: PageSession, { deps, order, deadlines }: Omit<Running, 'times'>) {
  const { options, id } = order;
  const preparing = Promise.all([
    deps.blocker.guard(session, options, id),
    verifyEgress(deps.countries, { captureProxy: session.captureProxy, options, deadlines }),
    checkSelectors(session, options),
    edit(session, options),
    restoreLogin(session, options),
    bypassCsp(session, options),
    emulateOrigin(session, options),
    options.animate === null ? undefined : holdClock(session),
  ]);
  const prepared = await deadlines.withTimeout(preparing, deadlines.leftMs());
  if (prepared === TIMED_OUT) throw browserNotReady(deadlines.timeout);
  return prepared;
}

/** Carries out the steps of the request. */
async function carryOut(page: OpenPage, { guard, times, options }: Pick<Shooting, 'guard' | 'times' | 'options'>): Promise<void> {
  const { deadlines } = page;
  times.enter('steps', 30);
  const clearBanners = async () => void (await deadlines.withTimeout(guard.answerBanners(deadlines.signal), deadlines.leftMs()));
  const settle = async () => {
    if (options.waitForIdle) await waitForIdle(page);
    await clearBanners();
  };
  await runSteps(page, { options, settle, clearBanners });
}

interface Shooting {
  page: OpenPage;
  guard: BlockGuard;
  times: StageTimes;
  deps: Pick<RenderDeps, 'encodes' | 'ffmpeg'>;
  options: CaptureOptions;
  /** Null without `inspect_page`. */
  facts: FactsReader | null;
}

/** Takes the picture again if the page navigated to another document meanwhile. */
async function pictureStableDocument(shooting: Shooting): Promise<{ picture: Picture; shown: DocumentState }> {
  const { page, options } = shooting;
  for (let moves = 0; moves <= NAVIGATIONS_MAX; moves++) {
    const shown = await waitUntilLoaded(page, options);
    try {
      const picture = await pictureDocument(shown, shooting);
      if (page.main.current === shown) return { picture, shown };
    } catch (error) {
      if (page.main.current === shown && !(error instanceof DocumentReplaced)) throw error;
    }
    await resumePage(page.session);
  }
  throw keepsNavigating();
}

/** Follows navigations of a page that has reached `wait_until` once. */
function waitUntilLoaded(page: OpenPage, { waitUntil: state }: CaptureOptions): Promise<DocumentState> {
  return waitUntil(page, state === 'networkidle' ? 'load' : state);
}

/** Runs the page's clock ahead, removes banners, scrolls, checks and stops the page, and takes its picture. */
async function pictureDocument(shown: DocumentState, { page, guard, times, deps, options, facts }: Shooting): Promise<Picture> {
  const { deadlines } = page;
  const { selector, clip, delay, animate } = options;
  // Content below the view may load only when it is scrolled to.
  const clipsBelowView = clip !== null && clip.y + clip.height > options.view.height;
  const isWhole = options.fullPage || options.format === 'pdf' || animate?.scroll === true;
  const scrolls = selector === null && (isWhole || (clipsBelowView && animate === null));
  const waits = options.waitForContent || delay > 0;
  const idleAgain = async () => (options.waitForIdle ? await waitForIdle(page, ADVANCE_AGAIN_MS) : undefined);
  // Called again after each wait that gave the page time to show another banner.
  const clearBanners = async () => {
    const banner = await deadlines.withTimeout(guard.answerBanners(deadlines.signal), deadlines.leftMs());
    if (banner !== TIMED_OUT && banner.outcome !== 'none') await idleAgain();
  };
  const idleWithoutBanners = async () => {
    await idleAgain();
    await clearBanners();
  };
  times.enter('run', 40);
  // What moves is shown from its beginning, unless all of the page is.
  if (animate !== null && !animate.scroll) await waitForAssets(page);
  else if (options.waitForIdle) await waitForIdle(page);
  const isRepeatable = options.customJs === null && options.steps.length === 0;
  if (page.network.refusedAhead && !page.realTime && !page.held && isRepeatable) await loadInRealTime(page, shown);
  times.enter('settle', 50);
  await clearBanners();
  if (options.waitForContent) await waitForContent(page);
  if (delay > 0) await deadlines.withBudgetPaused(() => advanceTime(page, delay, { realMs: delay }));
  if (waits) await clearBanners();
  await dropStalledStyleSheets(page, shown);
  await facts?.readVitals();
  times.enter('scroll', 60);
  // A page that does not respond at all fails as early as one that is not scrolled.
  const viewDeadline = () => Math.min(deadlines.endsAt, deadlines.budgetEndsAt + PICTURE_GRACE_MS);
  const scrollDeadline = Math.min(monotonicNow() + SCROLL_MAX_MS, deadlines.endsAt - AFTER_SCROLL_MS);
  const scrollWith = { deadline: scrollDeadline, respondsBy: viewDeadline(), waitForIdle: idleWithoutBanners };
  const scroll = scrolls ? await deadlines.withBudgetPaused(() => scrollThrough(page, options, scrollWith)) : null;
  if (selector !== null) {
    const leftMs = deadlines.leftMs();
    // After its budget, the element is captured in its current state.
    const scrolling = scrollToElement(page, selector, { deadline: monotonicNow() + leftMs, waitForIdle: idleAgain });
    await deadlines.withTimeout(scrolling, leftMs);
  }
  times.enter('settle', 70);
  // A document that loads no further, such as one with a font that hangs, is not waited for again.
  const hasMoved = page.main.current !== shown || page.main.navigating || shown.failure !== null;
  if (hasMoved && (await waitUntilLoaded(page, options)) !== shown) throw new DocumentReplaced('the page navigated away');
  await checkPage(page, shown, options);
  times.enter('stop', 75);
  const deadline = scroll === null ? viewDeadline() : deadlines.endsAt;
  // Animations and frames that are late are captured as they are.
  const limited = (work: Promise<unknown>) => deadlines.withTimeout(work, Math.min(MOTION_MAX_MS, deadline - monotonicNow()));
  if (clip !== null && !scrolls) await limited(page.world.call('scrollers.expandAll'));
  if (options.reduceMotion) await limited(page.world.call('frames.endMotion'));
  if (animate === null) await limited(stopPage(page.session, options));
  // An image that has just arrived is decoded only when it is first painted.
  if (page.network.hasLoadedImages(DECODED_AFTER_MS)) await limited(page.world.call('frames.passFrames', 2, FRAMES_MAX_MS));
  times.enter('shoot', 80);
  const { encodes, ffmpeg } = deps;
  if (animate !== null) {
    const order = { deadline: deadlines.endsAt, encodes, animate, ffmpeg };
    return await deadlines.withBudgetPaused(() => takeAnimation(page, options, order));
  }
  const how = { deadline, scroll, encodes, arranged: facts === null ? undefined : facts.readElements.bind(facts) };
  const taking = () =>
    takePicture(page, options, how).catch((error: unknown) => {
      // `tolerate` allows an element or clip that does not exist: the view is captured instead.
      page.tolerance.orThrow(error);
      return takePicture(page, { ...options, selector: null, clip: null }, { ...how, scroll: options.fullPage ? scroll : null });
    });
  // A navigation restarts the capture of a view, so its time limit covers all attempts.
  const picture = scroll === null ? await deadlines.orEnd(taking()) : await deadlines.withBudgetPaused(taking);
  await facts?.clear();
  return picture;
}

/**
 * Reloads the page in real time, for servers that refuse requests from a page whose clock is ahead.
 * @throws DocumentReplaced always
 */
async function loadInRealTime(page: OpenPage, shown: DocumentState): Promise<never> {
  const { session, main, deadlines } = page;
  page.realTime = true;
  await session.cdp.send('Page.reload');
  const replaced = main.until(() => main.current !== shown);
  await deadlines.withTimeout(replaced, deadlines.leftMs());
  throw new DocumentReplaced('the page is loaded again in real time');
}

/** The document's current address, including changes by scripts and the fragment. */
function finalUrl(session: PageSession, shown: DocumentState, { html, baseUrl }: CaptureOptions): string {
  const current = session.page.url();
  const url = /^https?:/.test(current) ? current : shown.url;
  const ownAddress = html !== null && baseUrl === null && url.startsWith(HTML_DOCUMENT_URL);
  return ownAddress ? `about:html${new URL(url).hash}` : url;
}
