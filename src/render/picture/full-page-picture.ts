import type { ImageFormat } from '../../contract/capture-request.js';
import { resumePage, stopPage } from '../page/page-clock.js';
import type { BoundedPage } from './bounded-page.js';
import type { Encoding } from './encode.js';
import type { Picture, PictureOrder } from './picture.js';
import { fitRegion, measurePage, type RangesApart, type Region, type RegionReason, takeRegion } from './region-picture.js';
import { capturedHeight, pageColumns, type ScrollReport, waitForReaction } from './scroll-through.js';

/** Captures the whole page in bands that are joined without a seam. `by_sections` first moves pinned elements to their final position. */
export async function takeFullPage(order: PictureOrder, scroll: ScrollReport, encoding: Encoding): Promise<Picture> {
  const { region, found, ...how } = await arrangeFullPage(order, scroll, encoding.format);
  return { ...(await takeRegion(order, region, { ...how, encoding })), ...found };
}

interface FullPage extends RegionReason {
  region: Region;
  apart: RangesApart | undefined;
  found: Pick<Picture, 'lacksContent' | 'cut'>;
}

/**
 * Prepares the page for a picture of all of it.
 * @param format the one whose limits apply
 */
export async function arrangeFullPage(order: PictureOrder, scroll: ScrollReport, format: ImageFormat): Promise<FullPage> {
  const { page, debug } = order;
  const { fullWidth, maxHeight, fullPageAlgorithm: algorithm } = order.options;
  const bySections = algorithm === 'by_sections';
  await page.call('scrollers.expandAgain');
  const region = await fitRegion(order, format, async () => {
    const measured = await measurePage(page);
    const { left, right } = fullWidth ? pageColumns(measured) : measured.view;
    return { page: measured, box: { left, right, top: 0, bottom: capturedHeight(scroll, measured.pageHeight, maxHeight) } };
  });
  const { viewHeight, pageHeight } = region.page;
  const { bottom } = region.box;
  if (bySections) await page.call('pin.place', { first: true, keep: 'page', down: Math.max(0, bottom - viewHeight) });
  debug?.note({ step: 'pinned', elements: await page.call('pin.roles') });
  const { pageRanges, isAll } = bySections ? await page.call('virtualised.missingRanges') : { pageRanges: [], isAll: true };
  const lacks = !isAll || (bySections ? await page.call('transformedContent.hidesPart') : await lacksContent(page));
  const isShorter = bottom < pageHeight - 0.5;
  // The page may have grown beyond the requested height since it was scrolled through.
  const byRequest = isShorter && !region.isCut && scroll.stoppedReason === 'end_of_page';
  return {
    region,
    algorithm,
    stoppedReason: byRequest ? 'max_height' : scroll.stoppedReason,
    truncated: isShorter || scroll.stoppedReason !== 'end_of_page' || lacks,
    apart: pageRanges.length === 0 ? undefined : { ranges: pageRanges, showAt: (top) => showAt(order, bottom, top) },
    found: { lacksContent: lacks, ...sideCut(region) },
  };
}

/** Whether the page, at its top, shows less than it has shown elsewhere. */
export async function lacksContent(page: BoundedPage): Promise<boolean> {
  return (await page.call('virtualised.lacksContent')) || (await page.call('transformedContent.hidesPart'));
}

/** Lets the page show what it has at this scroll position, and stops it again. */
async function showAt(order: PictureOrder, pictureHeight: number, top: number): Promise<void> {
  const { page, session, options } = order;
  await resumePage(session);
  const since = performance.now();
  await page.call('virtualised.scrollListsTo', top);
  await page.call('scroll.step', { to: top });
  if (top > 0) await waitForReaction(order, since);
  // A script that throttles its scroll handler starts transitions late, which would be captured half-way.
  await page.call('frames.endMotion');
  await stopPage(session, options);
  const { scrollY, viewHeight } = await page.call('scroll.measure');
  await page.call('pin.place', { first: scrollY < 0.5, keep: 'page', down: Math.max(0, pictureHeight - scrollY - viewHeight) });
}

function sideCut({ page, box }: Region): Pick<Picture, 'cut'> {
  const pageWidth = page.right - page.left;
  const shownWidth = box.right - box.left;
  if (pageWidth < shownWidth + 1) return {};
  return { cut: { pageWidth: Math.round(pageWidth), shownWidth: Math.round(shownWidth), side: page.left < 0 ? 'left' : 'right' } };
}
