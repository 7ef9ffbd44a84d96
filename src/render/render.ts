/**
 * Request in, picture out: what one capture does in a browser, as one list of small steps. Knows no job, account, store or HTTP.
 */

import type { CaptureWarning, Inspection, RenderDiagnostics } from '../contract/capture-data.js';
import { type CaptureFormat, type CaptureOptions, HTML_DOCUMENT_URL } from '../contract/capture-request.js';
import type { Requester } from '../egress/egress.js';
import type { Log } from '../log.js';
import { EarlyPicture, isEarly } from './early-picture.js';
import { monotonicNow } from './monotonic-now.js';
import { checkOutput, refuseWhite } from './page/check-output.js';
import { checkPage } from './page/check-page.js';
import { contentReady } from './page/content-ready.js';
import { bypassCsp, runCustomJs } from './page/custom-js.js';
import { Deadlines, TIMED_OUT } from './page/deadline.js';
import { dropStalledStyleSheets } from './page/drop-stalled-style-sheets.js';
import { edit, fetches } from './page/edit.js';
import type { DocumentState } from './page/main-document.js';
import { navigate } from './page/navigate.js';
import { type OpenPage, openPage } from './page/open-page.js';
import { PageMoved } from './page/page-moved.js';
import { restoreLogin } from './page/restore-login.js';
import { checkSelectors } from './page/selectors.js';
import { settle } from './page/settle.js';
import { StageTimes } from './page/stage-times.js';
import { Tolerance } from './page/tolerance.js';
import { type EgressCountries, verifyEgress } from './page/verify-egress.js';
import { waitForSelector } from './page/wait-for-selector.js';
import { follow, waitUntil } from './page/wait-until.js';
import type { PageSession } from './page-session.js';
import type { EncodeQueue } from './picture/encode-queue.js';
import type { Picture } from './picture/picture.js';
import { type ScrollReport, scrollThrough, scrollToElement } from './picture/scroll-through.js';
import { takePicture } from './picture/take-picture.js';
import { neverReady, neverStays, translate } from './render-failure.js';

/** One capture to make. */
export interface RenderOrder {
  options: CaptureOptions;
  /** For the log and for leases only. */
  id: string;
  /** For the log only. */
  account?: string;
  /** 0–100, by stage. */
  onProgress(progress: number): void;
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
  /** What `tolerate` let pass. */
  warnings: CaptureWarning[];
  egressCountry: string | null;
  diagnostics: RenderDiagnostics;
  inspection: Inspection | null;
  /** ms by stage: navigate, settle, scroll, shoot, encode. */
  timings: Record<string, number>;
}

export interface RenderDeps {
  pool: { acquire(options: CaptureOptions, signal: AbortSignal, requester: Requester): Promise<PageLease> };
  blocker: { guard(session: PageSession, options: CaptureOptions, id: string): Promise<BlockGuard> };
  countries: EgressCountries;
  /** The process's one queue for big pictures. */
  encodes: EncodeQueue;
  inspect(session: PageSession, how: { timeoutMs: number }): Promise<Inspection>;
  log: Log;
}

interface PageLease {
  readonly session: PageSession;
  release(): Promise<void>;
}

interface BlockGuard {
  readonly blockedRequests: number;
  answerBanners(signal: AbortSignal, last: boolean): Promise<{ outcome: string; scrollFreed: boolean }>;
  glance(): Promise<boolean>;
  stop(): Promise<void>;
}

/** Times that a page may go elsewhere under our hands before it is given up. */
const MOVES_FOLLOWED = 3;
const SCROLL_MAX_MS = 20_000;
/** Kept for what comes after the scrolling. */
const AFTER_SCROLL_MS = 8_000;
const MOTION_MAX_MS = 1_000;
const MECHANISMS_MAX_MS = 500;
const LOOK_MAX_MS = 1_000;
/** A picture of the view may take this long past the budget. */
const PICTURE_GRACE_MS = 4_000;
const INSPECT_MS = 5_000;
/** And the inspection this long, though it always has a moment. */
const INSPECT_GRACE_MS = 4_500;
const INSPECT_MIN_MS = 500;

/**
 * Makes one picture; every capture has a page session of its own, which is released whatever happens.
 *
 * @param signal ends the capture at once; its reason is what is thrown
 * @throws CaptureError with any code of a capture (decisions.md, Error codes)
 */
