/**
 * Captures a rectangle of a stopped page as pictures of the view at successive scroll positions, which are joined. Never beyond the
 * view: for such a capture, Chromium lays the page out at 1 × 1 px and back (crbug.com/40761854), so that breakpoints flip and
 * transitions start.
 */

import { setImmediate } from 'node:timers/promises';
import type { RenderDiagnostics } from '../../contract/capture-data.js';
import type { CaptureOptions, ImageFormat, PdfOption, View } from '../../contract/capture-request.js';
import { AVIF_MAX_PIXELS, FORMAT_MAX_SIDE_PX } from '../../contract/limits.js';
import type { PdfDescription } from '../../pdf/edit-pdf.js';
import type { PdfFiles } from '../../pdf/pdf-files.js';
import { monotonicNow } from '../deadlines.js';
import {
  cropped,
  type Encoded,
  type Encoding,
  encodeAside,
  joinedAcross,
  pngSize,
  readFinal,
  SectionStore,
  type Strips,
} from '../encode/encode.js';
import type { ElementBox } from '../in-page/boxes.js';
import type { PageRange } from '../in-page/missing-parts.js';
import type { Shown } from '../in-page/pin.js';
import type { PageExtent } from '../in-page/scroll.js';
import { BAND_PIXELS, type EncodeQueue } from '../memory.js';
import type { TimedPage } from '../page/page-clock.js';
import type { BoundedPage } from '../page-session.js';
import type { PictureTimes } from '../stage-times.js';
import { isMasked, paintMask, type ShotPlace } from './mask.js';

/** A finished picture. Its size is in output px; that of a PDF in CSS px of its first page. */
export interface Picture extends Encoded {
  /** The print of a page wider than its paper; absent for other pages. */
  fitted?: { scale: number; isCut: boolean };
  /** Whether the page has content that it shows only while scrolled there, and that the picture lacks. */
  lacksContent?: boolean;
  /** Whether the page numbers that a PDF shows in its text still changed with the last print; absent for others. */
  isUnsettled?: boolean;
  /** Whether an animated picture has several frames; absent for a still one. */
  isMoving?: boolean;
  /** Facts about a PDF that becomes a part of another; absent for others. */
  part?: PdfPart;
  diagnostics: RenderDiagnostics;
  /** The part of the page beside the columns of a full-page picture; absent if there is none. */
  cut?: {
    /** Widths of the whole page and of the picture, in CSS px. */
    pageWidth: number;
    shownWidth: number;
    side: 'left' | 'right';
  };
  timings: PictureTimes;
}

export interface PdfPart extends PdfDescription {
  /** The distances from the edges of its first sheet to the content, in inches. */
  margin: PdfOption['margin'];
  /** Whether it shows page numbers of its own parts. */
  isNumbered: boolean;
  /** The addresses that its table of contents links to outside of the document. */
  references: string[];
}

/** The inputs for every kind of picture. */
export interface PictureTask extends TimedPage {
  options: CaptureOptions;
  page: BoundedPage;
  /** The time limit, ms by `monotonicNow`. Captures of long pages stop early enough to be encoded. */
  deadline: number;
  /** When the picture was begun, by `performance.now()`. */
  begun: number;
  /** The process's one queue for encoding big pictures. */
  encodes: EncodeQueue;
  pdfs: PdfFiles;
  /** Called when the page is ready, with the rectangle to capture, in CSS px; null for the view. */
  onArranged?: ((area: ElementBox | null) => Promise<void>) | undefined;
  /** The number of visible matches of the selector before the element. Default: 0. */
  index?: number;
  /** Called once the browser has taken the shots, and only the encoding is left. */
  onShot?(): void;
}

/** The maximum number of pixels of a picture in any format. Beyond it, memory and time are out of proportion. */
export const PICTURE_MAX_PIXELS = 400_000_000;
/** Below this density, a page is not legible, so it is cut instead (decisions.md, Added). */
export const DENSITY_MIN = 0.5;
/** libjpeg's own limit is slightly below the format's 65,535. */
const SIDE_MAX_PX = { ...FORMAT_MAX_SIDE_PX, jpeg: 65_500 };

