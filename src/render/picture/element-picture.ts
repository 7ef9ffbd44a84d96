import type { Locator } from 'playwright-core';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions, ImageFormat } from '../../contract/capture-request.js';
import { monotonicNow } from '../deadlines.js';
import type { ElementBox } from '../in-page/boxes.js';
import type { ForeignPlace } from '../in-page/deep-selector.js';
import type { PageExtent } from '../in-page/scroll.js';
import { pickElement } from '../page/main-world.js';
import type { TimedPage } from '../page/page-clock.js';
import { boundedPage, type PageSession } from '../page-session.js';
import { arrangeParts, END_WAIT_MS, type ScrollOptions, SHOWN_MS, waitForReaction } from './full-page.js';
import { type ArrangedRegion, fitRegion, measurePage, type PictureTask } from './region-picture.js';

/** The in-page program cannot reach frames of another origin: playwright-core finds elements there, within this time. */
const FIND_MAX_MS = 2_000;

/**
 * Prepares the page for a picture of one element as a whole, even if it is larger than the view. Fixed elements do not cover it, unless it is one of
 * them.
 * @throws CaptureError `render_incomplete` when no match is visible, `invalid_request` when the browser rejects the selector
 */
export async function arrangeElement(
  task: PictureTask,
  selector: string,
  format: ImageFormat,
): Promise<ArrangedRegion> {
  const { page, options } = task;
  const find = async () => {
    const box = await findElement(task, selector);
    const measured = await measurePage(page);
    return { page: measured, box: paddedBox(box, options.padding, measured) };
  };
  const region = await fitRegion(task, format, find, true);
  const { scrollY, viewHeight } = region.page;
  const { apart } = await arrangeParts(task, region, {
    keep: 'none',
    down: Math.max(0, region.box.bottom - scrollY - viewHeight),
  });
  return { region, apart, algorithm: 'element', stoppedReason: 'element', truncated: false };
}

/**
 * Scrolls to an element and through it, so that its lazy content loads, then waits until the page is idle. An element in
 * view costs two frames. A missing element is reported later, by `arrangeElement`.
 * @param options.index the number of visible matches before the element
 * @throws CaptureError `render_timeout` when the page stops responding, `render_crashed`, `navigation_failed`
 */
export async function scrollToElement(
  timed: TimedPage,
  options: Pick<CaptureOptions, ElementField>,
  scrolling: ScrollOptions & { index?: number },
): Promise<void> {
  const page = boundedPage(timed.session, scrolling.deadline + END_WAIT_MS);
  const { selector, selectorFunction: code } = options;
  if (selector === null) return;
  if (code !== null) await pickElement(timed, code);
  const before = await page.call('scroll.measure');
  const since = performance.now();
  const find = () => page.call('element.mark', selector, whichOf(options, scrolling.index));
  let sighting = await find();
  if ('problem' in sighting && sighting.problem === 'not_visible' && (await page.call('element.approach', selector))) {
    await waitForReaction(timed, since, { ms: SHOWN_MS });
    sighting = await find();
    if ('problem' in sighting) await page.call('scroll.step', { to: before.scrollY, left: before.scrollX });
  }
  if ('place' in sighting && sighting.place !== null) {
    await (await locatorOf(timed.session, sighting.place))
      .scrollIntoViewIfNeeded({ timeout: FIND_MAX_MS })
      .catch(() => undefined);
    await waitForReaction(timed, since);
    return await scrolling.waitForIdle();
  }
  if (!('box' in sighting)) return;
  const { bottom } = sighting.box;
  const { viewHeight, scrollY } = await page.call('scroll.measure');
  const isSeen = bottom <= scrollY + viewHeight + 1 || (await page.call('scroll.isStill'));
  if (isSeen && scrollY === before.scrollY && timed.network.loading(since) === 0) return;
  await waitForReaction(timed, since);
  const step = async (to: number) => {
    const stepped = performance.now();
    await page.call('scroll.step', { to });
    await waitForReaction(timed, stepped);
  };
  // Its parts may be shown only in the middle of the view.
  for (
    let at = scrollY;
    !isSeen && at + viewHeight < bottom && monotonicNow() < scrolling.deadline;
    at += viewHeight / 2
  )
    await step(at + viewHeight / 2);
  if (!isSeen) await step(scrollY);
  await scrolling.waitForIdle();
}

