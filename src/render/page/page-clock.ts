/**
 * Runs a page's clock ahead: its timers, animation frames and finite animations come to their end in a fraction of their time. The clock
 * waits for requests in flight, and keeps to the real time while the page talks to a server.
 */

import { source as clockSource } from '../in-page/page-clock.js?bundled';
import type { RunOrder } from '../in-page/run-clock.js';
import { source as runSource } from '../in-page/run-clock.js?bundled';
import { type ChildRun, type ClockScripts, dueMs, runFrameClock } from '../launch/child-clocks.js';
import { RUN_CLOCKS } from '../launch/target-policy.js';
import { monotonicNow } from '../monotonic-now.js';
import type { PageSession } from '../page-session.js';
import type { ClockRun } from './clock-total.js';
import { TIMED_OUT } from './deadline.js';
import type { OpenPage } from './open-page.js';
import { groupPending } from './pending-requests.js';

/** The page's time from one look at its requests to the next. */
const SLICE_MS = 100;
/** After this much of the page's time a real frame follows, even if nothing is animated. */
const FRAME_EVERY_MS = 200;
/** The real time that one slice may take; whatever floods timers or frames is cut off there. */
const SLICE_MAX_MS = 500;
const REAL_PACE_MS = 50;
/** A wait for requests that took longer than this was one. */
const HELD_MS = 1;
/** Processor time of the renderer in one look from which it works on something that the clock does not know: a worker, a decoder. */
const WORKS_MS = 5;
const LOOK_EVERY_MS = 15;
const FRAMES_MAX = 20;
/** Requests that are named as holding the clock. */
const PENDING_TOLD = 100;

/** A page whose clock can run ahead. */
export type TimedPage = Pick<OpenPage, 'session' | 'network' | 'deadlines' | 'world' | 'realTime' | 'debug' | 'clock'>;

/** The scripts that take over a page's clock and those of its workers. @param ask the name of the event that asks it to run, unknown to the page */
export function clockScripts(ask: string): ClockScripts {
  return {
    frame: `(() => { ${clockSource}\nstillframe.install(${JSON.stringify(ask)}); })();`,
    worker: `(() => { ${clockSource}\nreturn stillframe.takeOver(); })();`,
  };
}

/**
 * Lets `ms` of the page's time pass.
 *
 * @param how.realMs limits the real time that this takes
 * @param how.sliceMs the page's time from one look at its requests to the next; default 100
 * @param how.holds false: requests in flight do not hold the clock, nor does what the renderer works on
 * @throws PageMoved (page-moved.ts) if the document is replaced in the meantime
 */
export async function passTime(
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
    const holding = holds && network.isHolding() ? groupPending(network.pending().slice(0, PENDING_TOLD)) : [];
    if (holds) await deadlines.orEnd(network.answered(over));
    // Real time passes on the page's clock as well.
    const began = monotonicNow();
    run.heldMs += began - asked;
    if (began - asked > HELD_MS) {
      page.debug?.note({ step: 'held', forMs: Math.round(began - asked), holding });
      page.clock.addHolders(holding);
    }
    const leftMs = ms - run.aheadMs - run.realPaceMs;
    const talk = page.session.clockEvent === null || page.realTime ? 'off' : network.talk();
    // The page's jobs take their real time, however far its clock has run.
    if (talk !== null && run.talk === null) run.aheadMs = 0;
    // The page handles an answer, and may send another request, before more time passes.
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
      // Nothing will happen until the end.
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
  if (holds) await untilIdle(page, over);
  page.debug?.note({ step: 'clock', askedMs: ms, ...run });
  page.clock.add(run);
  return run;
}

interface Advance {
  frames: ChildFrames;
  frame: boolean;
  endsAt: number;
}

/** Runs the clocks of all frames ahead. @returns ms of the page's time until anything is due in one of them */
async function advance(page: TimedPage, ms: number, { frames, frame, endsAt }: Advance): Promise<number> {
  const { world, deadlines, session } = page;
  const ask = session.clockEvent ?? '';
  const leftMs = Math.max(0, endsAt - monotonicNow());
  const order: RunOrder = { ask, ms, frame, draws: true, realMs: Math.min(SLICE_MAX_MS, leftMs) };
  const frameExpression = runExpression({ ...order, draws: false });
  // A frame that goes away has nothing to do any more.
  const inFrames = (await frames.ids()).map((id) =>
    runFrameClock(session.cdp, id, frameExpression).then(dueMs, () => Number.POSITIVE_INFINITY),
  );
  const main = world.call('clock.ahead', order).then(dueMs);
  const children = childrenAhead(session, { order: { ms, realMs: order.realMs }, frameExpression });
  const due = await deadlines.within(Promise.all([main, children, ...inFrames]), leftMs);
  return due === TIMED_OUT ? 0 : Math.min(...due);
}

/** Runs the clocks of the page's workers, and of its frames in other processes, ahead. @returns as `advance` */
async function childrenAhead({ cdp }: PageSession, run: ChildRun): Promise<number> {
  // Our connection to the browser handles this command; a browser without it rejects the command.
  const ran: unknown = await cdp.send(RUN_CLOCKS as 'Page.enable', run as never).catch(() => null);
  return (ran as { dueMs: number | null } | null)?.dueMs ?? Number.POSITIVE_INFINITY;
}

function runExpression(order: RunOrder): string {
  return `(() => { ${runSource}\nreturn stillframe.ahead(${JSON.stringify(order)}); })()`;
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

/** Waits while the page's renderer works on what no clock knows: workers, decoders, WebCrypto, compiling. */
async function untilIdle({ session, deadlines, network }: TimedPage, over: AbortSignal): Promise<void> {
  let before = await session.busyMs();
  while (!over.aborted && before !== null) {
    await deadlines.sleep(LOOK_EVERY_MS);
    const now = await session.busyMs();
    if (now === null || now - before < WORKS_MS) return;
    before = now;
    await deadlines.orEnd(network.answered(over));
  }
}