/** The scale of the picture while a page is only measured. */
export const MEASURE_SCALE = 0.05;

interface Fit {
  /** Output px per CSS px. */
  density: number;
  /** The height that fits, in CSS px at the page's own zoom. */
  height: number;
  /** Whether the format limited the density. */
  limited: boolean;
}

/**
 * The highest density from `wanted` down to DENSITY_MIN at which a picture fits its format, and the height that fits if none
 * does (decisions.md, render_diagnostics).
 * @param size CSS px at the page's own zoom
 */
export function fitDensity(
  { width, height }: { width: number; height: number },
  wanted: number,
  format: ImageFormat,
): Fit {
  const side = SIDE_MAX_PX[format];
  const pixels = format === 'avif' ? AVIF_MAX_PIXELS : PICTURE_MAX_PIXELS;
  const maxDensity = Math.min(side / Math.max(width, height), Math.sqrt(pixels / (width * height)));
  if (maxDensity >= wanted) return { density: wanted, height, limited: false };
  // Densities in hundredths have whole pixels at least every hundred CSS px.
  const density = Math.min(wanted, Math.max(DENSITY_MIN, Math.floor(maxDensity * 100) / 100));
  const fits = Math.min(height, Math.floor(side / density), Math.floor(pixels / (density * density * width)));
  return { density, height: fits, limited: true };
}

/**
 * Sets the viewport and density on the page session's CDP session: a capture uses the emulation of the session that requests
 * it, and ignores that of others.
 * @param options.density output pixels per CSS px
 * @param options.scale of the picture alone, so that a viewport that is only measured costs no pixels
 */
export async function setDensity(
  page: BoundedPage,
  view: View,
  { density = view.deviceScaleFactor, scale }: { density?: number; scale?: number } = {},
): Promise<void> {
  const { width, height, isMobile } = view;
  const isTurned = isMobile && width > height;
  await page.send('Emulation.setDeviceMetricsOverride', {
    mobile: isMobile,
    width,
    height,
    screenWidth: width,
    screenHeight: height,
    deviceScaleFactor: density,
    ...(scale === undefined ? {} : { scale }),
    screenOrientation: {
      type: isMobile && !isTurned ? 'portraitPrimary' : 'landscapePrimary',
      angle: isTurned ? 90 : 0,
    },
  });
}

export interface Shot {
  /** The format in which the browser encodes; png is lossless. */
  format: 'png' | 'jpeg';
  /** 1–100, jpeg only. */
  quality?: number;
  /** Whether to encode a larger PNG in less time. */
  fast?: boolean;
}

/**
 * The shot that needs no further encoding; null if the browser cannot make it. Its webp encoder would block the browser
 * process for longer than png and sharp's webp take together.
 */
export function finalShot({ format, quality, resize, rotate, palette }: Encoding): Shot | null {
  if (format !== 'png' && format !== 'jpeg') return null;
  if (resize !== null || rotate !== null || palette !== null) return null;
  return format === 'jpeg' ? { format, quality } : { format };
}

/** A part of the view, in CSS px of the document. */
export interface ShotClip {
  x: number;
  y: number;
  width: number;
  height: number;
  /** Whether the part is beyond the view. */
  isBeyond?: boolean;
}

/** One capture by the browser, of the view or of a part of it. */
export async function captureShot(
  page: Pick<BoundedPage, 'send'>,
  { format, quality, fast = false }: Shot,
  clip?: ShotClip,
): Promise<Buffer> {
  const { data } = await page.send('Page.captureScreenshot', {
    format,
    optimizeForSpeed: fast,
    ...(quality === undefined ? {} : { quality }),
    ...(clip === undefined ? {} : clipOf(clip)),
  });
  return await fromBase64(data);
}

/** Characters of base64 after which others get a turn: about 1 ms. */
const TURN_CHARS = 4_000_000;

async function fromBase64(text: string): Promise<Buffer> {
  if (text.length <= TURN_CHARS) return Buffer.from(text, 'base64');
  const content = Buffer.allocUnsafeSlow(Buffer.byteLength(text, 'base64'));
  for (let at = 0, written = 0; at < text.length; at += TURN_CHARS) {
    written += content.write(text.slice(at, at + TURN_CHARS), written, 'base64');
    await setImmediate();
  }
  return content;
}

