import { CaptureError } from '../../contract/capture-error.js';
import type { ElementBox } from '../in-page/parts.js';
import type { PageExtent } from '../in-page/scroll.js';
import type { PageSession } from '../page-session.js';
import { takeBands } from './bands.js';
import { type BoundedPage, boundedPage } from './bounded-page.js';
import type { Encoding } from './encode.js';
import { encodeSections } from './encode-sections.js';
import { fitDensity } from './fit-density.js';
import { boxOfForeign } from './foreign-element.js';
import { placePinned } from './full-page-picture.js';
import { setDensity } from './metrics.js';
import type { Picture, PictureOrder } from './picture.js';
import { SectionStore } from './section-store.js';

/**
 * Captures one element as a whole, even if it is larger than the view. Fixed elements do not cover it, unless it is one of
 * them.
 * @throws CaptureError `render_incomplete` when no match is visible, `invalid_request` when the browser rejects the selector
 */
export async function takeElement(order: PictureOrder, selector: string, encoding: Encoding): Promise<Picture> {
  const { session, options, deadline } = order;
  const begun = performance.now();
  await using store = await SectionStore.open(session.temporaryDir, encoding.transparent, order.debug);
  const page = boundedPage(session, deadline);
  const { box: own, density, limited } = await findAtDensity(order, { page, selector, encoding });
  const extent = await page.call('scroll.measure');
  const { viewHeight, zoom, pageHeight, scrollX, scrollY } = extent;
  const box = addPadding(own, options.padding, extent);
  const ratio = density * zoom;
  const cut = fitDensity({ width: (box.right - box.left) * zoom, height: (box.bottom - box.top) * zoom }, density, encoding.format);
  await placePinned(page, { first: true, keep: 'none', down: Math.max(0, box.bottom - scrollY - viewHeight) });
  const plan = {
    from: box.top,
    to: box.top + cut.height / zoom,
    columns: { left: box.left, right: box.right },
    scrollX,
    zoom,
    ratio,
    lastStart: deadline - 1_000,
    deadline,
  };
  const taken = await takeBands({ session, store }, plan);
  const encoded = await encodeSections(order, store, { encoding, begun });
  const whole = taken.whole && cut.height >= (box.bottom - box.top) * zoom - 0.5;
  return {
    ...encoded,
    diagnostics: {
      algorithm: 'element',
      sections: taken.count,
      deviceScaleFactor: density,
      scrollHeight: pageHeight,
      stoppedReason: taken.whole ? (limited ? 'format_limit' : 'element') : 'time_limit',
      truncated: !whole,
    },
  };
}

/** Adds `padding` CSS px around the box, within the page. */
function addPadding(box: ElementBox, padding: number, page: Pick<PageExtent, 'left' | 'right' | 'pageHeight'>): ElementBox {
  if (padding === 0) return box;
  return {
    left: Math.min(box.left, Math.max(page.left, box.left - padding)),
    top: Math.min(box.top, Math.max(0, box.top - padding)),
    right: Math.max(box.right, Math.min(page.right, box.right + padding)),
    bottom: Math.max(box.bottom, Math.min(page.pageHeight, box.bottom + padding)),
  };
}

async function findAtDensity(
  order: PictureOrder,
  how: { page: BoundedPage; selector: string; encoding: Encoding },
): Promise<{ box: ElementBox; density: number; limited: boolean }> {
  const { session, deadline } = order;
  const { view } = order.options;
  let density = view.deviceScaleFactor;
  for (let limited = false; ; limited = true) {
    await setDensity(session, { view, density, deadline });
    const box = await find(session, how.page, how.selector);
    const fit = fitDensity({ width: box.right - box.left, height: box.bottom - box.top }, density, how.encoding.format);
    if (fit.density === density) return { box, density, limited: limited || fit.limited };
    density = fit.density;
  }
}

async function find(session: PageSession, page: BoundedPage, selector: string): Promise<ElementBox> {
  const sighting = await page.call('element.mark', selector);
  if ('box' in sighting) return sighting.box;
  if (sighting.problem === 'invalid_selector') {
    throw new CaptureError({
      code: 'invalid_request',
      message: `\`selector\` is not a CSS selector that the browser understands: ${sighting.message}`,
      details: { issues: [{ path: 'selector', message: sighting.message }] },
    });
  }
  if (sighting.problem === 'frame_of_another_origin') {
    const { place, shown } = sighting;
    const box = place === null ? null : await boxOfForeign(session, place, { shown, extent: await page.call('scroll.measure') });
    if (box !== null) return box;
    throw new CaptureError({
      code: 'render_incomplete',
      message:
        'The element of `selector` was not visible in the frame of another origin. Select the frame itself, or capture its address; `delay` may help.',
      retriable: false,
      details: { check: 'selector', selector, seen: sighting.problem, matches: sighting.matches },
    });
  }
  const seen = sighting.problem === 'not_found' ? 'No element matched.' : `${sighting.matches} elements matched, none was visible.`;
  throw new CaptureError({
    code: 'render_incomplete',
    message: `The element of \`selector\` was not visible. ${seen} \`wait_for_selector\` or \`delay\` may help.`,
    details: { check: 'selector', selector, seen: sighting.problem, matches: sighting.matches },
  });
}
