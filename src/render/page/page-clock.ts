/**
 * Runs a page's clock ahead, so that timers, animation frames and finite animations end in a fraction of their time, waits for
 * what the request names, and stops the page for its picture. The clock waits for requests in flight, and keeps to real time
 * while the page communicates with a server.
 */

import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { monotonicNow, TIMED_OUT, timeLimit } from '../deadlines.js';
import { source as clockSource } from '../in-page/page-clock.js?bundled';
import type { Readiness } from '../in-page/readiness.js';
import type { RunRequest } from '../in-page/run-clock.js';
import { source as runSource } from '../in-page/run-clock.js?bundled';
import { source as scriptingSource } from '../in-page/scripting.js?bundled';
import { type ClockScripts, dueMs } from '../launch/child-clocks.js';
import { callIn, frameIds, runInFrame, runInFrames } from '../launch/frame-scripts.js';
import { DocumentReplaced, type PageSession, unlessGone } from '../page-session.js';
import {
  type ClockRun,
  type DocumentState,
  FONTS_BUDGET_MS,
  groupPending,
  LONG_POLL_AFTER_MS,
  type OpenPage,
} from './open-page.js';

/** The page's time between two checks of its requests, in ms. */
const SLICE_MS = 100;
/** After this much of the page's time, a real frame follows even if nothing is animated. A long run has fewer frames. */
const FRAME_EVERY_MS = 200;
const FRAMES_OF_RUN = 20;
/** The greatest step of a held page's time between two frames of an animated picture, in ms. */
const FRAME_SLICE_MS = 100;
/** The real time limit of one slice, for pages that flood timers or frames. */
const SLICE_MAX_MS = 500;
const REAL_PACE_MS = 50;
/** A longer wait for requests counts as held by them. */
const HELD_MS = 1;
/**
 * A renderer that uses this much processor time between two checks is doing work that the clock does not cover, such as
 * workers or decoding.
 */
const WORKS_MS = 5;
const WORK_CHECK_MS = 15;
const FRAMES_MAX = 20;
/** The maximum number of requests reported as holding the clock. */
const PENDING_MAX = 100;
/** The maximum number of responses in a row that a page may handle while its clock stands still. */
const HANDLED_MAX = 50;
const NOTHING_DUE = Number.POSITIVE_INFINITY;

/** A run with what the page's clock reports of it. */
type AdvancedClock = ClockRun & ClockReport;

interface ClockReport {
  /** The page's time until anything is due, in ms; infinite for nothing. */
  dueMs: number;
  /** The delay of its animation frames, in ms. */
  lateMs: number;
}

/** A page whose clock can run ahead. */
export type TimedPage = Omit<OpenPage, 'main' | 'tolerance' | 'isOutOfTime' | 'idle'>;

/**
 * The scripts that replace the clocks of a page and its workers.
 * @param event the name of the event that requests a run, unknown to the page
 */
export function clockScripts(event: string): ClockScripts {
  return {
    frame: callIn(clockSource, 'install', event),
    worker: callIn(clockSource, 'replaceClock'),
  };
}

/**
 * Holds the page's clock, and that of its animations, at 0 from the start of each later document, so that its time passes in
 * runs alone. Must be called before the navigation.
 * @throws CaptureError `unsupported_option` if the operator has left pages their own clocks
 */
export async function holdClock({ cdp, world, clockEvent }: PageSession): Promise<void> {
  if (clockEvent === null) {
    const message = "`animate` needs the page's clock, which this server does not control (STILLFRAME_CLOCK).";
    throw new CaptureError({
      code: 'unsupported_option',
      message,
      details: { issues: [{ path: 'animate', message }] },
    });
  }
  await Promise.all([
    world.callAtStart('clock.hold', [clockEvent], { inFrames: true }),
    cdp.send('Animation.enable'),
    cdp.send('Animation.setPlaybackRate', { playbackRate: 0 }),
  ]);
}

/**
 * Lets exactly `ms` of a held page's time pass.
 * @throws DocumentReplaced if the document is replaced meanwhile
 */
