/**
 * Runs a page's clock ahead, so that timers, animation frames and finite animations end in a fraction of their time, and
 * stops the page for its picture. The clock waits for requests in flight, and keeps to real time while the page communicates
 * with a server.
 */

import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { source as clockSource } from '../in-page/page-clock.js?bundled';
import type { RunRequest } from '../in-page/run-clock.js';
import { source as runSource } from '../in-page/run-clock.js?bundled';
import { type ClockScripts, dueMs, runFrameClock } from '../launch/child-clocks.js';
import { RUN_CLOCKS } from '../launch/target-policy.js';
import type { FrameTree, PageSession } from '../page-session.js';
import { monotonicNow, TIMED_OUT } from './deadline.js';
import { groupPending } from './network.js';
import type { ClockRun, OpenPage } from './open-page.js';

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
const CHECK_EVERY_MS = 15;
const FRAMES_MAX = 20;
/** The maximum number of requests reported as holding the clock. */
const PENDING_MAX = 100;
const NOTHING_DUE = Number.POSITIVE_INFINITY;

/** A page whose clock can run ahead. */
export type TimedPage = Pick<OpenPage, 'session' | 'network' | 'deadlines' | 'world' | 'realTime' | 'held' | 'debug' | 'clock'>;

/**
 * The scripts that replace the clocks of a page and its workers.
 * @param ask the name of the event that requests a run, unknown to the page
 */
