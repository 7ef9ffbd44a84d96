/** Runs one capture: its loads of the page, its share of memory, its lease of a page and its retries. Knows nothing of jobs, the store or HTTP. */

import { animationGraceMs } from '../contract/animation.js';
import type { CaptureChanges, CaptureWarning, Inspection } from '../contract/capture-data.js';
import { CaptureError } from '../contract/capture-error.js';
import { type ArtifactFormat, type CaptureOptions, shownAddress } from '../contract/capture-request.js';
import { TIMEOUT_MS } from '../contract/limits.js';
import { type PageLoad, pageLoadsOf } from '../contract/page-loads.js';
import type { LocalPassage } from '../egress/egress.js';
import type { Log } from '../log.js';
import {
  Deadlines,
  type EncodeQueue,
  estimateBytes,
  type MemoryBudget,
  monotonicNow,
  type StageTime,
  StageTimes,
  TIMED_OUT,
  timingsOf,
} from './budgets.js';
import { type FileContents, ownFiles } from './guard/own-files.js';
import type { FactsReader } from './inspect/facts-reader.js';
import { checkPage } from './page/check-page.js';
import { runCustomJs } from './page/main-world.js';
import {
  bypassCsp,
  checkSelectors,
  type EgressCountries,
  edit,
  emulateOrigin,
  keepsNavigating,
  navigateToTarget,
  restoreLogin,
  verifyEgress,
  waitUntil,
  waitUntilLoaded,
} from './page/navigate.js';
import { type DocumentState, type OpenPage, openPage } from './page/open-page.js';
import {
  ADVANCE_AGAIN_MS,
  advanceTime,
  dropStalledStyleSheets,
  holdClock,
  resumePage,
  stopPage,
  type TimedPage,
  waitForAssets,
  waitForContent,
  waitForIdle,
  waitForSelector,
  whileTimePasses,
} from './page/page-clock.js';
import {
  boundedPage,
  type DebugSink,
  DocumentReplaced,
  isClosed,
  NoBrowser,
  type PageSession,
  pageCrashed,
  SharedLoss,
} from './page-session.js';
import { checkPicture } from './picture/check-picture.js';
import { scrollToElement } from './picture/element-picture.js';
import { type ScrollReport, scrollThrough, waitForReaction } from './picture/full-page.js';
import { isPrinted, prepareToPrint, putBackSeen } from './picture/pdf-picture.js';
import { type Picture, setDensity } from './picture/region-picture.js';
import {
  findElements,
  groupPictures,
  noting,
  type PictureGroup,
  type PictureToTake,
  type Taken,
  type TakenPicture,
  TakenPictures,
  takeOne,
  undoPicture,
} from './picture/take-picture.js';
import type { BrowserPool, PageLease } from './pool/browser-pool.js';
import { type BlockedAndBanner, explain, pictureWarnings, warningsOf, watchMissingFiles } from './report.js';
import { runSteps, waitForFunction } from './steps/steps.js';

export interface RenderOrder {
  options: CaptureOptions;
  /** Identifies the capture in the log and in leases. */
  id: string;
  /** Identifies the account in the log. */
  account?: string;
  local?: LocalPassage | undefined;
  /** The content of `options.files`. */
  files?: FileContents | undefined;
  /** Called when memory is available for the capture, and again if it is repeated. Its timeout starts here. */
  onBegin?(): void;
  /** Receives the progress, 0–100, at the start of each stage. */
  onProgress(progress: number): void;
  /** Called at the end of each rendering, whether it failed or not. */
  onStages?(stages: readonly StageTime[]): void;
  /** Receives each step and band, for `--debug`. */
  debug?: DebugSink | undefined;
  /** The page closes once this resolves, so that closing does not compete for the processor; at once when absent. */
  kept?: Promise<unknown> | undefined;
}

/** One picture. Its size is in output px, read from the encoded bytes; that of a PDF in CSS px of its first page. */
interface RenderedPicture extends Pick<Picture, 'content' | 'width' | 'height' | 'diagnostics'> {
  format: ArtifactFormat;
  warnings: CaptureWarning[];
}

/** One of several pictures of a capture. */
export interface NamedPicture extends RenderedPicture {
  name: string;
}