export async function advanceFrame(page: TimedPage, ms: number, frames: ChildFrames): Promise<void> {
  let left = ms;
  while (left > 0) {
    const slice = Math.min(left, FRAME_SLICE_MS);
    left -= slice;
    // Animations may start others at their end, which is reported in a frame.
    await runClocks(page, slice, { frames, frame: left > 0, draws: left > 0, endsAt: monotonicNow() + SLICE_MAX_MS });
  }
}

/**
 * Lets `ms` of the page's time pass.
 * @param options.realMs limits the real time that this takes
 * @param options.sliceMs the page's time between two checks of its requests; default 100
 * @param options.holds false if neither requests in flight nor the renderer's work hold the clock
 * @throws DocumentReplaced if the document is replaced meanwhile
 */
export async function advanceTime(
  page: TimedPage,
  ms: number,
  { realMs, sliceMs = SLICE_MS, holds = true }: { realMs: number; sliceMs?: number; holds?: boolean },
): Promise<AdvancedClock> {
  const { network, deadlines } = page;
  const endsAt = monotonicNow() + realMs;
  const timeUp = timeLimit(realMs);
  const run: AdvancedClock = { aheadMs: 0, realTimeMs: 0, heldMs: 0, realTimeBecause: null, lateMs: 0, dueMs: 0 };
  const frames = new ChildFrames(page.session);
  const runAhead = async (slice: number, frame: boolean) => {
    const { dueMs: nextMs, lateMs } = await runClocks(page, slice, { frames, frame, endsAt });
    run.dueMs = nextMs;
    // The first report is of the time before.
    if (run.aheadMs > 0) run.lateMs += lateMs;
    run.aheadMs += slice;
    network.clockMs += slice;
    return nextMs;
  };
  const frameEveryMs = Math.max(FRAME_EVERY_MS, ms / FRAMES_OF_RUN);
  let drawnAt = Number.NEGATIVE_INFINITY;
  let handledInRow = 0;
  while (run.aheadMs + run.realTimeMs < ms && !timeUp.aborted) {
    const startedAt = monotonicNow();
    const holding = holds && network.isHolding() ? groupPending(network.pending().slice(0, PENDING_MAX)) : [];
    if (holds) await deadlines.orEnd(network.answered(timeUp));
    // Real time passes on the page's clock as well.
    const began = monotonicNow();
    const aheadBefore = run.aheadMs;
    const wasHeld = began - startedAt > HELD_MS;
    run.heldMs += began - startedAt;
    if (wasHeld) page.clock.addHolders(holding);
    const leftMs = ms - run.aheadMs - run.realTimeMs;
    const talk = page.session.clockEvent === null || page.realTime ? 'off' : network.realTimeReason();
    // The page handles a response, and may send another request or open a socket, before more time passes.
    const isAnswered = network.hasAnswered && handledInRow++ < HANDLED_MAX;
    network.hasAnswered = false;
    if ((wasHeld || isAnswered) && (page.held || talk === null)) {
      await runAhead(0, false);
      continue;
    }
    handledInRow = 0;
    if (page.held) {
      const slice = Math.min(talk === null ? sliceMs : REAL_PACE_MS, leftMs);
      if (talk !== null) await deadlines.sleep(slice);
      await runAhead(slice, true);
      continue;
    }
    if (talk !== null) {
      // The page's work takes its real time, however far its clock has run.
      if (run.realTimeBecause === null) Object.assign(run, { aheadMs: 0, realTimeMs: 0 });
      run.realTimeBecause = talk;
      await deadlines.sleep(Math.min(REAL_PACE_MS, leftMs, Math.max(0, endsAt - monotonicNow())));
    } else {
      const slice = Math.min(sliceMs, leftMs);
      const draws = run.aheadMs - drawnAt >= frameEveryMs || leftMs <= sliceMs;
      if (draws) drawnAt = run.aheadMs;
      const nextMs = await runAhead(slice, draws);
      const restMs = leftMs - slice;
      // Nothing is due until the end. Without a frame there, a script that counts its frames does not reach its end on a busy machine.
      if (restMs > 0 && nextMs > restMs && network.isIdle() && network.realTimeReason() === null)
        await runAhead(restMs, true);
    }
    // The real time of a run ahead is part of the page's time.
    run.realTimeMs += Math.max(0, monotonicNow() - began - Math.max(0, run.aheadMs - aheadBefore));
  }
  if (holds) await untilRendererIdle(page, timeUp);
  page.debug?.note({ step: 'clock', askedMs: ms, ...run });
  page.clock.add(run);
  return run;
}

