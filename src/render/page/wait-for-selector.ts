import { CaptureError } from '../../contract/capture-error.js';
import { TIMED_OUT } from './deadline.js';
import { DocumentReplaced } from './document-replaced.js';
import type { OpenPage } from './open-page.js';

/**
 * Waits until a matching element is visible, even across navigations.
 * @param selector valid (`checkSelectors`)
 * @throws CaptureError render_timeout, whose message says whether any element matched
 */
export async function waitForSelector(page: Pick<OpenPage, 'main' | 'world' | 'deadlines'>, selector: string): Promise<void> {
  const { main, world, deadlines } = page;
  for (;;) {
    const before = main.current;
    try {
      const seen = await deadlines.withTimeout(world.call('documents.untilVisible', selector), deadlines.leftMs());
      if (seen === TIMED_OUT) throw notSeen(selector, deadlines.timeout);
      return;
    } catch (error) {
      if (!(error instanceof DocumentReplaced)) throw error;
      const moved = main.until(() => main.current !== before);
      if ((await deadlines.withTimeout(moved, deadlines.leftMs())) === TIMED_OUT) throw notSeen(selector, deadlines.timeout);
    }
  }
}

function notSeen(selector: string, timeout: number): CaptureError {
  const hint = selector.includes('>>>') ? ' Closed shadow trees and frames of another origin are not searched.' : '';
  return new CaptureError({
    code: 'render_timeout',
    message: `\`wait_for_selector\`: no visible element matched "${selector}" within \`timeout\` (${timeout} ms).${hint}`,
    details: { waited_for: 'selector', selector },
  });
}
