import type { PageSession } from '../page-session.js';
import { within } from './bounded-page.js';

/**
 * Whether a script of the page is told when its document is scrolled.
 *
 * @param deadline ms by `monotonicNow`
 * @throws CaptureError `render_timeout`, `render_crashed`, `navigation_failed`
 */
export async function listensToScroll(session: PageSession, deadline: number): Promise<boolean> {
  const heard = await Promise.all(['window', 'document'].map((target) => listensOn(session, { target, deadline })));
  return heard.includes(true);
}

function listensOn(session: PageSession, { target, deadline }: { target: string; deadline: number }): Promise<boolean> {
  return within(session, deadline, async () => {
    const { result } = await session.cdp.send('Runtime.evaluate', { expression: target });
    if (result.objectId === undefined) return false;
    const { listeners } = await session.cdp.send('DOMDebugger.getEventListeners', { objectId: result.objectId });
    return listeners.some(({ type }) => type === 'scroll' || type === 'scrollend');
  });
}