function clipOf({ isBeyond = false, ...clip }: ShotClip) {
  // On phones, the view may be zoomed out, the picture is not.
  return { captureBeyondViewport: isBeyond, clip: { ...clip, scale: 1 } };
}

/** The time to encode 100 million pixels while another capture runs, per pixel. */
const ENCODE_MS_PER_PIXEL = 2_500 / 100_000_000;
/** The time for one slow band. */
const BAND_MS = 500;
/** Densities in hundredths, and those of most devices, have whole pixels at multiples of one of these, in CSS px. */
const STEPS_PX = [1, 2, 4, 5, 8, 10, 20, 25, 50, 64, 100];
/** A lossless shot that is encoded again. */
export const FAST: Shot = { format: 'png', fast: true };

/** A page's extent, and the part of it in view, in CSS px. */
interface MeasuredPage extends PageExtent {
  view: { left: number; right: number; height: number };
  /** The offsets that the browser adds to the page's columns and rows: it counts from the first ones, where not every page begins. */
  origin: { x: number; y: number };
}

export async function measurePage(page: BoundedPage): Promise<MeasuredPage> {
  const [extent, metrics] = await Promise.all([page.call('scroll.measure'), page.send('Page.getLayoutMetrics')]);
  const { cssVisualViewport: shown, cssLayoutViewport: layout } = metrics;
  // A phone that is zoomed out shows columns before the one where a page written from right to left begins.
  const left = Math.min(0, shown.pageX);
  return {
    ...extent,
    view: { left, right: left + shown.clientWidth, height: shown.clientHeight },
    origin: { x: layout.pageX - extent.scrollX, y: layout.pageY - extent.scrollY },
  };
}

/** A rectangle of the page, in CSS px, and the density at which it fits its format. */
export interface Region {
  page: MeasuredPage;
  box: ElementBox;
  density: number;
  /** Whether the format limited the density. */
  limited: boolean;
  /** Whether the format cut the bottom. */
  isCut: boolean;
}

/** A part of the view, which fits any format. */
export function regionInView({ options: { view } }: PictureTask, page: MeasuredPage, box: ElementBox): Region {
  return { page, box, density: view.deviceScaleFactor, limited: false, isCut: false };
}

/**
 * The region at the highest density that fits the format. The density is set before the first capture, since a page may
 * change its layout with it.
 * @param find finds the region at the current density
 * @param isWhole whether pixels that the region has only a part of belong to it, as for elements
 */
export async function fitRegion(
  { page, options: { view } }: PictureTask,
  format: ImageFormat,
  find: () => Promise<Pick<Region, 'page' | 'box'>>,
  isWhole = false,
): Promise<Region> {
  let density = view.deviceScaleFactor;
  for (let limited = false; ; ) {
    await setDensity(page, view, { density });
    const { page: measured, box } = await find();
    const fit = fitDensity({ width: box.right - box.left, height: box.bottom - box.top }, density, format);
    limited ||= fit.limited;
    if (fit.density === density) {
      const bottom = Math.min(box.bottom, box.top + fit.height);
      const isCut = bottom < box.bottom - 0.5;
      return {
        page: measured,
        box: onWholePixels({ ...box, bottom }, density, isWhole ? measured : null),
        density,
        limited,
        isCut,
      };
    }
    density = fit.density;
  }
}

/**
 * The box on whole px of the picture.
 * @param whole the page, if no part of the box may be cut off; a last px that the page fills only in part is cut off all the same
 */
function onWholePixels(
  { left, top, right, bottom }: ElementBox,
  density: number,
  whole: MeasuredPage | null,
): ElementBox {
  const first = (edge: number) => (whole === null ? Math.round(edge * density) : Math.floor(edge * density + ROUNDING));
  const last = (edge: number, pageEnd: number) => {
    if (whole === null) return Math.round(edge * density);
    const end = Math.ceil(edge * density - ROUNDING);
    return edge > pageEnd + 0.5 ? end : Math.min(end, Math.floor(pageEnd * density + ROUNDING));
  };
  const pageBottom = whole === null ? 0 : whole.top + whole.pageHeight;
  return {
    left: first(left) / density,
    top: first(top) / density,
    right: Math.max(first(left) + 1, last(right, whole?.right ?? 0)) / density,
    bottom: Math.max(first(top) + 1, last(bottom, pageBottom)) / density,
  };
}