/** A picture and its metadata. */
export interface Rendering extends RenderedPicture {
  /** All pictures in the order of the request, the first included; null unless it asks for several. */
  captures: NamedPicture[] | null;
  finalUrl: string;
  blockedRequests: number;
  /** Present only with the option `explain`. */
  changed: CaptureChanges | null;
  egressCountry: string | null;
  inspection: Inspection | null;
  /** Present only with the option `document`; `status` is null for a document without a response. */
  response?: { status: number | null };
  /** Durations in ms by stage: navigate, run, settle, scroll, stop, shoot, encode. */
  timings: Record<string, number>;
}

export interface RenderDeps {
  pool: Pick<BrowserPool, 'acquire' | 'acquireAlone'>;
  memory: Pick<MemoryBudget, 'reserve'>;
  blocker: { guard(session: PageSession, options: CaptureOptions, id: string): Promise<BlockGuard> };
  countries: EgressCountries;
  /** The process's one queue for encoding big pictures. */
  encodes: EncodeQueue;
  /** The queue for encoding animated pictures, each of which may take a minute. */
  animations: EncodeQueue;
  /** STILLFRAME_FFMPEG, which makes mp4. */
  ffmpeg: string | null;
  inspect(session: PageSession, how: { timeoutMs: number }): Promise<Inspection>;
  log: Log;
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
 * Makes the pictures of a request, one load of the page after another within the time limits of one capture. Each load has its
 * own page session, which is always released. One that crashed together with others of its browser is repeated in a dedicated
 * browser.
 * @param signal ends the capture at once; its reason is thrown
 * @throws CaptureError with any code of a capture (decisions.md, Error codes)
 */
export async function capture(deps: RenderDeps, order: RenderOrder, signal: AbortSignal): Promise<Rendering> {
  const { timeout, delay } = order.options;
  const loads = pageLoadsOf(order.options);
  let begun = monotonicNow();
  const renderings: Rendering[] = [];
  for (const [index, load] of loads.entries()) {
    const leftMs = index === 0 ? timeout : timeout - (monotonicNow() - begun - index * delay);
    if (loads.length > 1 && leftMs < TIMEOUT_MS.min) throw noTimeLeft(timeout, { loads: loads.length, done: index });
    const part: RenderOrder = {
      ...order,
      // The facts and the report are those of the first load.
      options: { ...load.options, timeout: Math.min(timeout, leftMs), ...(index === 0 ? {} : { inspectPage: false, explain: false }) },
      onBegin() {
        if (index > 0) return;
        begun = monotonicNow();
        order.onBegin?.();
      },
      onProgress: (progress) => order.onProgress((100 * index + progress) / loads.length),
      kept: index === loads.length - 1 ? order.kept : undefined,
    };
    renderings.push(await captureLoad(deps, part, { load, signal, heldBytes: bytesOf(renderings) }));
  }
  const [first, ...others] = renderings;
  if (first === undefined) throw new Error('a request has no page load');
  if (others.length === 0) return first;
  return {
    ...first,
    captures: renderings.flatMap(({ captures }) => captures ?? []),
    warnings: [
      ...first.warnings,
      ...others.flatMap(({ warnings }) => warnings.filter(({ message }) => !first.warnings.some((known) => known.message === message))),
    ],
    blockedRequests: renderings.reduce((sum, { blockedRequests }) => sum + blockedRequests, 0),
    timings: sumOf(renderings.map(({ timings }) => timings)),
  };
}

function noTimeLeft(timeout: number, { loads, done }: { loads: number; done: number }): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `\`timeout\` (${timeout} ms) ended after ${done} of ${loads} loads of the page, which share it. A longer one, or fewer loads, may help.`,
    details: { waited_for: 'loads', loads, done },
  });
}

function sumOf(all: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, ms] of all.flatMap((one) => Object.entries(one))) sums[name] = (sums[name] ?? 0) + ms;
  return sums;
}

function bytesOf(renderings: readonly Rendering[]): number {
  return renderings.flatMap(({ captures }) => captures ?? []).reduce((sum, { content }) => sum + content.byteLength, 0);
}

interface LoadOrder {
  load: PageLoad;
  signal: AbortSignal;
  /** Encoded bytes of earlier loads. */
  heldBytes: number;
}