/** Adds `padding` CSS px around the box, within the page. */
export function paddedBox(
  box: ElementBox,
  padding: number,
  page: Pick<PageExtent, 'left' | 'top' | 'right' | 'pageHeight'>,
): ElementBox {
  return {
    left: Math.min(box.left, Math.max(page.left, box.left - padding)),
    top: Math.min(box.top, Math.max(page.top, box.top - padding)),
    right: Math.max(box.right, Math.min(page.right, box.right + padding)),
    bottom: Math.max(box.bottom, Math.min(page.top + page.pageHeight, box.bottom + padding)),
  };
}

/**
 * The box of the first visible match, in CSS px of the page.
 * @throws CaptureError as `arrangeElement`
 */
export async function findElement(
  { page, session, options, index = 0 }: PictureTask,
  selector: string,
): Promise<ElementBox> {
  const sighting = await page.call('element.mark', selector, whichOf(options, index));
  const field = selectorField(options);
  if ('box' in sighting) return sighting.box;
  if (sighting.problem === 'invalid_selector') {
    throw new CaptureError({
      code: 'invalid_request',
      message: `\`${field}\` is not a CSS selector that the browser understands: ${sighting.message}`,
      details: { issues: [{ path: field, message: sighting.message }] },
    });
  }
  const { problem, matches } = sighting;
  const details = { check: 'selector', selector, seen: problem, matches };
  if (problem === 'frame_of_another_origin') {
    const { place, shown } = sighting;
    const box =
      place === null ? null : await boxOfForeign(session, place, { shown, extent: await page.call('scroll.measure') });
    if (box !== null) return box;
  }
  const isForeign = problem === 'frame_of_another_origin';
  const judged =
    'judged' in sighting && sighting.judged < matches
      ? `none of the first ${sighting.judged} was visible`
      : 'none was visible';
  const matched = problem === 'not_found' ? 'No element matched.' : `${matches} elements matched, ${judged}.`;
  throw new CaptureError({
    code: 'render_incomplete',
    message: isForeign
      ? `The element of \`${field}\` was not visible in the frame of another origin. Select the frame itself, or capture its address; \`delay\` may help.`
      : `The element of \`${field}\` was not visible. ${matched} \`wait_for_selector\` or \`delay\` may help.`,
    retriable: !isForeign,
    details,
  });
}

type ElementField = 'selector' | 'selectorUnion' | 'selectorFunction';

function whichOf({ selectorUnion }: Pick<CaptureOptions, ElementField>, index = 0): number | 'all' {
  return selectorUnion === null ? index : 'all';
}

/** The field of the request that names the element. */
function selectorField({ selectorUnion, selectorFunction }: CaptureOptions): string {
  if (selectorFunction !== null) return 'selector_function';
  return selectorUnion === null ? 'selector' : 'selector_union';
}

/**
 * The visible part of the element's box, in CSS px of the page.
 * @param on.shown the part of the page in which the frame shows its document
 * @returns null if no match is visible there
 * @throws CaptureError `render_crashed`
 */
async function boxOfForeign(
  session: PageSession,
  place: ForeignPlace,
  { shown, extent: { scrollX, scrollY } }: { shown: ElementBox; extent: PageExtent },
): Promise<ElementBox | null> {
  const box = await (await locatorOf(session, place)).boundingBox({ timeout: FIND_MAX_MS }).catch(() => {
    session.lost.throwIfAborted();
    return null;
  });
  if (box === null) return null;
  const left = Math.max(shown.left, box.x + scrollX);
  const top = Math.max(shown.top, box.y + scrollY);
  const right = Math.min(shown.right, box.x + scrollX + box.width);
  const bottom = Math.min(shown.bottom, box.y + scrollY + box.height);
  return right > left && bottom > top ? { left, top, right, bottom } : null;
}

async function locatorOf(
  { page, allowEvaluation }: PageSession,
  { frame, index, rest }: ForeignPlace,
): Promise<Locator> {
  await allowEvaluation();
  const inside = page.locator(`css=${frame}`).nth(index).contentFrame();
  return inside
    .locator(rest.map((part) => `css=${part}`).join(' >> '))
    .filter({ visible: true })
    .first();
}
