import { setTimeout as sleep } from 'node:timers/promises';
import pTimeout from 'p-timeout';
import { CaptureError } from '../../contract/capture-error.js';
import type { CdpSession } from '../launch/pipe-session.js';
import { monotonicNow } from '../page/deadline.js';
import { DocumentReplaced, isGone, type World } from '../page/world.js';
import type { PageSession } from '../page-session.js';

/**
 * The page as used by the steps of a picture: each call and command ends at the picture's deadline, or with the page, and
 * throws CaptureError `render_timeout` after the deadline, `render_crashed` when the page crashes, or DocumentReplaced when
 * it navigates.
 */
export type BoundedPage = Pick<World, 'call'> & Pick<CdpSession, 'send'>;

/** How long a failed command waits for the reason, in ms. */
const LOSS_REPORTED_MS = 500;

/** @param deadline ms by `monotonicNow` */
export function boundedPage(session: Pick<PageSession, 'world' | 'cdp' | 'lost'>, deadline: number): BoundedPage {
  const { world, cdp } = session;
  return {
    call: (name, ...given) => untilDeadline(session, deadline, () => world.call(name, ...given)),
    send: (method, params) => untilDeadline(session, deadline, () => cdp.send(method, params)),
  };
}

/**
 * Runs a step that can hang with its page, and ends it at the deadline or with the page.
 * @param deadline ms by `monotonicNow`
 * @throws CaptureError `render_timeout`, `render_crashed`; DocumentReplaced
 */
export async function untilDeadline<Result>(
  session: Pick<PageSession, 'lost'>,
  deadline: number,
  step: () => Promise<Result>,
): Promise<Result> {
  session.lost.throwIfAborted();
  try {
    const milliseconds = Math.max(1, deadline - monotonicNow());
    return await pTimeout(step(), { milliseconds, signal: session.lost, message: tooSlow() });
  } catch (error) {
    if (!isGone(error)) throw error;
    // Commands of a crashed page fail shortly before its crash is reported.
    await sleep(LOSS_REPORTED_MS, undefined, { signal: session.lost }).catch(() => session.lost.throwIfAborted());
    throw error instanceof DocumentReplaced
      ? error
      : new DocumentReplaced('the page navigated away while its picture was taken', { cause: error });
  }
}

function tooSlow(): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: 'The page did not respond in time while its picture was taken. A larger `timeout` may help.',
    details: { pending: 'picture' },
  });
}
