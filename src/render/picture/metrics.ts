import type { View } from '../../contract/capture-request.js';
import type { PageSession } from '../page-session.js';
import { untilDeadline } from './bounded-page.js';

/** The scale of the picture while a page is only measured. */
export const MEASURE_SCALE = 0.05;

/**
 * Sets the viewport and density on the page session's CDP session: a capture uses the emulation of the session that requests
 * it, and ignores that of others.
 * @param how.density output pixels per CSS px
 * @param how.scale of the picture alone, so that a viewport that is only measured costs no pixels
 */
export async function setDensity(
  session: PageSession,
  how: { view: View; density: number; scale?: number; deadline: number },
): Promise<void> {
  const { view, density, scale } = how;
  await untilDeadline(session, how.deadline, () =>
    session.cdp.send('Emulation.setDeviceMetricsOverride', {
      mobile: view.isMobile,
      width: view.width,
      height: view.height,
      screenWidth: view.width,
      screenHeight: view.height,
      deviceScaleFactor: density,
      ...(scale === undefined ? {} : { scale }),
      screenOrientation: orientation(view),
    }),
  );
}

function orientation(view: View): { type: 'portraitPrimary' | 'landscapePrimary'; angle: number } {
  if (!view.isMobile) return { type: 'landscapePrimary', angle: 0 };
  return view.width > view.height ? { type: 'landscapePrimary', angle: 90 } : { type: 'portraitPrimary', angle: 0 };
}
