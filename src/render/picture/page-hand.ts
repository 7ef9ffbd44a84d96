import { CaptureError } from '../../contract/capture-error.js';
import type { Stage } from '../stage.js';

/** Runs our own functions in the page's document, in a world where the page's scripts have replaced nothing. */
export interface PageHand {
  /** That world, as the browser's Runtime domain knows it. */
  readonly worldId: number;
  /**
   * Runs a self-contained function in the page; what it leaves on `globalThis` stays for the next call.
   *
   * @throws CaptureError `render_timeout` past the deadline, `render_crashed` when the page dies, `navigation_failed` when it goes away
   */
  run<Given, Result>(work: (given: Given) => Result | Promise<Result>, given: Given): Promise<Result>;
}

/** How long a command that failed waits for the reason. */
const LOSS_TOLD_MS = 500;

/** @param deadline Unix ms */
export async function openHand(stage: Stage, deadline: number): Promise<PageHand> {
  const { frameTree } = await within(stage, deadline, () => stage.cdp.send('Page.getFrameTree'));
  const { executionContextId } = await within(stage, deadline, () =>
    stage.cdp.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'stillframe-picture' }),
  );
  return {
    worldId: executionContextId,
    async run(work, given) {
      const expression = `(${work})(${JSON.stringify(given)})`;
      const answer = await within(stage, deadline, () =>
        stage.cdp.send('Runtime.evaluate', { expression, contextId: executionContextId, awaitPromise: true, returnByValue: true }),
      );
      if (answer.exceptionDetails !== undefined) {
        throw new Error(answer.exceptionDetails.exception?.description ?? answer.exceptionDetails.text);
      }
      return answer.result.value;
    },
  };
}

/**
 * A step in the browser that can hang with its page: ends at the deadline, or with the page.
 *
 * @param deadline Unix ms
 * @throws CaptureError `render_timeout`, `render_crashed`, `navigation_failed`
 */
export async function within<Result>(stage: Stage, deadline: number, step: () => Promise<Result>): Promise<Result> {
  stage.lost.throwIfAborted();
  let onLost = () => {};
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<never>((_, reject) => {
    onLost = () => reject(stage.lost.reason);
    timer = setTimeout(() => reject(tooSlow()), Math.max(0, deadline - Date.now()));
  });
  stage.lost.addEventListener('abort', onLost, { once: true });
  try {
    return await Promise.race([step(), ended]);
  } catch (error) {
    if (isGone(error)) await lossTold(stage);
    stage.lost.throwIfAborted();
    throw translate(error);
  } finally {
    clearTimeout(timer);
    stage.lost.removeEventListener('abort', onLost);
  }
}

function tooSlow(): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: 'The page did not answer in time while its picture was taken. A larger `timeout` may help.',
    details: { pending: 'picture' },
  });
}

/** A dead page fails its commands a moment before its death is known. */
async function lossTold(stage: Stage): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, LOSS_TOLD_MS);
    stage.lost.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
  });
}

function isGone(error: unknown): boolean {
  const text = error instanceof Error ? error.message : '';
  return /context (?:was|with specified id)|Target (?:page|closed|crashed)|Session closed|Frame (?:was|with)|navigated or closed/i.test(
    text,
  );
}

/** The page went to another document, or closed itself, under our hands. */
function translate(error: unknown): unknown {
  if (!isGone(error)) return error;
  return new CaptureError({
    code: 'navigation_failed',
    message: 'The page navigated away while its picture was taken.',
    cause: error,
  });
}
