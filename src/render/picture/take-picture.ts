/**
 * Takes the pictures of a prepared page, each as if it were the only one: of the view, the whole page, one element, or as PDF.
 * Knows nothing of checks or jobs.
 */

import type { CaptureWarning } from '../../contract/capture-data.js';
import { CaptureError } from '../../contract/capture-error.js';
import {
  type CaptureOptions,
  type ClipOption,
  type ImageFormat,
  isImageFormat,
} from '../../contract/capture-request.js';
import { DOCUMENT_MAX_CHARS, PICTURES_MAX_BYTES } from '../../contract/limits.js';
import { numbered, type RequestedPicture } from '../../contract/page-loads.js';
import { monotonicNow } from '../deadlines.js';
import { type Encoding, encodingOf } from '../encode/encode.js';
import { BAND_PIXELS, SHOT_MAX_PIXELS } from '../memory.js';
import type { OpenPage } from '../page/open-page.js';
import { resumePage, stopPage, type TimedPage } from '../page/page-clock.js';
import { boundedPage } from '../page-session.js';
import { takeAnimation } from './animation.js';
import { arrangeElement } from './element-picture.js';
import { arrangeFullPage, arrangeParts, type ScrollReport } from './full-page.js';
import { isMasked } from './mask.js';
import { isPrinted, prepareToPrint, putBackSeen, takePagedPdf, takePdf } from './pdf-picture.js';
import {
  type ArrangedRegion,
  encodeShots,
  finalShot,
  fitDensity,
  fitRegion,
  measurePage,
  type Picture,
  type PictureTask,
  regionInView,
  setDensity,
  takeRegion,
  takeShot,
} from './region-picture.js';

/** The changes that a picture needs in its page, from the fewest to the most. */
const KINDS = ['view', 'element', 'clip', 'clip below', 'full page', 'pdf'] as const;
type Kind = (typeof KINDS)[number];

/** One of the pictures of a page. */
interface PlannedPicture extends RequestedPicture {
  /** Its index among the requested pictures. */
  place: number;
  kind: Kind;
}

/** Pictures that are taken of the page while it is stopped once. */
export interface PictureGroup {
  pictures: PictureToTake[];
  /** The options with which the page is scrolled, checked and stopped. */
  options: CaptureOptions;
  /** Whether the page is scrolled through before. */
  scrolls: boolean;
  isFirst: boolean;
  isLast: boolean;
}

/**
 * Plans the pictures so that each shows the page as if it were the only one: the view comes before the page is scrolled, and what changes
 * the page most comes last.
 */