/** A part of a px by which computed edges may differ from whole ones. */
const ROUNDING = 1e-3;

/** Vertical ranges of the page, in order, whose content exists only at their own scroll position, and how to scroll there. */
export interface RangesApart {
  ranges: PageRange[];
  /** The scroll position at which the rest is shown. */
  home: number;
  showAt(at: number): Promise<void>;
}

/** The reason why a region is captured. */
export interface RegionReason {
  algorithm: RenderDiagnostics['algorithm'];
  /** The reason to stop where the region ends. */
  stoppedReason: RenderDiagnostics['stoppedReason'];
  /** Whether the region lacks a part of what was requested. */
  truncated: boolean;
  /** The number of sections to report. Default: the number of bands. */
  sections?: number;
}

/** A region that is ready to be captured. */
export interface ArrangedRegion extends RegionReason {
  region: Region;
  apart?: RangesApart | undefined;
  /** The maximum number of pixels of one shot. Default: BAND_PIXELS. */
  mostPixels?: number;
  /** The content of the page that the picture lacks. */
  lacks?: Pick<Picture, 'lacksContent' | 'cut'>;
}

/**
 * Captures and encodes a region.
 * @throws CaptureError `render_timeout`, `render_crashed`
 */
export async function takeRegion(
  task: PictureTask,
  { region, apart, lacks, mostPixels = BAND_PIXELS, ...reason }: ArrangedRegion,
  encoding: Encoding,
): Promise<Picture> {
  await task.onArranged?.(region.box);
  const shown = apart === undefined ? await task.page.call('pin.reveal', region.box, drawnAt(region)) : null;
  if (shown !== null && isInView(region, { visible: shown.visible, mostPixels })) {
    const part = partOf(region, region.box, shown);
    // The browser's PNG of a long page takes longer than its fast one and sharp's together.
    const final = encoding.format === 'jpeg' && part.inner === null ? finalShot(encoding) : null;
    const shot = await takeShot(task, final, part);
    const sized = Buffer.isBuffer(shot) ? shot : { ...shot, ...sizeOf(region) };
    return {
      ...(await encodeShots(task, sized, encoding)),
      diagnostics: diagnosticsOf(region, { count: 1, whole: true }, reason),
      ...lacks,
    };
  }
  await using store = await SectionStore.open(task.session.temporaryDir, encoding.transparent, task.debug);
  const taken = await takeRows(task, region, { store, apart, mostPixels });
  return {
    ...(await encodeShots(task, await store.strips(), encoding)),
    diagnostics: diagnosticsOf(region, taken, reason),
    ...lacks,
  };
}

/** One shot, of the view by default. If possible, the browser encodes it in the requested format, and the result is a buffer. */
export async function takeShot(task: PictureTask, final: Shot | null, part?: ShotPart): Promise<Buffer | Strips> {
  if (final !== null && !isMasked(task)) return await captureShot(task.page, final, part?.clip);
  const content = await finished(task, await captureShot(task.page, FAST, part?.clip), part);
  task.debug?.picture(content);
  return { pngs: [content], ...pngSize(content) };
}

/** A part of the view. */
interface ShotPart {
  /** The whole view if absent. */
  clip?: ShotClip;
  place: ShotPlace;
  /** The part of the shot to keep, in px; null for all of it. */
  inner: { left: number; top: number; width: number; height: number } | null;
}

/** Paints the mask over a lossless shot, and cuts it to its part. */
async function finished(task: PictureTask, png: Buffer, part?: ShotPart): Promise<Buffer> {
  const masked = isMasked(task) ? await paintMask(task, png, part?.place) : png;
  return part === undefined || part.inner === null ? masked : await cropped(masked, part.inner);
}

