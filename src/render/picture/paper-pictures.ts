/** Puts pictures of the view in place of what the browser would print otherwise than it shows it (in-page/paper-pictures.ts). */

import type { View } from '../../contract/capture-request.js';
import { monotonicNow } from '../deadlines.js';
import { encodingOf } from '../encode/encode.js';
import type { PicturePlace } from '../in-page/paper-pictures.js';
import { DENSITY_MIN, fitRegion, measurePage, type PictureTask, setDensity, takeRegion } from './region-picture.js';

/** The density of common printers, 300 px per inch. */
const PRINT_DENSITY = 300 / 96;
const PICTURE_PIXELS = 8_000_000;
const ALL_PIXELS = 40_000_000;
const ALL_MS = 10_000;
/** A photograph behind an element remains smooth. */
const QUALITY = 90;

/**
 * Takes the pictures with the page laid out in this view, as on paper, and shows them in place of the elements. What there is no time or
 * room for is printed as the browser prints it.
 */
export async function showPictures(task: PictureTask, view: View, options: { backgrounds: boolean }): Promise<void> {
  const { page, deadline } = task;
  const count = await page.call('paperPictures.find', options);
  if (count === 0) return;
  const until = Math.min(monotonicNow() + ALL_MS, monotonicNow() + (deadline - monotonicNow()) / 2);
  const pictures: { content: string; density: number }[] = [];
  let left = ALL_PIXELS;
  await setDensity(page, view);
  for (let index = 0; index < count && left > 0 && monotonicNow() < until; index++) {
    await page.call('undo.begin');
    const place = await page.call('paperPictures.isolate', index);
    if (place !== null) {
      const picture = await takeOne(task, view, place);
      pictures[index] = picture;
      left -= picture.pixels;
    }
    await page.call('undo.restore');
    await page.call('paperPictures.rejoin');
  }
  for (const [index, picture] of pictures.entries())
    if (picture !== undefined) await page.call('paperPictures.show', index, picture.content, picture.density);
  await setDensity(page, task.options.view);
}

async function takeOne(task: PictureTask, view: View, { box, density: maxDensity, isTransparent }: PicturePlace) {
  const { page } = task;
  const area = (box.right - box.left) * (box.bottom - box.top);
  const wanted = Math.min(PRINT_DENSITY, Math.max(1, maxDensity ?? PRINT_DENSITY), Math.sqrt(PICTURE_PIXELS / area));
  const density = Math.max(DENSITY_MIN, Math.floor(wanted * 100) / 100);
  const color = isTransparent ? { color: { r: 0, g: 0, b: 0, a: 0 } } : {};
  await page.send('Emulation.setDefaultBackgroundColorOverride', color);
  const { onArranged: _arranged, onShot: _onShot, ...plain } = task;
  const own = { ...plain, options: { ...task.options, view: { ...view, deviceScaleFactor: density } } };
  const format = isTransparent ? 'png' : 'jpeg';
  const region = await fitRegion(own, format, async () => ({ page: await measurePage(page), box }), true);
  const encoding = { ...encodingOf(own.options, format), quality: QUALITY, transparent: isTransparent };
  const arranged = { region, algorithm: 'native', stoppedReason: 'element', truncated: false } as const;
  const { content, width, height } = await takeRegion(own, arranged, encoding);
  await page.send('Emulation.setDefaultBackgroundColorOverride', {});
  return { content: `data:image/${format};base64,${content.toString('base64')}`, density, pixels: width * height };
}
