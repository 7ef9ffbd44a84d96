import { CaptureError } from '../../contract/capture-error.js';
import { monotonicNow } from '../monotonic-now.js';
import { isGone, PageMoved } from '../page/page-moved.js';
import type { Answer, Call, Given } from '../page/world.js';
import type { Stage } from '../stage.js';

/** The page as the steps of a picture use it: each call ends at the picture's deadline, or with the page. */
export interface BoundedPage {
  /** @throws CaptureError `render_timeout` past the deadline, `render_crashed` when the page dies; PageMoved when it goes away */
  call<Name extends Call>(name: Name, ...given: Given<Name>): Promise<Answer<Name>>;
}

/** How long a command that failed waits for the reason. */
const LOSS_TOLD_MS = 500;

/** @param deadline ms by `monotonicNow` */
export function boundedPage(stage: Pick<Stage, 'world' | 'lost'>, deadline: number): BoundedPage {
  return { call: (name, ...given) => within(stage, deadline, () => stage.world.call(name, ...given)) };
}

/**
 * A step in the browser that can hang with its page: ends at the deadline, or with the page.
 *
 * @param deadline ms by `monotonicNow`
 * @throws CaptureError `render_timeout`, `render_crashed`; PageMoved
 */
export async function within<Result>(stage: Pick<Stage, 'lost'>, deadline: number, step: () => Promise<Result>): Promise<Result> {
  stage.lost.throwIfAborted();
  let onLost = () => {};
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<never>((_, reject) => {
    onLost = () => reject(stage.lost.reason);
    timer = setTimeout(() => reject(tooSlow()), Math.max(0, deadline - monotonicNow()));
  });
  stage.lost.addEventListener('abort', onLost, { once: true });
  try {
    return await Promise.race([step(), ended]);
  } catch (error) {
    if (!isGone(error)) throw error;
    await lossTold(stage);
    stage.lost.throwIfAborted();
    throw error instanceof PageMoved ? error : new PageMoved('the page navigated away while its picture was taken', { cause: error });
  } finally {
    clearTimeout(timer);
    stage.lost.removeEventListener('abort', onLost);
  }
}

function tooSlow(): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: 'The page did not respond in time while its picture was taken. A larger `timeout` may help.',
    details: { pending: 'picture' },
  });
}

/** A dead page fails its commands a moment before its death is known. */
async function lossTold(stage: Pick<Stage, 'lost'>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, LOSS_TOLD_MS);
    stage.lost.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
  });
}
