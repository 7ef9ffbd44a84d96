/**
 * The picture of a page that is ready for it: of the view, of the whole page, of one element, or as PDF.
 * Knows nothing of waiting, checks or jobs: the page is as it shall be shown.
 */

import type { CaptureOptions } from '../../contract/capture-request.js';
import type { PageSession } from '../page-session.js';
import { within } from './bounded-page.js';
import { takeClip } from './clip-picture.js';
import { takeElement } from './element-picture.js';
import { encodingOf } from './encode.js';
import { takeFullPage } from './full-page-picture.js';
import { takePagedPdf } from './paged-pdf.js';
import { takePdf } from './pdf-picture.js';
import type { Picture, PictureOrder } from './picture.js';
import type { ScrollReport } from './scroll-through.js';
import { takeView } from './view-picture.js';

/**
 * Takes the picture that the options ask for.
 *
 * @param how.deadline ms by `monotonicNow`
 * @param how.scroll what scrollThrough found; null if the page was not scrolled through
 * @param how.encodes the process's one queue for big pictures
 * @throws CaptureError `render_incomplete` when the element is never visible, `invalid_request` for a selector that the browser rejects,
 *   `render_timeout`, `render_crashed`, `navigation_failed`
 */
export async function takePicture(
  session: PageSession,
  options: CaptureOptions,
  how: Pick<PictureOrder, 'deadline' | 'encodes' | 'debug'> & { scroll: ScrollReport | null },
): Promise<Picture> {
  const order: PictureOrder = { session, options, deadline: how.deadline, encodes: how.encodes, debug: how.debug };
  const { format } = options;
  if (format === 'pdf') return options.pdf === null ? takePdf(order, how.scroll) : takePagedPdf(order, options.pdf);
  const encoding = encodingOf(options, format);
  if (options.omitBackground) await clearBackground(order);
  if (options.selector !== null) return takeElement(order, options.selector, encoding);
  if (options.clip !== null) return takeClip(order, options.clip, encoding);
  if (how.scroll !== null && options.fullPage) return takeFullPage(order, how.scroll, encoding);
  return takeView(order, encoding);
}

/** What the page itself does not paint stays transparent. */
async function clearBackground({ session, deadline }: PictureOrder): Promise<void> {
  const color = { r: 0, g: 0, b: 0, a: 0 };
  await within(session, deadline, () => session.cdp.send('Emulation.setDefaultBackgroundColorOverride', { color }));
}
