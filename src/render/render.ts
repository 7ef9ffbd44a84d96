/**
 * Request in, picture out: one capture with its share of memory, its browser page and its time limits. Knows no job, account, store or HTTP.
 */

import { capture, type PageLease, type RenderDeps, type Rendering, type RenderOrder } from './capture.js';
import { estimateBytes } from './memory-budget.js';
import { monotonicNow } from './monotonic-now.js';
import { Deadlines } from './page/deadline.js';
import { StageTimes } from './page/stage-times.js';
import { crashedAgain, isSharedLoss, translate } from './render-failure.js';

/** How long the browser of a repeated capture may take to start. */
const OWN_BROWSER_START_MS = 30_000;

/**
 * Makes one picture; every capture has a page session of its own, which is released whatever happens. A capture that is lost with others of
 * its browser is repeated with a browser of its own.
 *
 * @param signal ends the capture at once; its reason is what is thrown
 * @throws CaptureError with any code of a capture (decisions.md, Error codes)
 */
export async function render(deps: RenderDeps, order: RenderOrder, signal: AbortSignal): Promise<Rendering> {
  return await renderOnce(deps, order, { signal, alone: false }).catch((error: unknown) => {
    if (signal.aborted || !isSharedLoss(error)) throw error;
    deps.log.info({ job_id: order.id, err: error }, 'a capture was lost with others of its browser and is repeated alone');
    return renderOnce(deps, order, { signal, alone: true }).catch((again: unknown) => Promise.reject(crashedAgain(again)));
  });
}

interface Once {
  signal: AbortSignal;
  /** Whether it has a browser of its own. */
  alone: boolean;
}

async function renderOnce(deps: RenderDeps, order: RenderOrder, { signal, alone }: Once): Promise<Rendering> {
  const memory = await deps.memory.reserve(estimateBytes(order.options, alone), signal);
  order.onBegin?.();
  const times = new StageTimes(order.onProgress);
  const released = (): void => memory[Symbol.dispose]();
  try {
    return await renderTimed(deps, order, { signal, alone, times, released });
  } catch (error) {
    order.onStages?.(times.stages({ failed: true }).map((stage) => (stage.name === 'picture' ? { ...stage, name: 'shoot' } : stage)));
    throw error;
  }
}

async function renderTimed(
  deps: RenderDeps,
  order: RenderOrder,
  { signal, alone, times, released }: Once & { times: StageTimes; released(): void },
): Promise<Rendering> {
  times.enter('prepare', 5);
  const asked = monotonicNow();
  const requester = { job_id: order.id, ...(order.account === undefined ? {} : { account: order.account }) };
  const passage = { requester, local: order.local };
  const ends = AbortSignal.any([signal, AbortSignal.timeout(alone ? OWN_BROWSER_START_MS : order.options.timeout)]);
  const acquiring: Promise<PageLease> = alone
    ? deps.pool.acquireAlone(order.options, ends, passage)
    : deps.pool.acquire(order.options, ends, passage);
  acquiring.catch(released);
  const lease = await acquiring;
  const { session } = lease;
  // The start of a browser of its own does not count: the capture is not to blame for the loss of the first.
  const began = alone ? monotonicNow() : asked;
  const deadlines = new Deadlines({ ...order.options, began }, [signal, session.lost]);
  try {
    const rendering = await deadlines.orEnd(capture(deps, order, { session, deadlines, times }));
    // A browser without its network service still makes pictures, without images.
    lease.verify();
    session.lost.throwIfAborted();
    return rendering;
  } catch (error) {
    signal.throwIfAborted();
    lease.verify();
    throw translate(error, session);
  } finally {
    deadlines[Symbol.dispose]();
    // Nobody waits for the page to close; a browser that does not manage it is killed by the pool.
    const release = () =>
      lease
        .release()
        .catch((error: unknown) => deps.log.warn({ err: error, job_id: order.id }, 'a page was not closed'))
        .finally(released);
    // A page that is lost is closed at once, before it is repeated.
    if (session.lost.aborted) void release();
    else Promise.resolve(order.kept).then(release, release);
  }
}