export function groupPictures(ordered: readonly RequestedPicture[]): PictureGroup[] {
  const planned = ordered.map(
    (picture, place): PlannedPicture => ({ ...picture, place, kind: kindOf(picture.options) }),
  );
  const groups = new Map<number, PlannedPicture[]>();
  for (const picture of planned.toSorted((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind))) {
    const key = Math.min(KINDS.indexOf(picture.kind), SCROLLED);
    groups.set(key, [...(groups.get(key) ?? []), picture]);
  }
  return [...groups].map(([key, pictures], index) => ({
    pictures,
    options: optionsOf(pictures),
    scrolls: key === SCROLLED,
    isFirst: index === 0,
    isLast: index === groups.size - 1,
  }));
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

const MOTION_MAX_MS = 1_000;

/** Stops a page that has been scrolled as far as needed, unless its pictures move. */
export async function stopForPictures(
  page: TimedPage,
  { options, scrolls }: Pick<PictureGroup, 'options' | 'scrolls'>,
  deadline: number,
) {
  const { world } = page;
  if (options.clip !== null && !scrolls)
    await withinMotion(
      page,
      deadline,
      world.call('scrollers.expandAll', { wide: false, reportsSize: page.reportsSize }),
    );
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

/** Lets the page's scripts run again, and dispatches `afterprint`. */
export async function endPrint({ session, world }: TimedPage): Promise<void> {
  await resumePage(session);
  await world.call('print.announce', 'afterprint');
}

/** Animations and frames that are late are captured as they are. */
export async function withinMotion({ deadlines }: TimedPage, deadline: number, work: Promise<unknown>): Promise<void> {
  await deadlines.within(work, Math.min(MOTION_MAX_MS, deadline - monotonicNow()));
}

/** A picture that was taken, with what was tolerated for it. */
export interface TakenPicture {
  name: string | null;
  options: CaptureOptions;
  picture: Picture;
  tolerated: CaptureWarning[];
}

export type Taken = [TakenPicture, ...TakenPicture[]];

/** One picture to take: one of a group, or of one of the elements that a `selector_all` matches. */
export interface PictureToTake extends PlannedPicture {
  /** The number of visible matches of its selector before its element. */
  index?: number;
  /** Whether the page need not be scrolled for it. */
  isInView?: boolean;
}

/** Finds the elements of several pictures. If a selector matches none, the error is raised when its picture is taken, as in a request for one picture. */
export async function findElements({ world }: OpenPage, pictures: readonly PlannedPicture[]): Promise<PictureToTake[]> {
  const found: PictureToTake[] = [];
  for (const picture of pictures) {
    const { all, name, options } = picture;
    const { selector, selectorUnion, selectorFunction } = options;
    const inView =
      selector === null || selectorUnion !== null || selectorFunction !== null
        ? []
        : await world.call('element.survey', selector, all ?? 1);
    for (const [index, isInView] of (inView.length === 0 ? [false] : inView).entries()) {
      found.push({ ...picture, index, isInView, name: all === null ? name : numbered(name, index) });
    }
  }
  return found;
}

/**
 * A picture of the view in place of one of an element or clip that does not exist, if `tolerate` allows that.
 * @param taking the picture
 * @throws the error of `taking`, which names the picture
 */
export async function takeOrFallBackToView(
  page: OpenPage,
  { name, options }: PictureToTake,
  taking: Promise<Picture>,
  inputs: PictureInputs,
): Promise<TakenPicture> {
  const tolerated: CaptureWarning[] = [];
  const picture = await taking.catch(async (error: unknown) => {
    await collectWarnings(page, { name, tolerated }, async () => page.tolerance.orThrow(naming(error, name)));
    const scroll = options.fullPage ? inputs.scroll : null;
    const view = { ...options, selector: null, selectorUnion: null, selectorFunction: null, clip: null };
    return await takePicture(page, view, { ...inputs, scroll });
  });
  return { name, options, picture, tolerated };
}

/** Pictures that were taken, of which the last two may still be encoded while the browser takes the next. */
export class TakenPictures {
  readonly #all: { place: number; taking: Promise<TakenPicture> }[] = [];
  #bytes: number;
  #shot: Promise<void> = Promise.resolve();

  constructor(heldBytes: number) {
    this.#bytes = heldBytes;
  }

  /**
   * Waits until another picture may be taken.
   * @returns called when the browser has taken it, and only its encoding is left
   */
  async next({ name }: PictureToTake): Promise<() => void> {
    await this.#all.at(-2)?.taking;
    if (this.#bytes > PICTURES_MAX_BYTES) throw naming(tooManyBytes(), name);
    let onShot = (): void => {};
    this.#shot = new Promise<void>((resolve) => {
      onShot = resolve;
    });
    return onShot;
  }

  /** Resolves once the browser has taken the picture, or has taken and encoded it if that is not reported. */
  async add({ place }: PictureToTake, taking: Promise<TakenPicture>): Promise<void> {
    const counted = taking.then((taken) => {
      this.#bytes += taken.picture.content.byteLength;
      return taken;
    });
    this.#all.push({ place, taking: counted });
    await Promise.race([this.#shot, counted]);
    // If another picture fails first, nobody waits for this one.
    counted.catch(() => undefined);
  }

  /** All of them, in the order of the request. */
  async all(): Promise<Taken> {
    const ordered = this.#all.toSorted((one, other) => one.place - other.place);
    const [first, ...others] = await Promise.all(ordered.map(({ taking }) => taking));
    if (first === undefined) throw new Error('a page load has no pictures');
    return [first, ...others];
  }
}

function tooManyBytes(): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `Earlier pictures of this request total more than ${PICTURES_MAX_BYTES / 1_000_000} MB. Request fewer or smaller pictures.`,
    retriable: false,
    details: { check: 'bytes', required: PICTURES_MAX_BYTES },
  });
}