async function captureLoad(deps: RenderDeps, order: RenderOrder, how: LoadOrder): Promise<Rendering> {
  return await captureOnce(deps, order, { ...how, alone: false }).catch((error: unknown) => {
    // Another capture may have caused the failure.
    const isShared = error instanceof CaptureError && error.cause instanceof SharedLoss;
    if (how.signal.aborted || !isShared) throw error;
    deps.log.info({ job_id: order.id, err: error }, 'a capture was lost with others of its browser and is repeated alone');
    return captureOnce(deps, order, { ...how, alone: true }).catch((again: unknown) => Promise.reject(crashedAgain(again)));
  });
}

async function captureOnce(
  deps: RenderDeps,
  order: RenderOrder,
  { load, signal, heldBytes, alone }: LoadOrder & { alone: boolean },
): Promise<Rendering> {
  const { options, id, account, local, files } = order;
  const memory = await deps.memory.reserve(estimateBytes(load, alone) + heldBytes, signal);
  order.onBegin?.();
  const times = new StageTimes(order.onProgress);
  let lease: PageLease | null = null;
  try {
    times.enter('prepare', 5);
    const asked = monotonicNow();
    const ends = AbortSignal.any([signal, AbortSignal.timeout(alone ? OWN_BROWSER_START_MS : options.timeout)]);
    const own = options.files === null || files === undefined ? undefined : ownFiles(options.files.list, files);
    lease = await deps.pool[alone ? 'acquireAlone' : 'acquire'](options, ends, { requester: { job_id: id, account }, local, own });
    const { session } = lease;
    // The start of a dedicated browser does not count towards the timeout: the capture did not cause the first crash.
    using deadlines = new Deadlines({ ...options, grace: animationGraceMs(options), began: alone ? monotonicNow() : asked }, [
      signal,
      session.lost,
    ]);
    const rendering = await deadlines.orEnd(captureIn(session, { deps, order, load, heldBytes, deadlines, times }));
    // A browser whose network service has crashed still makes pictures, but without images.
    lease.verify();
    session.lost.throwIfAborted();
    return rendering;
  } catch (error) {
    order.onStages?.(times.stages({ failed: true }));
    signal.throwIfAborted();
    if (lease === null) throw error;
    // Chromium 156 ends the renderer of a page whose print templates load anything, which is the request's fault.
    if (error instanceof CaptureError && error.code === 'invalid_request') throw error;
    await lease.awaitCrash();
    throw translate(error, lease.session);
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

interface Running extends Pick<LoadOrder, 'load' | 'heldBytes'> {
  deps: RenderDeps;
  order: RenderOrder;
  deadlines: Deadlines;
  times: StageTimes;
}

async function captureIn(session: PageSession, running: Running): Promise<Rendering> {
  const { deps, order, load, deadlines, times } = running;
  const { options } = order;
  const missing = watchMissingFiles(session, options);
  const page = openPage(session, deadlines, order);
  const [guard, egressCountry] = await prepare(session, running);
  times.enter('navigate', 15);
  await navigateToTarget(page, options);
  await waitUntil(page, options.waitUntil);
  if (options.customJs !== null) await whileTimePasses(page, runCustomJs(page, options.customJs));
  if (options.steps.length > 0) await carryOut({ ...running, page, guard });
  if (options.waitForSelector !== null) await whileTimePasses(page, waitForSelector(page, options.waitForSelector));
  if (options.waitForFunction !== null) await waitForFunction(page, options.waitForFunction);
  const facts = options.inspectPage ? await openFacts(page, options) : null;
  const { taken, shown } = await pictureStableDocument({ ...running, page, guard, facts });
  for (const one of taken) await noting(page, one, () => checkPicture(page, one.picture, one.options));
  const [{ picture }] = taken;
  const warnings = [...page.tolerance.warnings, ...(await warningsOf(page, options, { picture, missing }))];
  const changed = options.explain || order.debug !== undefined ? await deadlines.orEnd(explain(page, guard)) : null;
  if (changed !== null) order.debug?.note({ step: 'changed', ...changed });
  if (options.inspectPage) times.enter('inspect', 90);
  const timeoutMs = Math.min(INSPECT_MS, Math.max(INSPECT_MIN_MS, deadlines.budgetEndsAt + INSPECT_GRACE_MS - monotonicNow()));
  const told = facts === null ? {} : await deadlines.orEnd(facts.finish(shown));
  const inspection = options.inspectPage ? { ...(await deadlines.orEnd(deps.inspect(session, { timeoutMs }))), ...told } : null;
  const stages = times.stages(taken.length === 1 ? { picture: picture.timings } : {});
  order.onStages?.(stages);
  const { content, width, height, diagnostics } = picture;
  return {
    content,
    format: options.document === 'html' ? 'html' : options.format,
    captures: load.pictures[0]?.name === null ? null : taken.map(toNamedPicture),
    width,
    height,
    finalUrl: finalUrl(session, shown, options),
    blockedRequests: guard.blockedRequests + session.captureProxy.refusedCount,
    warnings,
    changed,
    egressCountry,
    diagnostics,
    inspection,
    ...((options.document ?? null) === null ? {} : { response: { status: shown.response?.status ?? null } }),
    timings: timingsOf(stages),
  };
}

/** Other captures do not load what reads facts. */
async function openFacts(page: OpenPage, { annotate }: CaptureOptions): Promise<FactsReader> {
  const { FactsReader } = await import('./inspect/facts-reader.js');
  return new FactsReader(page, annotate);
}

/** Prepares everything that must be in place before the navigation, in parallel. */
async function prepare(session: PageSession, { deps, order, deadlines }: Running) {
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
  const prepared = await deadlines.withinBudget(preparing);
  if (prepared === TIMED_OUT) {
    throw new CaptureError({
      code: 'render_timeout',
      message: `The browser was not ready for the page within \`timeout\` (${deadlines.timeout} ms). It may be busy with other pages.`,
      details: { waited_for: 'browser' },
    });
  }
  return prepared;
}

/** Carries out the steps of the request. */
async function carryOut({ page, guard, times, deadlines, order: { options } }: Omit<Shooting, 'facts'>): Promise<void> {
  times.enter('steps', 30);
  const clearBanners = async () => void (await deadlines.withinBudget(guard.answerBanners(deadlines.signal)));
  const settle = async () => {
    if (options.waitForIdle) await waitForIdle(page);
    await clearBanners();
  };
  await runSteps(page, { options, settle, clearBanners });
}

interface Shooting extends Running {
  page: OpenPage;
  guard: BlockGuard;
  /** Null without `inspect_page`. */
  facts: FactsReader | null;
}

function toNamedPicture({ name, options, picture, tolerated }: TakenPicture): NamedPicture {
  const { content, width, height, diagnostics } = picture;
  const warnings = [...tolerated, ...pictureWarnings(picture, options)];
  return { name: name ?? '', content, format: options.format, width, height, diagnostics, warnings };
}

/** Takes the pictures again if the page navigated to another document meanwhile. */
async function pictureStableDocument(shooting: Shooting): Promise<{ taken: Taken; shown: DocumentState }> {
  const { page, order } = shooting;
  for (let moves = 0; moves <= NAVIGATIONS_MAX; moves++) {
    const shown = await waitUntilLoaded(page, order.options);
    try {
      const taken = await pictureDocument(shown, shooting);
      if (page.main.current === shown) return { taken, shown };
    } catch (error) {
      if (page.main.current === shown && !(error instanceof DocumentReplaced)) throw error;
    }
    await resumePage(page.session);
  }
  throw keepsNavigating();
}

/** Runs the page's clock ahead, removes banners, and takes the pictures, each as if it were the only one. */
async function pictureDocument(shown: DocumentState, shooting: Shooting): Promise<Taken> {
  const { page, guard, times, load, deadlines } = shooting;
  const { options } = shooting.order;
  const { delay, animate } = options;
  const waits = options.waitForContent || delay > 0;
  const idleAgain = async () => (options.waitForIdle ? await waitForIdle(page, ADVANCE_AGAIN_MS) : undefined);
  // Called again after each wait that gave the page time to show another banner.
  const clearBanners = async () => {
    const banner = await deadlines.withinBudget(guard.answerBanners(deadlines.signal));
    if (banner !== TIMED_OUT && banner.outcome !== 'none') await idleAgain();
  };
  times.enter('run', 40);
  // Moving content is shown from its beginning, unless the whole page is shown.
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
  await shooting.facts?.readVitals();
  const groups = groupPictures(load.pictures);
  const taken = new TakenPictures(shooting.heldBytes);
  for (const [index, group] of groups.entries()) {
    if (index > 0) await resumeForNext(page, group.options);
    await pictureGroup(group, { ...shooting, shown, taken, idleAgain, clearBanners, isLast: index === groups.length - 1 });
  }
  if (load.pictures[0]?.name !== null) times.enter('encode', 85);
  return await deadlines.orEnd(taken.all());
}

interface GroupShooting extends Shooting {
  shown: DocumentState;
  taken: TakenPictures;
  isLast: boolean;
  idleAgain(): Promise<void>;
  clearBanners(): Promise<void>;
}

/** Scrolls as far as the pictures need it, checks and stops the page, and takes the pictures. */
async function pictureGroup(group: PictureGroup, { page, shown, times, deps, taken, load, isLast, ...wait }: GroupShooting): Promise<void> {
  const { deadlines } = page;
  const { options, scrolls } = group;
  const several = load.pictures[0]?.name !== null;
  const idleWithoutBanners = async () => {
    await wait.idleAgain();
    await wait.clearBanners();
  };
  times.enter('scroll', 60);
  // A page that does not respond at all fails as early as one that is not scrolled.
  const viewDeadline = () => Math.min(deadlines.endsAt, deadlines.budgetEndsAt + PICTURE_GRACE_MS);
  const scrollDeadline = Math.min(monotonicNow() + SCROLL_MAX_MS, deadlines.endsAt - AFTER_SCROLL_MS);
  const scrollWith = { deadline: scrollDeadline, respondsBy: viewDeadline(), waitForIdle: idleWithoutBanners };
  let pictures: PictureToTake[] = group.pictures;
  const settle = async () => {
    const isOfElements = options.selector !== null;
    if (several && isOfElements) pictures = await deadlines.orEnd(findElements(page, group.pictures));
    const toScrollTo = isOfElements ? pictures.filter(({ isInView }) => isInView !== true) : [];
    const goesBack = several && toScrollTo.length > 0;
    if (goesBack) await page.world.call('undo.begin');
    for (const picture of toScrollTo) {
      const leftMs = deadlines.leftMs();
      // After its budget, the element is captured in its current state.
      const how = { deadline: monotonicNow() + leftMs, waitForIdle: wait.idleAgain, index: picture.index ?? 0 };
      await deadlines.withTimeout(scrollToElement(page, picture.options.selector ?? '', how), leftMs);
    }
    if (goesBack) await scrollBack(page);
    times.enter('settle', 70);
    // A document that loads no further, such as one with a font that hangs, is not waited for again.
    const hasMoved = page.main.current !== shown || page.main.navigating || shown.failure !== null;
    if (hasMoved && (await waitUntilLoaded(page, options)) !== shown) throw new DocumentReplaced('the page navigated away');
    await checkPage(page, shown, options);
    times.enter('stop', 75);
    return scrolls ? deadlines.endsAt : viewDeadline();
  };
  const { scroll, deadline } = await scrollAndStop(page, group, { scrollWith, settle });
  times.enter('shoot', 80);
  if (several) await withinMotion(page, deadline, page.world.call('undo.begin'));
  const { encodes, animations, ffmpeg } = deps;
  const how = { deadline, scroll, encodes };
  const animation = { deadline: deadlines.endsAt, encodes: animations, ffmpeg, signal: deadlines.signal };
  // Elements that can be acted on are listed as they are in the first picture.
  const arrangedOf = ({ place, index = 0 }: PictureToTake) =>
    wait.facts !== null && place === 0 && index === 0 ? { arranged: wait.facts.readElements.bind(wait.facts) } : {};
  const shoot = async () => {
    for (const [index, picture] of pictures.entries()) {
      if (several && picture.kind === 'pdf') await setDensity(boundedPage(page.session, deadline), picture.options.view);
      const printed = isPrinted(picture.options);
      if (printed && (index > 0 || !isPrinted(options))) {
        await resumePage(page.session);
        await stopFor(page, picture.options, deadline);
      }
      await taken.add(picture, (onShot) => {
        const still = { ...how, ...arrangedOf(picture), ...(several ? { onShot } : {}) };
        return takeOne(page, picture, { still, animation });
      });
      if (printed) await withinMotion(page, deadline, endPrint(page));
      if (several && !(isLast && index === pictures.length - 1)) await undoPicture(page, picture, deadline);
    }
  };
  // A navigation restarts the capture of a view, so its time limit covers all attempts.
  const isBudgeted = scroll === null && options.animate === null;
  await (isBudgeted ? deadlines.orEnd(shoot()) : deadlines.withBudgetPaused(shoot));
  await wait.facts?.clear();
}

/** Lets the page's scripts run again, and tells them that it has been printed. */
async function endPrint({ session, world }: OpenPage): Promise<void> {
  await resumePage(session);
  await world.call('print.announce', 'afterprint');
}

interface Settling {
  scrollWith: Parameters<typeof scrollThrough>[2];
  /** What happens between scrolling and the stop. @returns the time by which the pictures must have been taken */
  settle(): Promise<number>;
}

/** Scrolls through the page if its pictures need it, then stops it for them. */
export async function scrollAndStop(
  page: TimedPage,
  { options, scrolls }: Pick<PictureGroup, 'options' | 'scrolls'>,
  { scrollWith, settle }: Settling,
): Promise<{ scroll: ScrollReport | null; deadline: number }> {
  const { world, network, deadlines } = page;
  const scroll = scrolls ? await deadlines.withBudgetPaused(() => scrollThrough(page, options, scrollWith)) : null;
  const deadline = await settle();
  const limited = (work: Promise<unknown>) => withinMotion(page, deadline, work);
  if (options.clip !== null && !scrolls) await limited(world.call('scrollers.expandAll'));
  if (options.animate === null) await stopFor(page, options, deadline);
  // An image that has just arrived is decoded only when it is first painted.
  if (network.hasLoadedImages(DECODED_AFTER_MS)) await limited(world.call('frames.passFrames', 2, FRAMES_MAX_MS));
  return { scroll, deadline };
}

/** Stops a page for a picture with these options. One that is printed is laid out as on paper before. */
async function stopFor(page: TimedPage, options: CaptureOptions, deadline: number): Promise<void> {
  const limited = (work: Promise<unknown>) => withinMotion(page, deadline, work);
  const printed = isPrinted(options);
  if (printed) await page.deadlines.orEnd(prepareToPrint(page, options, deadline));
  if (options.reduceMotion) await limited(page.world.call('frames.endMotion'));
  await limited(stopPage(page.session, options));
  if (printed) await limited(putBackSeen(page.world));
}

/** Animations and frames that are late are captured as they are. */
async function withinMotion({ deadlines }: TimedPage, deadline: number, work: Promise<unknown>): Promise<void> {
  await deadlines.withTimeout(work, Math.min(MOTION_MAX_MS, deadline - monotonicNow()));
}

/** Undoes what scrolling to elements has changed, and lets the page react to that. */
async function scrollBack(page: OpenPage): Promise<void> {
  const since = performance.now();
  const hasMoved = await page.world.call('undo.restore');
  if (hasMoved) await page.deadlines.orEnd(waitForReaction(page, since));
}

/** Lets the page run again as it was loaded, before the next group of pictures. */
async function resumeForNext({ session, deadlines }: OpenPage, { view }: CaptureOptions): Promise<void> {
  await resumePage(session);
  await setDensity(boundedPage(session, deadlines.endsAt), view);
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
  await deadlines.withinBudget(replaced);
  throw new DocumentReplaced('the page is loaded again in real time');
}

/** The document's current address, including changes by scripts and the fragment. */
function finalUrl(session: PageSession, shown: DocumentState, options: CaptureOptions): string {
  const current = session.page.url();
  return shownAddress(/^https?:/.test(current) ? current : shown.address, options);
}

/** Marks a crash in a dedicated browser as final, so that it is not retried. Other errors, such as a full disk, are unchanged. */
export function crashedAgain(error: unknown): unknown {
  if (!(error instanceof CaptureError)) return error;
  if (error instanceof NoBrowser) {
    const message = 'The browser crashed during the capture, and no other one could be started for it.';
    return new CaptureError({ code: 'render_crashed', message, cause: error });
  }
  if (error.code !== 'render_crashed') return error;
  const message = 'The browser crashed during the capture, and again when it had no other page.';
  return new CaptureError({ code: 'render_crashed', message, details: { own_browser: true }, cause: error });
}

/** Translates the browser's errors. Any failure in a crashed browser counts as that crash; other errors are bugs and stay unchanged. */
function translate(error: unknown, session: PageSession): unknown {
  if (session.lost.aborted) return session.lost.reason;
  if (error instanceof CaptureError) return error;
  if (error instanceof DocumentReplaced) return keepsNavigating();
  return isClosed(error) ? pageCrashed(error) : error;
}