export function clockScripts(ask: string): ClockScripts {
  return {
    frame: `(() => { ${clockSource}\nstillframe.install(${JSON.stringify(ask)}); })();`,
    worker: `(() => { ${clockSource}\nreturn stillframe.replaceClock(); })();`,
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
    throw new CaptureError({ code: 'unsupported_option', message, details: { issues: [{ path: 'animate', message }] } });
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
 * @param how.realMs limits the real time that this takes
 * @param how.sliceMs the page's time between two checks of its requests; default 100
 * @param how.holds false if neither requests in flight nor the renderer's work hold the clock
 * @throws DocumentReplaced if the document is replaced meanwhile
 */
export async function advanceTime(
  page: TimedPage,
  ms: number,
  { realMs, sliceMs = SLICE_MS, holds = true }: { realMs: number; sliceMs?: number; holds?: boolean },
): Promise<ClockRun> {
  const { network, deadlines } = page;
  const endsAt = monotonicNow() + realMs;
  const over = AbortSignal.timeout(realMs);
  const run: ClockRun = { aheadMs: 0, realTimeMs: 0, heldMs: 0, realTimeBecause: null };
  const frames = new ChildFrames(page.session);
  const runAhead = async (slice: number, frame: boolean) => {
    const nextMs = await runClocks(page, slice, { frames, frame, endsAt });
    run.aheadMs += slice;
    network.clockMs += slice;
    return nextMs;
  };
  const frameEveryMs = Math.max(FRAME_EVERY_MS, ms / FRAMES_OF_RUN);
  let drawnAt = Number.NEGATIVE_INFINITY;
  while (run.aheadMs + run.realTimeMs < ms && !over.aborted) {
    const asked = monotonicNow();
    const holding = holds && network.isHolding() ? groupPending(network.pending().slice(0, PENDING_MAX)) : [];
    if (holds) await deadlines.orEnd(network.answered(over));
    // Real time passes on the page's clock as well.
    const began = monotonicNow();
    const wasHeld = began - asked > HELD_MS;
    run.heldMs += began - asked;
    if (wasHeld) page.clock.addHolders(holding);
    const leftMs = ms - run.aheadMs - run.realTimeMs;
    const talk = page.session.clockEvent === null || page.realTime ? 'off' : network.realTimeReason();
    if (page.held) {
      if (wasHeld) await runAhead(0, false);
      if (wasHeld && network.isHolding()) continue;
      const slice = Math.min(talk === null ? sliceMs : REAL_PACE_MS, leftMs);
      if (talk !== null) await deadlines.sleep(slice);
      await runAhead(slice, true);
      continue;
    }
    if (talk !== null) {
      // The page's work takes its real time, however far its clock has run.
      if (run.realTimeBecause === null) run.aheadMs = 0;
      run.realTimeBecause = talk;
      await deadlines.sleep(Math.min(REAL_PACE_MS, leftMs, Math.max(0, endsAt - monotonicNow())));
    } else {
      // The page handles a response, and may send another request, before more time passes.
      if (wasHeld) await runAhead(0, false);
      if (wasHeld && network.isHolding()) continue;
      const slice = Math.min(sliceMs, leftMs);
      const draws = run.aheadMs - drawnAt >= frameEveryMs || leftMs <= sliceMs;
      if (draws) drawnAt = run.aheadMs;
      const nextMs = await runAhead(slice, draws);
      const restMs = leftMs - slice;
      // Nothing happens until the end.
      if (restMs > 0 && nextMs > restMs && network.isIdle()) await runAhead(restMs, true);
    }
    run.realTimeMs += monotonicNow() - began;
  }
  if (holds) await untilRendererIdle(page, over);
  page.debug?.note({ step: 'clock', askedMs: ms, ...run });
  page.clock.add(run);
  return run;
}

/**
 * Lets `ms` of the page's time pass without a frame, unless anything is due or moving within it, or the page communicates with a server.
 * @returns whether it has passed
 */
export async function skipQuietTime(page: TimedPage, ms: number): Promise<boolean> {
  const { network, session, realTime, held } = page;
  if (session.clockEvent === null || realTime || held || !network.isIdle() || network.realTimeReason() !== null) return false;
  const how = { frames: new ChildFrames(session), frame: false, draws: false, endsAt: monotonicNow() + SLICE_MAX_MS };
  if ((await runClocks(page, 0, how)) <= ms) return false;
  await runClocks(page, ms, how);
  network.clockMs += ms;
  page.clock.add({ aheadMs: ms, realTimeMs: 0, heldMs: 0, realTimeBecause: null });
  return true;
}

/**
 * Runs the clocks of the page, its frames and its workers ahead.
 * @returns ms of the page's time until anything is due in one of them
 */
async function runClocks(
  { world, deadlines, session, held }: TimedPage,
  ms: number,
  { frames, frame, draws = true, endsAt }: { frames: ChildFrames; frame: boolean; draws?: boolean; endsAt: number },
): Promise<number> {
  const { cdp, clockEvent } = session;
  const leftMs = Math.max(0, endsAt - monotonicNow());
  const realMs = Math.min(SLICE_MAX_MS, leftMs);
  const order: RunRequest = { ask: clockEvent ?? '', ms, frame, draws, held, realMs };
  const frameExpression = `(() => { ${runSource}\nreturn stillframe.runAhead(${JSON.stringify({ ...order, draws: false })}); })()`;
  // A frame that goes away has nothing left to do.
  const inFrames = (await frames.ids()).map((id) => runFrameClock(cdp, id, frameExpression).then(dueMs, () => NOTHING_DUE));
  // Our connection to the browser handles this command, for workers and frames in other processes; a browser rejects it.
  const inChildren: Promise<{ dueMs: number | null } | null> = cdp
    .send(RUN_CLOCKS as 'Page.enable', { order: { ms, realMs }, frameExpression } as never)
    .catch(() => null) as never;
  const children = inChildren.then((ran) => ran?.dueMs ?? NOTHING_DUE);
  const main = world.call('clock.runAhead', order).then(dueMs);
  const due = await deadlines.withTimeout(Promise.all([main, children, ...inFrames]), leftMs);
  return due === TIMED_OUT ? 0 : Math.min(...due);
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
    const idsIn = ({ frame, childFrames = [] }: FrameTree): string[] => [frame.id, ...childFrames.flatMap(idsIn)];
    const { frameTree } = await this.session.cdp.send('Page.getFrameTree');
    this.#ids = idsIn(frameTree as FrameTree).slice(1, 1 + FRAMES_MAX);
    return this.#ids;
  }
}

/** Waits while the renderer does work that no clock covers: workers, decoders, WebCrypto, compiling. */
async function untilRendererIdle({ session, deadlines, network }: TimedPage, over: AbortSignal): Promise<void> {
  let before = await session.busyMs();
  while (!over.aborted && before !== null) {
    await deadlines.sleep(CHECK_EVERY_MS);
    const now = await session.busyMs();
    if (now === null || now - before < WORKS_MS) return;
    before = now;
    await deadlines.orEnd(network.answered(over));
  }
}

/**
 * Freezes a page, so that consecutive pictures of it are equal: its scripts no longer run, media are paused, and animations
 * stop. The isolated world still works.
 */
export async function stopPage(
  { cdp, world }: Pick<PageSession, 'cdp' | 'world'>,
  { reduceMotion, fullPage, format, selector, clip }: CaptureOptions,
): Promise<void> {
  // Must precede the next command, after which our own timers do not run either.
  await world.call('readiness.allDecoded');
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: true });
  const beyondView = fullPage || format === 'pdf' || selector !== null || clip !== null;
  await world.call('freeze.freezePage', { motion: reduceMotion, beyondView });
}

/** Lets scripts of the page, or of its replacement, run again. */
export async function resumePage({ cdp }: Pick<PageSession, 'cdp'>): Promise<void> {
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: false });
}