/** Runs the clocks of the page, its frames and its workers ahead. */
async function runClocks(
  { world, deadlines, session, held }: TimedPage,
  ms: number,
  { frames, frame, draws = true, endsAt }: { frames: ChildFrames; frame: boolean; draws?: boolean; endsAt: number },
): Promise<ClockReport> {
  const { cdp, clockEvent } = session;
  const leftMs = Math.max(0, endsAt - monotonicNow());
  const realMs = Math.min(SLICE_MAX_MS, leftMs);
  const request: RunRequest = { event: clockEvent ?? '', ms, frame, draws, held, realMs };
  const frameExpression = callIn(runSource, 'runAhead', { ...request, draws: false });
  // A frame that goes away has nothing left to do.
  const inFrames = (await frames.ids()).map((id) =>
    runInFrame(cdp, id, frameExpression).then(dueMs, () => NOTHING_DUE),
  );
  const inChildren = session.runClocks({ run: { ms, realMs }, frameExpression });
  const main = world.call('clock.runAhead', request);
  const ran = await deadlines.within(Promise.all([main, inChildren, ...inFrames]), leftMs);
  if (ran === TIMED_OUT) return { dueMs: 0, lateMs: 0 };
  const [state, ...due] = ran;
  return { dueMs: Math.min(dueMs(state), ...due), lateMs: Number(state?.lateMs) || 0 };
}

/** The frames of a page that share its renderer. */
export class ChildFrames {
  #count = 1;
  #ids: string[] = [];

  constructor(private readonly session: PageSession) {}

  /** Asks the browser only when the number of frames has changed. */
  async ids(): Promise<string[]> {
    const { length } = this.session.page.frames();
    if (length === this.#count) return this.#ids;
    this.#count = length;
    this.#ids = (await frameIds(this.session.cdp)).slice(1, 1 + FRAMES_MAX);
    return this.#ids;
  }
}

/** Waits while the renderer does work that no clock covers: workers, decoders, WebCrypto, compiling. */
async function untilRendererIdle({ session, deadlines, network }: TimedPage, timeUp: AbortSignal): Promise<void> {
  let before = await session.busyMs();
  while (!timeUp.aborted && before !== null) {
    await deadlines.sleep(WORK_CHECK_MS);
    const now = await session.busyMs();
    if (now === null || now - before < WORKS_MS) return;
    before = now;
    await deadlines.orEnd(network.answered(timeUp));
  }
}

/**
 * Freezes a page, so that consecutive pictures of it are equal: its scripts no longer run, media are paused, and animations
 * stop. The isolated world still works.
 */
export async function stopPage(
  session: PageSession,
  { reduceMotion, fullPage, format, selector, clip }: CaptureOptions,
): Promise<void> {
  const beyondView = fullPage || format === 'pdf' || selector !== null || clip !== null;
  await stopScripts(session, { isPrinted: format === 'pdf' });
  await session.world.call('freeze.freezePage', { motion: reduceMotion, beyondView });
}

/** Stops the scripts of a page and its frames, which are laid out as before, although they can run no scripts any more. */
export async function stopScripts(
  { cdp, page, world, runInFrames: runInOthers }: PageSession,
  options: { isPrinted: boolean },
): Promise<void> {
  // Both must precede the stop, after which our own timers do not run either.
  await world.callAll(['readiness.allDecoded'], ['scripting.keep', options]);
  const keep = callIn(scriptingSource, 'keep', options);
  if (page.frames().length > 1) await Promise.all([runInOthers(keep), runInFrames(cdp, keep, { root: false })]);
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: true });
}

