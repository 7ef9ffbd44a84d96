import type { CaptureOptions } from '../../contract/capture-request.js';
import type { PageSession } from '../page-session.js';

/**
 * Stops a page, so that nothing that it does can tell one picture of it from the next: its scripts do not run any more, its media are
 * paused, its animations stand still. Our own world still works.
 */
export async function stopPage(
  { cdp, world }: Pick<PageSession, 'cdp' | 'world'>,
  options: Pick<CaptureOptions, 'reduceMotion' | 'fullPage' | 'format' | 'selector' | 'clip'>,
): Promise<void> {
  // Before scripts are off: our own timers do not run either then.
  await world.call('images.allDecoded');
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: true });
  const { reduceMotion, fullPage, format, selector, clip } = options;
  const beyondView = fullPage || format === 'pdf' || selector !== null || clip !== null;
  await world.call('hold.still', { motion: reduceMotion, beyondView });
}

/** Lets the scripts of the page, or of the one that has replaced it, run again. */
export async function resumePage({ cdp }: Pick<PageSession, 'cdp'>): Promise<void> {
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: false });
}
