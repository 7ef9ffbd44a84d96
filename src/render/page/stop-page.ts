import type { CaptureOptions } from '../../contract/capture-request.js';
import type { PageSession } from '../page-session.js';

/**
 * Freezes a page, so that consecutive pictures of it are equal: its scripts no longer run, media are paused, and animations
 * stop. The isolated world still works.
 */
export async function stopPage(
  { cdp, world }: Pick<PageSession, 'cdp' | 'world'>,
  options: Pick<CaptureOptions, 'reduceMotion' | 'fullPage' | 'format' | 'selector' | 'clip'>,
): Promise<void> {
  // Must precede the next command, after which our own timers do not run either.
  await world.call('images.allDecoded');
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: true });
  const { reduceMotion, fullPage, format, selector, clip } = options;
  const beyondView = fullPage || format === 'pdf' || selector !== null || clip !== null;
  await world.call('freeze.freezePage', { motion: reduceMotion, beyondView });
}

/** Lets scripts of the page, or of its replacement, run again. */
export async function resumePage({ cdp }: Pick<PageSession, 'cdp'>): Promise<void> {
  await cdp.send('Emulation.setScriptExecutionDisabled', { value: false });
}