/** Encodes what was captured. */
export async function encodeShots(
  { encodes, begun, onShot, deadlines }: PictureTask,
  shots: Buffer | Strips,
  encoding: Encoding,
): Promise<Omit<Picture, 'diagnostics'>> {
  const taken = performance.now();
  onShot?.();
  const encoded = Buffer.isBuffer(shots)
    ? await readFinal(shots)
    : await encodes.run(shots.width * shots.height, () =>
        encodeAside(shots, encoding, { thread: encodes.thread, deadlines }),
      );
  return { ...encoded, timings: { begun, shoot: taken - begun, encode: performance.now() - taken } };
}

/** The size of the picture in px. */
function sizeOf({ box, density }: Region) {
  return { width: Math.round((box.right - box.left) * density), height: Math.round((box.bottom - box.top) * density) };
}

interface RowsTaken {
  /** The number of bands. */
  count: number;
  /** False if the time ran out. */
  whole: boolean;
}

/** Captures the rows of a region into the store. */
export async function takeRows(
  task: PictureTask,
  region: Region,
  target: { store: SectionStore; apart?: RangesApart | undefined; mostPixels?: number },
): Promise<RowsTaken> {
  const { store, apart, mostPixels = BAND_PIXELS } = target;
  const { left, right, top, bottom } = region.box;
  const { density } = region;
  const lastStart = task.deadline - BAND_MS - (right - left) * (bottom - top) * density ** 2 * ENCODE_MS_PER_PIXEL;
  const rowOf = (y: number) => Math.round(y * density) - Math.round(top * density);
  let count = 0;
  let shownAt: number | null = null;
  // The rows at the top are taken however late it is, since a picture ends where the first ones are missing.
  const isTime = (y: number) => y === top || monotonicNow() <= lastStart;
  let whole = true;
  for (const { from, to, at } of stretchesOf(region, apart)) {
    if (at !== shownAt && isTime(from)) {
      await apart?.showAt(at ?? apart.home);
      shownAt = at;
    }
    let y = from;
    while (y < to - ROUNDING && isTime(y)) {
      const band = await takeBand(task, region, { from: y, to, mostPixels });
      store.add(band.png, { top: rowOf(y), count: rowOf(band.end) - rowOf(y) });
      count++;
      y = band.end;
    }
    whole &&= y >= to - ROUNDING;
  }
  if (shownAt !== null) await apart?.showAt(apart.home);
  return { count, whole };
}

/** A vertical range of a region, and the scroll position at which it is shown; null for that of the rest of the page. */
interface Stretch {
  from: number;
  to: number;
  at: number | null;
}

/**
 * The stretches of a region in the order in which they are captured: first what the page shows as it is, since it may show other
 * parts once it has been scrolled again.
 */
function stretchesOf({ box, density }: Region, apart?: RangesApart): Stretch[] {
  const onPixel = (edge: number) => Math.max(box.top, Math.min(box.bottom, Math.round(edge * density) / density));
  const elsewhere = (apart?.ranges ?? []).map(({ top, bottom, at }) => ({
    from: onPixel(top),
    to: onPixel(bottom),
    at,
  }));
  const ends = [box.top, ...elsewhere.map(({ to }) => to)];
  const here = ends.map((from, index) => ({ from, to: elsewhere[index]?.from ?? box.bottom, at: null }));
  return [...here, ...elsewhere].filter(({ from, to }) => from < to - ROUNDING);
}

/** Captures as many rows as one view shows, in as many shots as the columns need. */
async function takeBand(
  task: PictureTask,
  region: Region,
  { from, to, mostPixels }: { from: number; to: number; mostPixels: number },
) {
  const { left, right } = region.box;
  const shots: Buffer[] = [];
  let end = to;
  for (let x = left; x < right - ROUNDING; ) {
    const shown = await task.page.call('pin.reveal', { left: x, right, top: from, bottom: end }, drawnAt(region));
    if (shots.length === 0) end = bandEnd(region, { from, to, mostPixels, visible: shown.visible });
    const edge = Math.min(right, wholePixels(shown.visible.right, region.density));
    // A page that cannot be scrolled there shows nothing of it.
    const next = edge > x + ROUNDING ? edge : right;
    const part = partOf(region, { left: x, right: next, top: from, bottom: end }, shown);
    shots.push(await finished(task, await captureShot(task.page, FAST, part.clip), part));
    x = next;
  }
  return { png: await joinedAcross(shots), end };
}

