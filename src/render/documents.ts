/** Documents that become one PDF (extensions.md, Several documents): captured one after another, joined, and given headers and footers. */

import { CaptureError } from '../contract/capture-error.js';
import {
  type CaptureOptions,
  defaultOptions,
  HTML_DOCUMENT_URL,
  isAtReservedOrigin,
  jobUrl,
  type PdfDocument,
  type PdfOption,
  type PlaceInPdf,
} from '../contract/capture-request.js';
import { PDF_PAGES_MAX, TIMEOUT_MS } from '../contract/limits.js';
import { escapeMarkup } from '../contract/markup.js';
import { delaysOf, type PageLoad, pageLoadsOf, timesOf } from '../contract/page-loads.js';
import { NO_CHANGES } from '../contract/pdf-work.js';
import { TOLERATED_CODES } from '../contract/request-fields.js';
import type { Overlay } from '../pdf/draw-over.js';
import type { PdfFiles } from '../pdf/pdf-files.js';
import { monotonicNow } from './deadlines.js';
import type { EncodeQueue, MemoryBudget } from './memory.js';
import type { Rendering } from './page-capture.js';
import { type PagesAlike, pagesAlike, rangesOf } from './picture/page-headers.js';
import { documentEdits, PAGE_NUMBERS_UNSETTLED } from './picture/pdf-picture.js';

/** All documents, and all headers and footers. */
const BYTES_MAX = 128_000_000;
/** The documents, their objects, and the PDF that they become. Measured: three bytes for pictures. */
const JOINING_BYTES_PER_BYTE = 4;
const POINTS_PER_INCH = 72;
/** The share of the progress that the documents have. */
const DOCUMENTS_SHARE = 0.9;

interface Captured {
  rendering: Rendering;
  options: CaptureOptions;
  entry: PdfDocument;
  place: PlaceInPdf;
}

interface Deps {
  pdfs: Pick<PdfFiles, 'work'>;
  encodes: Pick<EncodeQueue, 'run'>;
  memory: Pick<MemoryBudget, 'reserve'>;
  /** Captures one document. */
  captureLoad(load: PageLoad, options: { heldBytes: number; progress(part: number): number }): Promise<Rendering>;
  /** Called when the first document has begun; returns the time then. */
  begunAt(): number;
  signal: AbortSignal;
}

/** @throws CaptureError as a capture, with the document's place and address in `details.document` */
export async function captureDocuments(deps: Deps, options: CaptureOptions): Promise<Rendering> {
  const { documents, isSettled } = await captureAll(deps, options);
  const overlays = await printHeaders(deps, documents, options);
  const bytes = bytesOf(documents) + overlays.reduce((sum, { content }) => sum + content.length, 0);
  const files = documents.map((one, index) => ({
    name: `pdf.pages.${index}`,
    content: one.rendering.content,
    chapter: one.entry.title ?? (one.rendering.part?.title || jobUrl(one.options)),
    addresses: addressesOf(one),
  }));
  const merge = { startOnOddPages: options.pdf?.blankPagesToOdd === true };
  const limits = { timeoutMs: leftOf(deps, options), signal: deps.signal, failed: () => tooLate(options) };
  const [first] = documents;
  const names = { title: first?.rendering.part?.title ?? '', description: '', language: '' };
  const edits = { ...documentEdits(options.pdf ?? {}, names), overlays };
  using _memory = await deps.memory.reserve(JOINING_BYTES_PER_BYTE * bytes, deps.signal);
  const [joined] = await deps.encodes.run(bytes, () =>
    deps.pdfs.work({ files, changes: { ...NO_CHANGES, merge }, edits }, limits),
  );
  if (joined === undefined || first === undefined) throw new Error('The documents became no PDF.');
  const all = documents.map(({ rendering }) => rendering);
  const warnings = documents.flatMap(({ rendering }, index) =>
    rendering.warnings.map(({ code, message }) => ({ code, message: `Document ${index + 1}: ${message}` })),
  );
  return {
    ...first.rendering,
    content: joined.content,
    diagnostics: {
      ...first.rendering.diagnostics,
      sections: joined.pages,
      truncated: all.some(({ diagnostics }) => diagnostics.truncated),
    },
    warnings: isSettled ? warnings : [...warnings, PAGE_NUMBERS_UNSETTLED],
    blockedRequests: all.reduce((sum, { blockedRequests }) => sum + blockedRequests, 0),
    timings: sumOf(all.map(({ timings }) => timings)),
  };
}

export function sumOf(all: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, ms] of all.flatMap((one) => Object.entries(one))) sums[name] = (sums[name] ?? 0) + ms;
  return sums;
}

/** The number of times that documents are captured again, since they show pages of others. */
const ROUNDS_MAX = 3;