/** Lets scripts of the page, or of its replacement, run again. */
export async function resumePage({ cdp }: PageSession): Promise<void> {
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: false });
}

/** The page's time between its load and its picture, and again after each later step, in ms. */
const ADVANCE_MS = 2_000;
export const ADVANCE_AGAIN_MS = 300;
/**
 * The additional time while numbers or positions still change, in ms. Counters often take just over 2 s, and D3's force
 * simulations 5 s by default.
 */
const COUNTING_MAX_MS = 3_200;
/** Frames that are less late in sum are not waited for, in ms. */
const LATE_MIN_MS = 100;
/** The time limit of `wait_for_idle` (decisions.md, Capture semantics). */
const IDLE_MAX_MS = 5_000;
/** Loaded files may load others, as a style sheet loads fonts. */
const ASSET_ROUNDS = 3;
/** The real time between two runs of a clock that is otherwise held. */
const TICK_MS = 50;
/** A refresh within this time leads to the intended page. */
const SOON_S = 1;
const REFRESHES_FOLLOWED = 5;
/** A later one counts if the page says that it waits. */
const WAITING_S = 4;
const LOOK_MAX_MS = 500;
/** The real time for which a page that visibly waits is watched for work, in ms; half of it if it is at rest. */
const WAITING_CHECK_MS = 200;
/** The share of this time for which the page's renderer has to work, or to wait for a processor. */
const COMPUTES_SHARE = 0.6;
/** A renderer that works for less is at rest. */
const RESTS_SHARE = 0.1;
/** A refresh that has not started this long after its time is ignored. */
const REFRESH_LATE_MS = 1_500;

/**
 * Implements `wait_for_idle`, within a time limit: advances the page's clock, then waits for fonts and images in the
 * viewport. A page without scripts and pending loads takes only two frames. Rejects only if the capture must stop.
 * @param ms of the page's time
 */
export async function waitForIdle(page: OpenPage, ms = ADVANCE_MS): Promise<void> {
  if (ms !== ADVANCE_AGAIN_MS) page.idle = null;
  const maxMs = Math.min(IDLE_MAX_MS, page.deadlines.leftMs());
  page.isOutOfTime = (await page.deadlines.within(waitUntilIdle(page, ms, monotonicNow() + maxMs), maxMs)) !== true;
}

/** Waits for the requests, fonts and images in view of a page whose time does not pass. Rejects only if the capture must stop. */
export async function waitForAssets(page: OpenPage): Promise<void> {
  const endsAt = monotonicNow() + Math.min(IDLE_MAX_MS, page.deadlines.leftMs());
  const leftMs = () => Math.max(1, endsAt - monotonicNow());
  for (let round = 0; round < ASSET_ROUNDS; round++) {
    await page.deadlines.orEnd(page.network.answered(timeLimit(leftMs())));
    await checkReadiness(page, leftMs(), false);
    if (page.network.isIdle()) return;
  }
}

/** Advances a held page's clock until `work` ends. */
export async function whileTimePasses<T>(page: OpenPage, work: Promise<T>): Promise<T> {
  let isOver = !page.held;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  const { deadlines } = page;
  while (!isOver && deadlines.leftMs() > 0 && !deadlines.signal.aborted) {
    await unlessGone(advanceTime(page, CHECK_EVERY_MS, { realMs: Math.max(1, deadlines.leftMs()), holds: false }));
    await Promise.race([work.catch(() => undefined), deadlines.sleep(TICK_MS)]);
  }
  return await work;
}

