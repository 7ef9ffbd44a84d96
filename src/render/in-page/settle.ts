import { refreshAfterS, runsScript } from './activity.js';
import { counted, watch } from './counting.js';
import { documentProperty } from './dom.js';
import { apply } from './edits.js';
import { nextFrame, orLate } from './frames.js';
import { backgroundsAmong, decoded, imagesInView } from './images.js';

export interface Settled {
  /** The page runs no script, so it cannot change by itself. */
  inert: boolean;
  /** Seconds until its `<meta http-equiv="refresh">`. */
  refreshAfterS: number | null;
  /** Which of the images in flight are backgrounds in view. */
  backgrounds: string[];
}

export interface Budgets {
  /** Wait for no frames yet, nor for anything if the page runs scripts: its network must become idle first. */
  first: boolean;
  imagesInFlight: string[];
  fontsMs: number;
  imagesMs: number;
  stillMs: number;
  countingMs: number;
}

/** Waits for fonts, images in view, two frames without layout change, and numbers that count, each within its budget. */
export async function settle({ first, imagesInFlight, fontsMs, imagesMs, stillMs, countingMs }: Budgets): Promise<Settled> {
  const settled: Settled = { inert: !runsScript(), refreshAfterS: refreshAfterS(), backgrounds: [] };
  apply();
  if (!settled.inert) watch();
  if (first && !settled.inert) return settled;
  const fonts = documentProperty('fonts');
  if (fonts.status === 'loading') await orLate(fonts.ready, fontsMs);
  await orLate(Promise.all(imagesInView().map(decoded)), imagesMs);
  if (first) return settled;
  await twoStillFrames(stillMs);
  await counted(countingMs);
  apply();
  return imagesInFlight.length === 0 ? settled : { ...settled, backgrounds: backgroundsAmong(imagesInFlight) };
}

async function twoStillFrames(stillMs: number): Promise<void> {
  const began = performance.now();
  let before = layout();
  for (let still = 0; still < 2 && performance.now() - began < stillMs; ) {
    await nextFrame();
    const now = layout();
    still = now === before ? still + 1 : 0;
    before = now;
  }
}

function layout(): string {
  const root = documentProperty('documentElement');
  const parts: unknown[] = [root?.scrollWidth, root?.scrollHeight, scrollX, scrollY];
  for (let x = 1; x < 6; x += 2) {
    for (let y = 1; y < 6; y += 2) {
      const hit = Document.prototype.elementFromPoint.call(document, (innerWidth * x) / 6, (innerHeight * y) / 6);
      const box = hit?.getBoundingClientRect();
      parts.push(box?.x, box?.y, box?.width, box?.height);
    }
  }
  return parts.join();
}