async function captureAll(deps: Deps, options: CaptureOptions): Promise<{ documents: Captured[]; isSettled: boolean }> {
  const loads = pageLoadsOf(options);
  const done: Captured[] = [];
  const captureAt = async (index: number, place: PlaceInPdf): Promise<void> => {
    done[index] = await captureDocument(deps, options, { done, index, load: loads[index] as PageLoad, place });
    const pages = startAfter(done, done.length, options);
    if (pages > PDF_PAGES_MAX || bytesOf(done) > BYTES_MAX) throw tooLarge();
  };
  for (const index of loads.keys()) await captureAt(index, { before: startAfter(done, index, options), pages: {} });
  const placeAt = (index: number, one: Captured): PlaceInPdf => ({
    before: startAfter(done, index, options),
    pages: pagesOf(one, done),
  });
  for (let round = 0; round < ROUNDS_MAX; round++) {
    for (const [index, one] of done.entries()) {
      const place = placeAt(index, one);
      if (isRight(one, place)) one.place = place;
      else await captureAt(index, place);
    }
  }
  return { documents: done, isSettled: done.every((one, index) => isRight(one, placeAt(index, one))) };
}

/** Whether a document shows the page numbers that belong to a place. */
function isRight({ rendering: { part }, place }: Captured, { before, pages }: PlaceInPdf): boolean {
  return (
    (before === place.before || part?.isNumbered !== true) && JSON.stringify(pages) === JSON.stringify(place.pages)
  );
}

/** The number of pages before the document at an index, with blank ones. */
function startAfter(done: readonly Captured[], index: number, { pdf }: CaptureOptions): number {
  const count = (before: number) => (pdf?.blankPagesToOdd === true ? before + (before % 2) : before);
  const before = done.slice(0, index);
  const all = before.reduce((pages, { rendering }) => count(pages) + rendering.diagnostics.sections, 0);
  return index < (pdf?.pages?.length ?? 0) ? count(all) : all;
}

/** The pages that a document refers to in others. */
function pagesOf({ rendering: { part } }: Captured, done: readonly Captured[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const reference of part?.references ?? []) {
    const [address = '', fragment = ''] = reference.split('#', 2);
    const target = done.find((one) => addressesOf(one).includes(address));
    if (target !== undefined)
      found[reference] = target.place.before + (target.rendering.part?.destinations.get(fragment) ?? 1);
  }
  return found;
}

/** The addresses of a document, without fragments. */
function addressesOf({ options, rendering }: Captured): string[] {
  return isAtReservedOrigin(options) ? [] : [options.url, rendering.finalUrl].map((url) => url.split('#', 1)[0] ?? '');
}

async function captureDocument(
  deps: Deps,
  options: CaptureOptions,
  { done, index, load, place }: { done: readonly Captured[]; index: number; load: PageLoad; place: PlaceInPdf },
): Promise<Captured> {
  const { pages: entries = [] } = options.pdf ?? {};
  const [entry, { pdf }] = [entries[index], load.options];
  if (pdf === null || entry === undefined) throw new Error('A document of several has options of `pdf`.');
  const leftMs = done.length === 0 ? options.timeout : leftOf(deps, options);
  if (leftMs < TIMEOUT_MS.min) throw tooLate(options, { done: done.length, documents: entries.length });
  const own: CaptureOptions = {
    ...load.options,
    timeout: Math.min(options.timeout, leftMs),
    pdf: withoutHeaders({ ...pdf, place }),
    // The facts and the report are those of the first document.
    ...(index === 0 ? {} : { inspectPage: false, explain: false, extract: null, saveHtml: false }),
  };
  const loadOptions = {
    heldBytes: bytesOf(done),
    progress: (part: number) => (DOCUMENTS_SHARE * (100 * index + part)) / entries.length,
  };
  const rendering = await deps
    .captureLoad(loadOf(own), loadOptions)
    .catch((error: unknown) => Promise.reject(naming(error, { index, count: entries.length, options: load.options })));
  return { rendering, options: load.options, entry, place };
}

function loadOf(options: CaptureOptions): PageLoad {
  return { options, pictures: [{ name: null, options, all: null }] };
}

function withoutHeaders({ headers: _, ...pdf }: PdfOption): PdfOption {
  return { ...pdf, headerTemplate: null, footerTemplate: null };
}

function bytesOf(documents: readonly Captured[]): number {
  return documents.reduce((sum, { rendering }) => sum + rendering.content.length, 0);
}

/** The time that is left for all documents together, in ms, at least 1. */
function leftOf(deps: Deps, options: CaptureOptions): number {
  return Math.max(1, Math.floor(timesOf(options).timeout + delaysOf(options) - (monotonicNow() - deps.begunAt())));
}