/** @returns whether the page was at rest before the time was over */
async function waitUntilIdle(page: OpenPage, ms: number, endsAt: number): Promise<boolean> {
  const { main, network } = page;
  const leftMs = () => Math.max(0, endsAt - monotonicNow());
  let stayed: DocumentState | null = null;
  let ran: DocumentState | null = null;
  let waitedMs = 0;
  while (leftMs() > 0) {
    const document = main.current;
    const first = await checkReadiness(page, leftMs(), true);
    const refreshS =
      first === null || document === null || document === stayed ? null : await refreshDelayS(page, first, document);
    if (document !== null && refreshS !== null) {
      if (!(await navigatesAway(page, document, refreshS))) stayed = document;
      continue;
    }
    if (first?.inert === true && !main.navigating && network.isIdle()) return true;
    const nextMs = await unlessGone(advance(page, ran === document ? ADVANCE_AGAIN_MS : ms, leftMs));
    ran = document;
    const [last, waiting] = await Promise.all([checkReadiness(page, leftMs(), false), waitingSign(page, leftMs())]);
    if (last !== null && last.backgrounds.length > 0) {
      await network.urlsEnded(last.backgrounds, timeLimit(leftMs()));
      continue;
    }
    // A socket that the page has opened at the end of the run gets the time that it would have got before.
    if (network.realTimeReason() !== null && page.clock.realTimeBecause === null && !page.held) {
      ran = null;
      continue;
    }
    const isAtRest = network.realTimeReason() !== null || network.isIdle(LONG_POLL_AFTER_MS);
    if (last !== null && main.current === document && !main.navigating && isAtRest) {
      const { sign, endsByTimer, installs } = waiting ?? { sign: null, endsByTimer: false, installs: false };
      if (sign === null) return true;
      const mayEnd = endsByTimer && nextMs !== null && nextMs <= IDLE_MAX_MS - ms - waitedMs;
      const isKnown = page.idle?.document === document && page.idle.sign === sign;
      if (!mayEnd && !(await goesOn(page, { installs, isKnown }))) {
        page.idle = { document, sign };
        return true;
      }
      waitedMs += ADVANCE_AGAIN_MS;
    }
    if (last === null) await main.until(() => main.current !== document);
    await main.until(() => !main.navigating && (main.current?.loaded === true || main.current?.failure !== null));
  }
  return false;
}

/**
 * Advances the page's clock, and further while a counter runs, or by the time that its animation frames were late, since a script may
 * count them.
 * @returns ms of the page's time until anything is due
 */
async function advance(page: OpenPage, ms: number, leftMs: () => number): Promise<number> {
  const isCounting = async () =>
    (await page.deadlines.within(page.world.call('readiness.isCounting'), leftMs())) === true;
  let { dueMs: nextMs, lateMs } = await advanceTime(page, ms, { realMs: leftMs() });
  for (let more = 0; more < COUNTING_MAX_MS && leftMs() > 0; more += ADVANCE_AGAIN_MS) {
    const isLate = more < ms && lateMs > LATE_MIN_MS && nextMs <= FRAME_EVERY_MS;
    if (!(await isCounting()) && !isLate) break;
    const run = await advanceTime(page, ADVANCE_AGAIN_MS, { realMs: leftMs() });
    nextMs = run.dueMs;
    lateMs += run.lateMs - ADVANCE_AGAIN_MS;
  }
  return nextMs;
}

/** Seconds until the page's refresh; null if it has none, has followed too many, or shows content until a later one. */
async function refreshDelayS(
  page: OpenPage,
  { refreshAfterS }: Readiness,
  { number, response }: DocumentState,
): Promise<number | null> {
  const soonest = Math.min(refreshAfterS ?? Number.POSITIVE_INFINITY, refreshHeaderS(response?.headers.refresh ?? ''));
  if (soonest > WAITING_S || number > REFRESHES_FOLLOWED) return null;
  return soonest <= SOON_S || ((await waitingSign(page, LOOK_MAX_MS))?.sign ?? null) !== null ? soonest : null;
}

/** Asks the page whether it visibly waits; null if it has navigated meanwhile, or does not answer. */
async function waitingSign({ world, deadlines }: OpenPage, leftMs: number) {
  const waiting = await unlessGone(deadlines.within(world.call('content.waitingSign'), leftMs));
  return waiting === TIMED_OUT ? null : waiting;
}