/** Undoes what was changed for a picture, so that the next one shows the page without it. */
export async function undoPicture(
  { session }: OpenPage,
  { kind, options }: PlannedPicture,
  deadline: number,
): Promise<void> {
  const page = boundedPage(session, deadline);
  if (options.omitBackground) await page.send('Emulation.setDefaultBackgroundColorOverride', {});
  if (kind === 'view' || kind === 'clip') return;
  await page.call('undo.restore');
}

/** Runs a step of one picture: its failure names the picture, and it notes what was tolerated. */
export async function collectWarnings(
  page: OpenPage,
  taken: Pick<TakenPicture, 'name' | 'tolerated'>,
  step: () => Promise<void>,
): Promise<void> {
  const { warnings } = page.tolerance;
  const before = warnings.length;
  await step().catch((error: unknown) => Promise.reject(naming(error, taken.name)));
  taken.tolerated.push(...warnings.slice(before));
}

/** Names the picture that an error is about, where there are several. */
function naming(error: unknown, name: string | null): unknown {
  if (!(error instanceof CaptureError) || name === null || error.details?.capture !== undefined) return error;
  return error.with({ message: `Picture "${name}": ${error.message}`, details: { capture: name } });
}

interface PictureInputs extends Pick<PictureTask, 'deadline' | 'encodes' | 'pdfs' | 'onArranged' | 'index' | 'onShot'> {
  /** The result of scrollThrough; null if the page was not scrolled through. */
  scroll: ScrollReport | null;
  /** For animated pictures. */
  animation?: Omit<Parameters<typeof takeAnimation>[2], 'animate'>;
}

/**
 * Takes the picture requested by the options.
 * @param options.deadline ms by `monotonicNow`
 * @throws CaptureError `render_incomplete` when the element is never visible, `invalid_request` for a selector that the
 * browser rejects, `render_timeout`, `render_crashed`, `navigation_failed`
 */
