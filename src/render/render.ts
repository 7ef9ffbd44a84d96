/** Renders one capture, with its share of memory, its browser page and its time limits. Knows no job, account, store or HTTP. */

import { capture, type PageLease, type RenderDeps, type Rendering, type RenderOrder } from './capture.js';
import { estimateBytes } from './memory-budget.js';
import { monotonicNow } from './monotonic-now.js';
import { Deadlines } from './page/deadline.js';
import { StageTimes } from './page/stage-times.js';
import { crashedAgain, isSharedLoss, translate } from './render-failure.js';

/** How long the dedicated browser of a repeated capture may take to start. */
const OWN_BROWSER_START_MS = 30_000;

/**
 * Makes one picture in its own page session, which is always released. A capture that crashed together with others of its
 * browser is repeated in a dedicated browser.
 * @param signal ends the capture at once; its reason is thrown
 * @throws CaptureError with any code of a capture (decisions.md, Error codes)
 */
export async function render(deps: RenderDeps, order: RenderOrder, signal: AbortSignal): Promise<Rendering> {
  return await renderOnce(deps, order, { signal, alone: false }).catch((error: unknown) => {
    if (signal.aborted || !isSharedLoss(error)) throw error;
    deps.log.info({ job_id: order.id, err: error }, 'a capture was lost with others of its browser and is repeated alone');
    return renderOnce(deps, order, { signal, alone: true }).catch((again: unknown) => Promise.reject(crashedAgain(again)));
  });
}

interface Attempt {
  signal: AbortSignal;
  /** Whether the capture has a dedicated browser. */
  alone: boolean;
}

async function renderOnce(deps: RenderDeps, order: RenderOrder, { signal, alone }: Attempt): Promise<Rendering> {
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
  { signal, alone, times, released }: Attempt & { times: StageTimes; released(): void },
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
  // The start of a dedicated browser does not count towards the timeout: the capture did not cause the first crash.
  const began = alone ? monotonicNow() : asked;
  const deadlines = new Deadlines({ ...order.options, began }, [signal, session.lost]);
  try {
    const rendering = await deadlines.orEnd(capture(deps, order, { session, deadlines, times }));
    // A browser whose network service has crashed still makes pictures, but without images.
    lease.verify();
    session.lost.throwIfAborted();
    return rendering;
  } catch (error) {
    signal.throwIfAborted();
    lease.verify();
    throw translate(error, session);
  } finally {
    deadlines[Symbol.dispose]();
    // The page closes in the background; the pool kills a browser that fails to close it.
    const release = () =>
      lease
        .release()
        .catch((error: unknown) => deps.log.warn({ err: error, job_id: order.id }, 'a page was not closed'))
        .finally(released);
    // A crashed page is closed at once, before the capture is repeated.
    if (session.lost.aborted) void release();
    else Promise.resolve(order.kept).then(release, release);
  }
}
