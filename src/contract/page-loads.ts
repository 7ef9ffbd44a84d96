/** The pictures that a request with `captures`, `viewports` or `color_schemes` asks for (extensions.md, Several pictures). */
import type { CaptureOptions, PdfOption, PictureEntry } from './capture-request.js';
import { PDF_DOCUMENTS_MAX_MS, PICTURES_MAX } from './limits.js';

/** One picture, or one of each element that matches. */
export interface RequestedPicture {
  /** Null if the request has one picture. */
  name: string | null;
  /** The options of a request for this picture alone. */
  options: CaptureOptions;
  /** For `selector_all`, the greatest number of pictures; else null. */
  all: number | null;
}

/** One load of the page, with the pictures that are taken of it. */
export interface PageLoad {
  /** The options of its first picture. */
  options: CaptureOptions;
  pictures: RequestedPicture[];
}

type Several = Pick<CaptureOptions, 'captures' | 'viewports' | 'colorSchemes'>;

/** Whether a request asks for several pictures, or for named ones. */
export function asksForSeveral({ captures, viewports, colorSchemes }: Several): boolean {
  return (captures ?? viewports ?? colorSchemes) !== null;
}

/** The loads of a request in their order: by viewport, then by color scheme. Each has all of `captures`; or one for each of `pdf.pages`. */
export function pageLoadsOf(options: CaptureOptions): PageLoad[] {
  if (options.pdf?.pages !== undefined) return documentLoads(options, options.pdf);
  if (!asksForSeveral(options)) return [{ options, pictures: [{ name: null, options, all: null }] }];
  const { captures, viewports, colorSchemes } = options;
  const alone = { ...options, captures: null, viewports: null, colorSchemes: null };
  const share = freeShare(options);
  return (viewports ?? [null]).flatMap((viewport) =>
    (colorSchemes ?? [null]).map((scheme) => {
      const page = {
        ...alone,
        ...(viewport === null ? {} : { view: viewport.view, device: viewport.device }),
        ...(scheme === null ? {} : { colorScheme: scheme }),
      };
      const outer = [viewport === null ? null : viewportName(viewport), scheme];
      const pictures = (captures ?? [null]).map((entry, index): RequestedPicture => {
        const name = [...outer, entry === null ? null : (entry.name ?? `capture-${index + 1}`)]
          .filter((part) => part !== null)
          .join('-');
        if (entry === null) return { name, options: page, all: null };
        return {
          name,
          options: withEntry(page, entry),
          all: entry.selectorAll === null ? null : (entry.limit ?? share),
        };
      });
      return { options: pictures[0]?.options ?? page, pictures };
    }),
  );
}

function documentLoads(request: CaptureOptions, { pages = [], blankPagesToOdd: _, ...layout }: PdfOption): PageLoad[] {
  return pages.map((document) => {
    const options = { ...request, ...document.options, pdf: { ...layout, ...document.layout } };
    return { options, pictures: [{ name: null, options, all: null }] };
  });
}

/** The time for all loads of a request, in ms: its `timeout`, which each of `pdf.pages` has for itself, and its delays. */
export function timesOf(options: CaptureOptions): { timeout: number; delay: number } {
  const { timeout, delay, pdf } = options;
  if (pdf?.pages === undefined) return { timeout, delay };
  const whole = Math.min(timeout * pdf.pages.length, Math.max(timeout, PDF_DOCUMENTS_MAX_MS));
  return { timeout: whole, delay: delaysOf(options) };
}

/** The delays of all loads together. */
export function delaysOf(options: CaptureOptions): number {
  return pageLoadsOf(options).reduce((sum, load) => sum + load.options.delay, 0);
}

function withEntry(page: CaptureOptions, entry: PictureEntry): CaptureOptions {
  const format = entry.format ?? page.format;
  const palette = entry.palette ?? (format === 'png' || format === 'bmp' ? page.palette : null);
  return {
    ...page,
    selector: entry.selector ?? entry.selectorAll ?? entry.selectorUnion ?? entry.selectorFunction ?? null,
    selectorUnion: entry.selectorUnion ?? null,
    selectorFunction: entry.selectorFunction ?? null,
    clip: entry.clip,
    padding: entry.padding ?? 0,
    fullPage: entry.fullPage ?? false,
    fullWidth: entry.fullWidth ?? false,
    maxHeight: entry.maxHeight,
    format,
    quality: entry.quality ?? page.quality,
    // The request's own apply where the format has them.
    resize: entry.resize ?? (format === 'pdf' ? null : page.resize),
    omitBackground:
      entry.omitBackground ?? (/^(png|webp|avif)$/.test(format) && palette === null ? page.omitBackground : false),
    rotate: entry.rotate ?? (format === 'pdf' ? null : page.rotate),
    palette,
  };
}

function viewportName({ name, device, view }: NonNullable<CaptureOptions['viewports']>[number]): string {
  return name ?? device?.split(/\W+/).filter(Boolean).join('-') ?? `${view.width}x${view.height}`;
}

/** The number of pictures that each `selector_all` without a `limit` may still have; at least 1. */
function freeShare({ captures, viewports, colorSchemes }: Several): number {
  const entries = captures ?? [];
  const loads = (viewports?.length ?? 1) * (colorSchemes?.length ?? 1);
  const isOpen = ({ selectorAll, limit }: PictureEntry) => selectorAll !== null && limit === null;
  const taken = entries.filter((entry) => !isOpen(entry)).reduce((sum, { limit }) => sum + (limit ?? 1), 0);
  return Math.max(1, Math.floor((PICTURES_MAX / loads - taken) / Math.max(1, entries.filter(isOpen).length)));
}

/** The names that the pictures of a request may have; those of `selector_all` are numbered. */
export function pictureNames(options: CaptureOptions): string[] {
  return pageLoadsOf(options).flatMap(({ pictures }) =>
    pictures.flatMap(({ name, all }) =>
      all === null ? [name ?? ''] : Array.from({ length: all }, (_, index) => numbered(name, index)),
    ),
  );
}

/** The name of one picture of `selector_all`. */
export function numbered(name: string | null, index: number): string {
  return `${name}-${index + 1}`;
}
