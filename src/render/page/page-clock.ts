/**
 * Runs a page's clock ahead, so that timers, animation frames and finite animations end in a fraction of their time. The
 * clock waits for requests in flight, and keeps to real time while the page communicates with a server.
 */

import { source as clockSource } from '../in-page/page-clock.js?bundled';
import type { RunRequest } from '../in-page/run-clock.js';
import { source as runSource } from '../in-page/run-clock.js?bundled';
import { type ChildRun, type ClockScripts, dueMs, runFrameClock } from '../launch/child-clocks.js';
import { RUN_CLOCKS } from '../launch/target-policy.js';
import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import type { ClockRun } from './clock-total.js';
import { TIMED_OUT } from './deadline.js';
import type { OpenPage } from './open-page.js';
import { groupPending } from './pending-requests.js';

/** The page's time between two checks of its requests, in ms. */
const SLICE_MS = 100;
/** After this much of the page's time, a real frame follows even if nothing is animated. */
const FRAME_EVERY_MS = 200;
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

/** A page whose clock can run ahead. */
export type TimedPage = Pick<OpenPage, 'session' | 'network' | 'deadlines' | 'world' | 'realTime' | 'debug' | 'clock'>;

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
  const run: ClockRun = { aheadMs: 0, realPaceMs: 0, heldMs: 0, talk: null };
  const frames = new ChildFrames(page.session);
  let drawnAt = Number.NEGATIVE_INFINITY;
  while (run.aheadMs + run.realPaceMs < ms && !over.aborted) {
    const asked = monotonicNow();
    const holding = holds && network.isHolding() ? groupPending(network.pending().slice(0, PENDING_MAX)) : [];
    if (holds) await deadlines.orEnd(network.answered(over));
    // Real time passes on the page's clock as well.
    const began = monotonicNow();
    run.heldMs += began - asked;
    if (began - asked > HELD_MS) {
      page.debug?.note({ step: 'held', forMs: Math.round(began - asked), holding });
      page.clock.addHolders(holding);
    }
    const leftMs = ms - run.aheadMs - run.realPaceMs;
    const talk = page.session.clockEvent === null || page.realTime ? 'off' : network.realTimeReason();
    // The page's work takes its real time, however far its clock has run.
    if (talk !== null && run.talk === null) run.aheadMs = 0;
    // The page handles a response, and may send another request, before more time passes.
    if (talk === null && began - asked > HELD_MS) {
      await advance(page, 0, { frames, frame: false, endsAt });
      if (network.isHolding()) continue;
    }
    if (talk === null) {
      const frame = run.aheadMs - drawnAt >= FRAME_EVERY_MS || leftMs <= sliceMs;
      const slice = Math.min(sliceMs, leftMs);
      const nextMs = await advance(page, slice, { frames, frame, endsAt });
      if (frame) drawnAt = run.aheadMs;
      run.aheadMs += slice;
      network.clockMs += slice;
      const restMs = leftMs - slice;
      // Nothing happens until the end.
      if (restMs > 0 && nextMs > restMs && network.isIdle()) {
        await advance(page, restMs, { frames, frame: true, endsAt });
        run.aheadMs += restMs;
        network.clockMs += restMs;
      }
    } else {
      run.talk = talk;
      await deadlines.sleep(Math.min(REAL_PACE_MS, leftMs, Math.max(0, endsAt - monotonicNow())));
    }
    run.realPaceMs += monotonicNow() - began;
  }
  if (holds) await untilRendererIdle(page, over);
  page.debug?.note({ step: 'clock', askedMs: ms, ...run });
  page.clock.add(run);
  return run;
}

interface Advance {
  frames: ChildFrames;
  frame: boolean;
  endsAt: number;
}

/**
 * Runs the clocks of all frames ahead.
 * @returns ms of the page's time until anything is due in one of them
 */
async function advance(page: TimedPage, ms: number, { frames, frame, endsAt }: Advance): Promise<number> {
  const { world, deadlines, session } = page;
  const ask = session.clockEvent ?? '';
  const leftMs = Math.max(0, endsAt - monotonicNow());
  const order: RunRequest = { ask, ms, frame, draws: true, realMs: Math.min(SLICE_MAX_MS, leftMs) };
  const frameExpression = runExpression({ ...order, draws: false });
  // A frame that goes away has nothing left to do.
  const inFrames = (await frames.ids()).map((id) =>
    runFrameClock(session.cdp, id, frameExpression).then(dueMs, () => Number.POSITIVE_INFINITY),
  );
  const main = world.call('clock.runAhead', order).then(dueMs);
  const children = runChildClocks(session, { order: { ms, realMs: order.realMs }, frameExpression });
  const due = await deadlines.withTimeout(Promise.all([main, children, ...inFrames]), leftMs);
  return due === TIMED_OUT ? 0 : Math.min(...due);
}

/**
 * Runs the clocks of the page's workers, and of its frames in other processes, ahead.
 * @returns the same as `advance`
 */
async function runChildClocks({ cdp }: PageSession, run: ChildRun): Promise<number> {
  // Our connection to the browser handles this command; a browser rejects it.
  const ran: unknown = await cdp.send(RUN_CLOCKS as 'Page.enable', run as never).catch(() => null);
  return (ran as { dueMs: number | null } | null)?.dueMs ?? Number.POSITIVE_INFINITY;
}

function runExpression(order: RunRequest): string {
  return `(() => { ${runSource}\nreturn stillframe.runAhead(${JSON.stringify(order)}); })()`;
}

/** The frames of a page that share its renderer. */
class ChildFrames {
  #count = 1;
  #ids: string[] = [];

  constructor(private readonly session: PageSession) {}

  /** Asks the browser only when the number of frames has changed. */
  async ids(): Promise<string[]> {
    const { page, cdp } = this.session;
    const { length } = page.frames();
    if (length === this.#count) return this.#ids;
    this.#count = length;
    const found: string[] = [];
    const visit = (trees: FrameTree[] = []): void => {
      for (const { frame, childFrames } of trees) {
        found.push(frame.id);
        visit(childFrames);
      }
    };
    const { frameTree } = await cdp.send('Page.getFrameTree');
    visit(frameTree.childFrames as FrameTree[] | undefined);
    this.#ids = found.slice(0, FRAMES_MAX);
    return this.#ids;
  }
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
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
