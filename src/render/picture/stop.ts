/** Stops a page for its pictures, and prepares one that is printed. */

import type { CaptureOptions } from '../../contract/capture-request.js';
import { monotonicNow } from '../deadlines.js';
import { resumePage, stopPage, type TimedPage } from '../page/page-clock.js';
import { isPrinted, prepareToPrint, putBackSeen } from './pdf-picture.js';
import type { PictureGroup } from './take-picture.js';

const MOTION_MAX_MS = 1_000;

/** Stops a page that has been scrolled as far as needed, unless its pictures move. */
export async function stopForPictures(
  page: TimedPage,
  { options, scrolls }: Pick<PictureGroup, 'options' | 'scrolls'>,
  deadline: number,
) {
  const { world } = page;
  if (options.clip !== null && !scrolls)
    await withinMotion(page, deadline, world.call('scrollers.expandAll', { wide: false, tellsSize: page.tellsSize }));
  if (options.animate === null) await stop(page, options, deadline);
}

/** Stops a page for a picture with other options than those that it was stopped with. */
export async function stopAgain(page: TimedPage, options: CaptureOptions, deadline: number): Promise<void> {
  await resumePage(page.session);
  await stop(page, options, deadline);
}

/** A page that is printed is laid out as on paper before. */
async function stop(page: TimedPage, options: CaptureOptions, deadline: number): Promise<void> {
  const reacts = isPrinted(options) && (await page.deadlines.orEnd(prepareToPrint(page, options, deadline)));
  if (options.reduceMotion) await withinMotion(page, deadline, page.world.call('frames.endMotion'));
  await withinMotion(page, deadline, stopPage(page.session, options));
  if (reacts) await withinMotion(page, deadline, putBackSeen(page.world));
}

/** Lets the page's scripts run again, and tells them that it has been printed. */
export async function endPrint({ session, world }: TimedPage): Promise<void> {
  await resumePage(session);
  await world.call('print.announce', 'afterprint');
}

/** Animations and frames that are late are captured as they are. */
export async function withinMotion({ deadlines }: TimedPage, deadline: number, work: Promise<unknown>): Promise<void> {
  await deadlines.within(work, Math.min(MOTION_MAX_MS, deadline - monotonicNow()));
}