/** The last whole px of the picture up to an edge, in CSS px. */
function wholePixels(edge: number, density: number): number {
  return Math.floor(edge * density + ROUNDING) / density;
}

export function diagnosticsOf(
  { page, density, limited, isCut }: Region,
  taken: RowsTaken,
  reason: RegionReason,
): RenderDiagnostics {
  // A page that was cut earlier for another reason is not cut by the format, even if that has limited the density.
  const byFormat = isCut || (limited && !/limit|max/.test(reason.stoppedReason));
  return {
    algorithm: reason.algorithm,
    sections: reason.sections ?? taken.count,
    deviceScaleFactor: density,
    scrollHeight: page.pageHeight,
    stoppedReason: !taken.whole ? 'time_limit' : byFormat ? 'format_limit' : reason.stoppedReason,
    truncated: reason.truncated || isCut || !taken.whole,
  };
}

/**
 * The end of a band, in CSS px: as many rows as are in view, on whole pixels, and not too many for one shot.
 * @param rows.from the first row, in CSS px
 * @param rows.to the one after the last that is wanted
 */
function bandEnd(
  { box, density }: Region,
  rows: { from: number; to: number; visible: ElementBox; mostPixels: number },
): number {
  const { from, to, visible, mostPixels } = rows;
  const width = Math.min(box.right, visible.right) - Math.max(box.left, visible.left);
  // A page may end between two px: its view then ends with the second of them.
  const shown = Math.max(visible.bottom, Math.round(visible.bottom * density) / density);
  const maxRows = Math.min(shown - from, mostPixels / (Math.max(1, width) * density ** 2));
  if (to - from <= maxRows + ROUNDING) return to;
  const step = stepOf(density);
  const end = from + Math.floor((maxRows + ROUNDING) / step) * step;
  return end > from ? end : from + Math.max(1, Math.floor(maxRows * density)) / density;
}

function drawnAt({ density }: Region) {
  return { step: stepOf(density), density };
}

/** The smallest number of CSS px that is a whole number of px at this density, as far as there is one. */
function stepOf(density: number): number {
  return STEPS_PX.find((step) => isWholeNumber(step * density)) ?? 1;
}

/** Whether one shot of the view shows a region. */
function isInView(region: Region, { visible, mostPixels }: { visible: ElementBox; mostPixels: number }): boolean {
  const { right, top, bottom } = region.box;
  return (
    visible.right >= right - ROUNDING &&
    bandEnd(region, { from: top, to: bottom, visible, mostPixels }) >= bottom - ROUNDING
  );
}

function partOf({ page, density }: Region, place: ElementBox, { view, visible, isBeyond }: Shown): ShotPart {
  // A blur of what is behind an element lacks what is outside of the clip (puppeteer#7392). At the end of a page, the scroll
  // position may be between two px; the view is then drawn at the next one, but not the clip (Chromium 156).
  const hasBlur = visible.top > view.top || visible.bottom < view.bottom;
  const isWhole =
    page.zoom === 1 && (hasBlur || !isWholeNumber(view.left * density) || !isWholeNumber(view.top * density));
  const { left, top, right, bottom } = isWhole ? view : place;
  const px = (at: number) => Math.round(at * density);
  const size = { width: px(place.right) - px(place.left), height: px(place.bottom) - px(place.top) };
  return {
    ...(isWhole
      ? {}
      : {
          clip: {
            x: page.origin.x + left,
            y: page.origin.y + top,
            width: right - left,
            height: bottom - top,
            isBeyond,
          },
        }),
    place: { left, top, right, bottom, ratio: density },
    inner: isWhole ? { left: px(place.left) - px(left), top: px(place.top) - px(top), ...size } : null,
  };
}

function isWholeNumber(value: number): boolean {
  return Math.abs(value - Math.round(value)) < 1e-6;
}