export async function render(deps: RenderDeps, order: RenderOrder, signal: AbortSignal): Promise<Rendering> {
  const began = monotonicNow();
  const requester = { job_id: order.id, ...(order.account === undefined ? {} : { account: order.account }) };
  const lease = await deps.pool.acquire(order.options, AbortSignal.any([signal, AbortSignal.timeout(order.options.timeout)]), requester);
  const { session } = lease;
  const deadlines = new Deadlines({ ...order.options, began }, [signal, session.lost]);
  try {
    return await deadlines.orEnd(capture(deps, order, { session, deadlines }));
  } catch (error) {
    signal.throwIfAborted();
    throw translate(error, session);
  } finally {
    deadlines[Symbol.dispose]();
    // Nobody waits for the page to close; a browser that does not manage it is killed by the pool.
    const release = () =>
      lease.release().catch((error: unknown) => deps.log.warn({ err: error, job_id: order.id }, 'a page was not closed'));
    Promise.resolve(order.kept).then(release, release);
  }
}

async function capture(deps: RenderDeps, order: RenderOrder, on: { session: PageSession; deadlines: Deadlines }): Promise<Rendering> {
  const { options } = order;
  const { session, deadlines } = on;
  const times = new StageTimes(order.onProgress);
  times.enter('prepare', 5);
  const preparing = Promise.all([
    openPage(session, deadlines, new Tolerance(options.tolerate)),
    deps.blocker.guard(session, options, order.id),
    verifyEgress(deps.countries, { captureProxy: session.captureProxy, options, deadlines }),
    checkSelectors(on, options),
    edit(on, options),
    restoreLogin(on, options),
    options.customJs !== null || fetches(options.customCss) ? bypassCsp(session) : null,
  ]);
  const prepared = await deadlines.within(preparing, deadlines.leftMs());
  if (prepared === TIMED_OUT) throw neverReady(deadlines.timeout);
  const [page, guard, egressCountry] = prepared;
  times.enter('navigate', 15);
  await navigate(page, options.url);
  await waitUntil(page, options.waitUntil);
  if (options.customJs !== null) await runCustomJs(page, options.customJs);
  if (options.waitForSelector !== null) await waitForSelector(page, options.waitForSelector);
  const { picture, shown } = await pictureOf(deps, options, { page, guard, times });
  const { tolerance } = page;
  const showsAll = options.selector === null && options.clip === null && !options.omitBackground;
  if (options.format !== 'pdf' && showsAll)
    await refuseWhite(picture, () => paintsWhite(page)).catch((error: unknown) => tolerance.orThrow(error));
  checkOutput(picture, options, tolerance);
  await logMechanisms(deps.log, order.id, page);
  const inspection = options.inspectPage ? await deadlines.orEnd(deps.inspect(session, { timeoutMs: inspectMs(deadlines) })) : null;
  const { prepare: _prepare, picture: _picture, ...timings } = times.taken();
  return {
    content: picture.content,
    format: options.format,
    width: picture.width,
    height: picture.height,
    finalUrl: finalUrl(session, shown, options),
    blockedRequests: guard.blockedRequests + session.captureProxy.refusedCount,
    warnings: tolerance.warnings,
    egressCountry,
    diagnostics: picture.diagnostics,
    inspection,
    timings: { ...timings, shoot: Math.round(picture.timings.shoot), encode: Math.round(picture.timings.encode) },
  };
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

interface Shooting {
  page: OpenPage;
  guard: BlockGuard;
  times: StageTimes;
}

/** The picture of a page that was ready, checked, and still the same one when it had been taken; begun anew when the page went elsewhere. */
async function pictureOf(
  deps: RenderDeps,
  options: CaptureOptions,
  shooting: Shooting,
): Promise<{ picture: Picture; shown: DocumentState }> {
  const { main } = shooting.page;
  for (let moves = 0; moves <= MOVES_FOLLOWED; moves++) {
    const shown = await waitUntil(shooting.page, options.waitUntil === 'networkidle' ? 'load' : options.waitUntil);
    try {
      const picture = await shoot(deps, options, { ...shooting, shown });
      if (main.current === shown) return { picture, shown };
    } catch (error) {
      if (main.current === shown && !(error instanceof PageMoved)) throw error;
    }
  }
  throw neverStays();
}

async function shoot(deps: RenderDeps, options: CaptureOptions, shooting: Shooting & { shown: DocumentState }): Promise<Picture> {
  const { page, guard, times } = shooting;
  const { session, deadlines } = page;
  times.enter('settle', 40);
  const early = isEarly(options) ? earlyPicture(deps, options, shooting) : null;
  if (options.waitForIdle) await settle(page, early ?? undefined);
  if (early !== null && early.kept !== null) return early.kept;
  const scrolls = options.selector === null && (options.fullPage || clipsBelowView(options));
  const waits = options.waitForContent || options.delay > 0;
  await clearBanners(page, options, { guard, last: !waits && !scrolls });
  if (options.waitForContent) await contentReady(page);
  if (options.delay > 0) await deadlines.outside(() => deadlines.sleep(options.delay));
  if (waits) await clearBanners(page, options, { guard, last: !scrolls });
  await dropStalledStyleSheets(page, shooting.shown);
  times.enter('scroll', 60);
  if (options.selector !== null) await reach(page, options.selector, options);
  const scroll = scrolls ? await deadlines.outside(() => scrolled(page, guard, options)) : null;
  times.enter('settle', 70);
  const shown = await follow(page, shooting.shown, options.waitUntil);
  if (shown !== shooting.shown) throw new PageMoved('the page navigated away while it was being prepared');
  await checkPage(page, shown, options);
  times.enter('picture', 80);
  const deadline = scroll === null ? viewDeadline(deadlines) : deadlines.endsAt;
  const motionMs = () => Math.min(MOTION_MAX_MS, deadline - monotonicNow());
  if (options.reduceMotion) await deadlines.within(page.world.call('motion.end'), motionMs());
  await deadlines.within(page.world.call('hold.still', { motion: options.reduceMotion }), motionMs());
  const how = { deadline, scroll, encodes: deps.encodes };
  const taking = () =>
    takePicture(session, options, how).catch((error: unknown) => {
      // An element or a part of the page that is not there: the view is what stands.
      page.tolerance.orThrow(error);
      return takePicture(session, { ...options, selector: null, clip: null }, { ...how, scroll: options.fullPage ? scroll : null });
    });
  // A view's picture is begun anew when the page moves: its time counts, so that the whole ends in time.
  return scroll === null ? await deadlines.orEnd(taking()) : await deadlines.outside(taking);
}

function earlyPicture(deps: RenderDeps, options: CaptureOptions, { page, guard }: Shooting): EarlyPicture {
  const { session, deadlines } = page;
  const deadline = viewDeadline(deadlines);
  const take = () => takePicture(session, options, { deadline, scroll: null, encodes: deps.encodes });
  return new EarlyPicture({ page, guard, deadline, take }, options);
}

/** When a picture of the view must be there, ms by `monotonicNow`. */
function viewDeadline({ endsAt, budgetEndsAt }: Deadlines): number {
  return Math.min(endsAt, budgetEndsAt + PICTURE_GRACE_MS);
}

/** Again after whatever gave a page the time to show another one. */
async function clearBanners(page: OpenPage, options: CaptureOptions, { guard, last }: { guard: BlockGuard; last: boolean }): Promise<void> {
  const { deadlines } = page;
  const banner = await deadlines.within(guard.answerBanners(deadlines.signal, last), deadlines.leftMs());
  if (banner !== TIMED_OUT && banner.outcome !== 'none' && options.waitForIdle) await settle(page);
}

async function scrolled(page: OpenPage, guard: BlockGuard, options: CaptureOptions): Promise<ScrollReport> {
  const deadline = Math.min(monotonicNow() + SCROLL_MAX_MS, page.deadlines.endsAt - AFTER_SCROLL_MS);
  const quiet = async () => {
    if (options.waitForIdle) await settle(page);
    await clearBanners(page, options, { guard, last: true });
  };
  return await scrollThrough(page, options, { deadline, settle: quiet });
}

/** Within the budget: what is late is pictured as it stands. */
async function reach(page: OpenPage, selector: string, options: CaptureOptions): Promise<void> {
  const { deadlines } = page;
  const leftMs = deadlines.leftMs();
  const quiet = options.waitForIdle ? () => settle(page) : async () => {};
  await deadlines.within(scrollToElement(page, selector, { deadline: monotonicNow() + leftMs, settle: quiet }), leftMs);
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

/** What lies there may load only once it is scrolled to. */
function clipsBelowView({ clip, view }: CaptureOptions): boolean {
  return clip !== null && clip.y + clip.height > view.height;
}