/**
 * Whether a page that visibly waits talks to a server, computes, or has begun to navigate. Lets real time pass to find out.
 * @param waits.installs whether it installs a service worker
 * @param waits.isKnown whether it has already been found to do nothing
 */
async function goesOn(
  { session, deadlines, network, main }: OpenPage,
  { installs, isKnown }: { installs: boolean; isKnown: boolean },
): Promise<boolean> {
  const talks = () => network.realTimeReason() !== null || !network.isIdle();
  if (talks()) return true;
  if (isKnown) return installs || main.navigating;
  const share = await busyShare(session, deadlines, WAITING_CHECK_MS / 2);
  const computes = share >= RESTS_SHARE && (await busyShare(session, deadlines, WAITING_CHECK_MS / 2)) > COMPUTES_SHARE;
  return installs || computes || talks() || main.navigating;
}

/** The share of the next `ms` of real time for which the page's renderer works, or waits for a processor; 0 if unknown. */
async function busyShare(session: PageSession, deadlines: OpenPage['deadlines'], ms: number): Promise<number> {
  const before = await session.busyMs();
  await deadlines.sleep(ms);
  const now = await session.busyMs();
  return before === null || now === null ? 0 : (now - before) / ms;
}

/** Seconds of a `Refresh` header; infinite for one without a URL, which only reloads the page. */
export function refreshHeaderS(header: string): number {
  return Number.parseFloat(/^\s*([\d.]+)(?:\s*[;,]|\s)\s*\S/.exec(header)?.[1] ?? 'Infinity');
}

/**
 * Waits for the next document.
 * @returns false if the refresh leads to another program, or to no content
 */
async function navigatesAway({ main, deadlines }: OpenPage, document: DocumentState, afterS: number): Promise<boolean> {
  const begins = main.until(() => main.navigating || main.current !== document);
  if ((await deadlines.within(begins, afterS * 1_000 + REFRESH_LATE_MS)) === TIMED_OUT) return false;
  await main.until(() => !main.navigating && (main.current === document || main.current?.loaded === true));
  return main.current !== document;
}

/** @returns null if the page has navigated meanwhile */
async function checkReadiness(
  { world, network, deadlines }: OpenPage,
  leftMs: number,
  first: boolean,
): Promise<Readiness | null> {
  const pending = network.pending();
  const oldestFont = Math.min(...pending.filter(({ kind }) => kind === 'font').map(({ startedAt }) => startedAt));
  const budgets = {
    first,
    imagesInFlight: pending.filter(({ kind }) => kind === 'image').map(({ url }) => url),
    fontsMs: Math.max(0, Math.min(leftMs, FONTS_BUDGET_MS, oldestFont + FONTS_BUDGET_MS - performance.now())),
    imagesMs: leftMs,
  };
  try {
    const readiness = await deadlines.within(world.call('readiness.waitForAssets', budgets), leftMs);
    return readiness === TIMED_OUT ? null : readiness;
  } catch (error) {
    // A page can break its own DOM so that it cannot be checked. It is captured in its current state.
    const isOver = error instanceof DocumentReplaced || deadlines.signal.aborted;
    return isOver ? null : { inert: false, refreshAfterS: null, backgrounds: [] };
  }
}

/** The page's time between two checks of its content, in ms. */
const CHECK_EVERY_MS = 200;
/** The real time that a request may hold the clock at each check, in ms. */
const HOLD_MAX_MS = 1_000;
/** The part of the budget reserved for the checks that follow. */
const RESERVE_MS = 1_000;
/** A page with little content, no loading message and an idle network counts as complete after this much of it. */
const SMALL_COMPLETE_MS = 3_000;
/** A page counts as complete after this much of its time without growth. */
const COMPLETE_MS = 1_000;
/** The page's time for showing the result of its last request. */
const SHOWS_RESULT_MS = 1_000;

