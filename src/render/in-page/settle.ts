import { refreshAfterS, runsScript } from './activity.js';
import { watch } from './counting.js';
import { documentProperty } from './dom.js';
import { apply } from './edits.js';
import { orLate, passFrames } from './frames.js';
import { backgroundsAmong, decoded, imagesInView } from './images.js';

export { isCounting } from './counting.js';

export interface Settled {
  /** The page runs no script, so it cannot change by itself. */
  inert: boolean;
  /** Seconds until its `<meta http-equiv="refresh">`. */
  refreshAfterS: number | null;
  /** Which of the images in flight are backgrounds in view. */
  backgrounds: string[];
}

export interface Budgets {
  /** Do not wait for anything if the page runs scripts: its clock is run first. */
  first: boolean;
  imagesInFlight: string[];
  fontsMs: number;
  imagesMs: number;
}

const FRAMES_MAX_MS = 200;

/** Waits for fonts, images in view and two frames, each within its budget. */
export async function settle({ first, imagesInFlight, fontsMs, imagesMs }: Budgets): Promise<Settled> {
  const settled: Settled = { inert: !runsScript(), refreshAfterS: refreshAfterS(), backgrounds: [] };
  apply();
  if (!settled.inert) watch();
  if (first && !settled.inert) return settled;
  const fonts = documentProperty('fonts');
  if (fonts.status === 'loading') await orLate(fonts.ready, fontsMs);
  await orLate(Promise.all(imagesInView().map(decoded)), imagesMs);
  await passFrames(2, FRAMES_MAX_MS);
  apply();
  return imagesInFlight.length === 0 ? settled : { ...settled, backgrounds: backgroundsAmong(imagesInFlight) };
}
