/** In which order the pictures of one page are taken, and which of them can be taken of one stopped page. */
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { PictureOrdered } from '../../contract/page-loads.js';

/** The changes that a picture needs in its page, from the fewest to the most. */
type Kind = 'view' | 'element' | 'clip' | 'clip below' | 'full page' | 'pdf';
const KINDS: readonly Kind[] = ['view', 'element', 'clip', 'clip below', 'full page', 'pdf'];

/** One of the pictures of a page. */
export interface PlannedPicture extends PictureOrdered {
  /** Its place among the pictures that were asked for. */
  place: number;
  kind: Kind;
}

/** Pictures that are taken of the page while it is stopped once. */
export interface PictureGroup {
  pictures: PlannedPicture[];
  /** The options with which the page is scrolled, checked and stopped. */
  options: CaptureOptions;
  /** Whether the page is scrolled through before. */
  scrolls: boolean;
}

/**
 * Plans the pictures so that each shows the page as if it were the only one: the view comes before the page is scrolled, and what changes
 * the page most comes last.
 */
export function groupPictures(ordered: readonly PictureOrdered[]): PictureGroup[] {
  const planned = ordered.map((picture, place): PlannedPicture => ({ ...picture, place, kind: kindOf(picture.options) }));
  const groups = new Map<number, PlannedPicture[]>();
  for (const picture of planned.toSorted((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind))) {
    const key = Math.min(KINDS.indexOf(picture.kind), SCROLLED);
    groups.set(key, [...(groups.get(key) ?? []), picture]);
  }
  return [...groups].map(([key, pictures]) => ({ pictures, options: optionsOf(pictures), scrolls: key === SCROLLED }));
}

/** The first kind before which the page is scrolled through. */
const SCROLLED = KINDS.indexOf('clip below');

function kindOf({ selector, clip, fullPage, format, view, animate }: CaptureOptions): Kind {
  if (animate?.scroll === true) return 'full page';
  if (selector !== null) return 'element';
  if (format === 'pdf') return 'pdf';
  // Content below the view may load only when it is scrolled to.
  if (clip !== null && animate !== null) return 'clip';
  if (clip !== null) return fullPage || clip.y + clip.height > view.height ? 'clip below' : 'clip';
  return fullPage ? 'full page' : 'view';
}

/** The options of the only picture, or those with which the page is prepared for all of them. */
function optionsOf([first, ...others]: readonly PlannedPicture[]): CaptureOptions {
  if (first === undefined) throw new Error('a group has pictures');
  if (others.length === 0 || KINDS.indexOf(first.kind) < SCROLLED) return first.options;
  const all = [first, ...others].map(({ options }) => options);
  const heights = all.map(({ maxHeight }) => maxHeight);
  return {
    ...first.options,
    clip: null,
    fullPage: true,
    fullWidth: all.some(({ fullWidth }) => fullWidth),
    maxHeight: heights.includes(null) ? null : Math.max(...heights.map(Number)),
    format: all.every(({ format }) => format === first.options.format) ? first.options.format : 'png',
  };
}