/** Headers and footers that are printed at once. */
interface HeaderPrint extends Pick<PagesAlike, 'headerTemplate' | 'footerTemplate'> {
  /** Points. */
  size: readonly [width: number, height: number];
  margin: PdfOption['margin'];
  title: string;
  url: string | null;
  places: number[];
}

/** Prints the headers and footers on empty pages, which have the numbers that the documents' pages have in the whole PDF. */
async function printHeaders(deps: Deps, documents: readonly Captured[], options: CaptureOptions): Promise<Overlay[]> {
  const total = startAfter(documents, documents.length, options);
  const overlays: Overlay[] = [];
  let bytes = 0;
  for (const print of headerPrints(documents, total)) {
    const own = optionsOf(print, {
      total,
      timeout: Math.min(options.timeout, Math.max(TIMEOUT_MS.min, leftOf(deps, options))),
    });
    const { content } = await deps.captureLoad(loadOf(own), {
      heldBytes: bytesOf(documents) + bytes,
      progress: () => 100 * DOCUMENTS_SHARE,
    });
    bytes += content.length;
    if (bytes > BYTES_MAX) throw tooLarge();
    overlays.push({ content, places: print.places });
  }
  return overlays;
}

function headerPrints(documents: readonly Captured[], total: number): HeaderPrint[] {
  const prints = new Map<string, HeaderPrint>();
  for (const {
    rendering,
    options,
    entry,
    place: { before: start },
  } of documents) {
    const { pdf } = options;
    const { part, finalUrl, diagnostics } = rendering;
    if (pdf === null || part === undefined) continue;
    const count = diagnostics.sections;
    const isOwn = ['headers', 'headerTemplate', 'footerTemplate'].some((name) => name in entry.layout);
    const before = isOwn ? 0 : start;
    const printed = Array.from({ length: count }, (_, place) => before + place + 1);
    for (const { places, ...templates } of pagesAlike(pdf, { printed, pages: isOwn ? count : total })) {
      const texts = `${templates.headerTemplate} ${templates.footerTemplate}`;
      const print = {
        ...templates,
        margin: part.margin,
        title: texts.includes('title') ? part.title : '',
        url: texts.includes('url') && !isAtReservedOrigin(options) ? finalUrl : null,
      };
      for (const place of places) {
        const size = part.sheets[place];
        if (size === undefined) throw new Error('A page of a document has no size.');
        const key = JSON.stringify([print, size]);
        const known = prints.get(key) ?? { ...print, size, places: [] };
        known.places.push(start + place);
        prints.set(key, known);
      }
    }
  }
  return [...prints.values()];
}

/** The request for a document of as many empty pages as the whole PDF has. */
function optionsOf(
  { headerTemplate, footerTemplate, size, margin, title, url, places }: HeaderPrint,
  { total, timeout }: { total: number; timeout: number },
): CaptureOptions {
  const [width, height] = size;
  const style = 'html,body,p{margin:0}p{height:1px;break-after:page}p:last-child{break-after:auto}';
  return {
    ...defaultOptions(),
    url: url ?? HTML_DOCUMENT_URL,
    baseUrl: url,
    html: `<!doctype html><meta charset="utf-8"><title>${escapeMarkup(title)}</title><style>${style}</style>${'<p>'.repeat(total)}`,
    format: 'pdf',
    timeout,
    waitForIdle: false,
    tolerate: [...TOLERATED_CODES],
    pdf: {
      paper: { width: width / POINTS_PER_INCH, height: height / POINTS_PER_INCH },
      margin,
      scale: 1,
      printBackground: true,
      pageRanges: rangesOf(places.map((place) => place + 1)),
      headerTemplate,
      footerTemplate,
      fitWidth: false,
      preferCssPageSize: false,
      media: 'print',
      outline: false,
      tagged: false,
    },
  };
}

/** Names the document that an error is about. */
function naming(
  error: unknown,
  { index, count, options }: { index: number; count: number; options: CaptureOptions },
): unknown {
  if (!(error instanceof CaptureError)) return error;
  const url = jobUrl(options);
  return error.with({
    message: `Document ${index + 1} of ${count} (${url}): ${error.message}`,
    details: { document: { index, url } },
  });
}

function tooLarge(): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `The documents have more than ${PDF_PAGES_MAX} pages or ${BYTES_MAX / 1_000_000} MB together. Print fewer of them into one PDF.`,
    retriable: false,
    details: { check: 'bytes', required: BYTES_MAX },
  });
}

function tooLate(options: CaptureOptions, details: Record<string, number> = {}): CaptureError {
  const { timeout } = timesOf(options);
  return new CaptureError({
    code: 'render_timeout',
    message: `The documents took longer than the ${timeout / 1_000} s that they may take together. Print fewer of them into one PDF.`,
    details: { waited_for: 'documents', ...details },
  });
}