/**
 * Implements `wait_for_content`: waits, within the budget, while the page looks like a loading shell or its text still
 * grows. Never fails the capture; that is up to `fail_if_incomplete`.
 */
export async function waitForContent(page: OpenPage): Promise<void> {
  const { deadlines, main, network, world } = page;
  let time = 0;
  let busyAt = 0;
  let grownAt = 0;
  /** The maximum number of characters so far: text that is typed and deleted repeatedly grows only once. */
  let most: number | null = null;
  while (deadlines.leftMs() > RESERVE_MS) {
    const document = main.current;
    const inspecting = deadlines.within(world.call('content.inspect'), deadlines.leftMs() - RESERVE_MS);
    const look = await unlessGone(inspecting);
    if (!network.isIdle()) busyAt = time;
    if (look === null || look === TIMED_OUT || main.current !== document) most = null;
    else {
      if (most === null || look.text > most) {
        most = look.text;
        grownAt = time;
      }
      if (look.seen === null && time - grownAt >= COMPLETE_MS) return;
      const isSmall = look.seen === 'almost no visible text' && time - busyAt > SHOWS_RESULT_MS;
      if (isSmall && time - grownAt > SMALL_COMPLETE_MS) return;
    }
    const ms = Math.min(CHECK_EVERY_MS, deadlines.leftMs());
    const began = monotonicNow();
    const run = await unlessGone(
      advanceTime(page, ms, { realMs: Math.max(ms, Math.min(HOLD_MAX_MS, deadlines.leftMs())) }),
    );
    time += run === null ? monotonicNow() - began : run.aheadMs + run.realTimeMs;
  }
}

/**
 * Waits until a matching element is visible, even across navigations.
 * @param selector valid (`checkSelectors`)
 * @throws CaptureError render_timeout
 */
export async function waitForSelector({ main, world, deadlines }: OpenPage, selector: string): Promise<void> {
  for (;;) {
    const before = main.current;
    const appears = unlessGone(world.call('element.untilVisible', selector).then(() => true));
    const visible = await deadlines.withinBudget(appears);
    if (visible === true) return;
    const moved = main.until(() => main.current !== before);
    if (visible === TIMED_OUT || (await deadlines.withinBudget(moved)) === TIMED_OUT) break;
  }
  const hint = selector.includes('>>>') ? ' Closed shadow trees and frames of another origin are not searched.' : '';
  throw new CaptureError({
    code: 'render_timeout',
    message: `\`wait_for_selector\`: no visible element matched "${selector}" within \`timeout\` (${deadlines.timeout} ms).${hint}`,
    details: { waited_for: 'selector', selector },
  });
}

/** A style sheet that has not loaded after this time counts as stalled. */
const SHEET_HANGS_AFTER_MS = 5_000;
/** The time limit for the page to paint. */
const FRAME_MAX_MS = 1_000;
const STOP_MAX_MS = 500;

/**
 * A page whose head waits for a style sheet is not painted (HTML, render-blocking). Waits for it within the budget; if it stalls, stops
 * loading, so that the page can be captured without it. Does nothing if the page has loaded, or paints.
 * @throws DocumentReplaced
 */
export async function dropStalledStyleSheets(
  { session, main, network, world, deadlines }: OpenPage,
  document: DocumentState,
): Promise<void> {
  while (main.current === document && !document.loaded) {
    const sheets = network.pending().filter(({ kind }) => kind === 'stylesheet');
    if (sheets.length === 0) return;
    // A page that is too busy to respond is delayed by its scripts, not by a style sheet.
    if ((await deadlines.within(world.call('frames.passFrames', 1, FRAME_MAX_MS), 2 * FRAME_MAX_MS)) !== false) return;
    const stalledSince = performance.now() - SHEET_HANGS_AFTER_MS;
    if (deadlines.leftMs() > 0 && sheets.some(({ startedAt }) => startedAt > stalledSince)) continue;
    await deadlines.within(session.cdp.send('Page.stopLoading'), STOP_MAX_MS);
    return;
  }
}