export async function takePicture(
  timed: TimedPage,
  options: CaptureOptions,
  { scroll, animation, ...inputs }: PictureInputs,
): Promise<Picture> {
  const { animate } = options;
  if (animate !== null && animation !== undefined) return takeAnimation(timed, options, { ...animation, animate });
  const { deadline } = inputs;
  const page = boundedPage(timed.session, deadline);
  const task: PictureTask = { ...timed, ...inputs, options, page, begun: performance.now() };
  const { format, selector, clip, omitBackground } = options;
  if (options.document === 'html') return takeMarkup(task);
  if (format === 'pdf' && options.pdf !== null) return takePagedPdf(task, options.pdf);
  if (format === 'pdf' && scroll !== null) return takePdf(task, scroll);
  if (!isImageFormat(format)) throw new Error(`\`format\` ${format} cannot be taken here: an image format is expected`);
  const encoding = encodingOf(options, format);
  // Areas that the page does not paint stay transparent.
  if (omitBackground)
    await page.send('Emulation.setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } });
  if (selector !== null) return await takeRegion(task, await arrangeElement(task, selector, format), encoding);
  if (clip !== null)
    return await takeRegion(task, await arrangeClip(task, { clip, isScrolled: scroll !== null, format }), encoding);
  if (scroll !== null && options.fullPage)
    return await takeRegion(task, await arrangeFullPage(task, scroll, format), encoding);
  const { density } = fitDensity(options.view, options.view.deviceScaleFactor, format);
  const view = { ...task, options: { ...options, view: { ...options.view, deviceScaleFactor: density } } };
  // A mask is painted on raw pixels, which need much memory.
  const large = await arrangeView(view, isMasked(task) ? BAND_PIXELS : SHOT_MAX_PIXELS);
  return large === null ? await takeView(view, encoding) : await takeRegion(view, large, encoding);
}

/**
 * Prepares the page for a picture of its view.
 * @param mostPixels the maximum number of pixels of one shot
 * @returns null if one shot is enough
 */
export async function arrangeView(task: PictureTask, mostPixels: number): Promise<ArrangedRegion | null> {
  const { page } = task;
  const { view } = task.options;
  const density = view.deviceScaleFactor;
  // Otherwise Chromium changes the density for each capture and back, which computes all styles twice (bytedance/UI-TARS-desktop#551).
  await setDensity(page, view, { scale: density });
  if (view.width * view.height * density ** 2 <= mostPixels) return null;
  const measured = await measurePage(page);
  // A phone that shows a whole desktop page places its fixed elements elsewhere in captures beyond the view.
  if (measured.zoom !== 1) return null;
  const { scrollX: left, scrollY: top, view: shown } = measured;
  const box = { left, right: left + shown.right - shown.left, top, bottom: top + shown.height };
  const region = regionInView(task, measured, box);
  return { region, algorithm: 'native', stoppedReason: 'viewport', truncated: false, sections: 1, mostPixels };
}

/** Captures the current view at once. */
export async function takeView(task: PictureTask, encoding: Encoding): Promise<Picture> {
  await task.onArranged?.(null);
  const [shot, metrics] = await Promise.all([
    takeShot(task, finalShot(encoding)),
    task.page.send('Page.getLayoutMetrics'),
  ]);
  return {
    ...(await encodeShots(task, shot, encoding)),
    diagnostics: {
      algorithm: 'native',
      sections: 1,
      deviceScaleFactor: task.options.view.deviceScaleFactor,
      scrollHeight: Math.ceil(metrics.cssContentSize.height),
      stoppedReason: 'viewport',
      truncated: false,
    },
  };
}

/**
 * Prepares the page for a picture of a part of it, wherever that is. Areas outside the page are omitted.
 * @throws CaptureError `render_incomplete` when the page has no content there
 */
async function arrangeClip(
  task: PictureTask,
  { clip, isScrolled, format }: { clip: ClipOption; isScrolled: boolean; format: ImageFormat },
): Promise<ArrangedRegion> {
  const { page } = task;
  const [right, bottom] = [clip.x + clip.width, clip.y + clip.height];
  await page.call('scrollers.expandAgain');
  const region = await fitRegion(task, format, async () => {
    const measured = await measurePage(page);
    const { view, viewHeight, pageHeight } = measured;
    const width = Math.max(measured.right, view.right);
    const box = {
      left: clip.x,
      top: clip.y,
      right: Math.min(right, width),
      bottom: Math.min(bottom, measured.top + Math.max(pageHeight, viewHeight)),
    };
    if (box.right - clip.x < 0.5 || box.bottom - clip.y < 0.5) throw outside(clip, { width, height: pageHeight });
    return { page: measured, box };
  });
  const truncated = region.box.right < right - 0.5 || region.box.bottom < bottom - 0.5;
  const apart = isScrolled ? (await arrangeParts(task, region, { keep: 'view', down: 0 })).apart : undefined;
  return { region, apart, algorithm: 'native', stoppedReason: 'viewport', truncated };
}

function outside(clip: ClipOption, page: { width: number; height: number }): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `\`clip\` begins at ${clip.x},${clip.y}, outside of the page, which is ${page.width} × ${page.height} CSS px.`,
    retriable: false,
    details: { check: 'clip', clip, page },
  });
}

/** A part of up to 6 bytes for each character is shorter than the longest answer of a page. */
const PART_CHARS = 500_000;

/**
 * Reads the text of the document.
 * @throws CaptureError `render_incomplete` for a document longer than DOCUMENT_MAX_CHARS; as BoundedPage
 */
export async function readMarkup(page: PictureTask['page']): Promise<Buffer> {
  const parts: string[] = [];
  for (let from = 0, part = ''; from === 0 || part !== ''; from += part.length) {
    part = await page.call('markup.part', from, PART_CHARS);
    if (from + part.length > DOCUMENT_MAX_CHARS) throw documentTooLong();
    parts.push(part);
    if (part.length < PART_CHARS - 1) break;
  }
  return Buffer.from(parts.join(''));
}

/** The text of the document in place of a picture. */
async function takeMarkup({ page, options, begun }: PictureTask): Promise<Picture> {
  const content = await readMarkup(page);
  const { width, height, deviceScaleFactor } = options.view;
  return {
    content,
    width,
    height,
    diagnostics: {
      algorithm: 'native',
      sections: 0,
      deviceScaleFactor,
      scrollHeight: height,
      stoppedReason: 'end_of_page',
      truncated: false,
    },
    timings: { begun, shoot: performance.now() - begun, encode: 0 },
  };
}

function documentTooLong(): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `The document has more than ${DOCUMENT_MAX_CHARS} characters.`,
    retriable: false,
    details: { check: 'document', required: DOCUMENT_MAX_CHARS },
  });
}
