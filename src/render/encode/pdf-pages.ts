/** Draws the pages of a PDF as pictures, by PDFium as WebAssembly. Runs in a thread of its own, since a file may take any time. */

import { readFile } from 'node:fs/promises';
import { PDFiumLibrary } from '@hyzyla/pdfium';
import { CaptureError } from '../../contract/capture-error.js';
import { FULL_PAGE_MAX_HEIGHT_PX } from '../../contract/limits.js';
import { type PageRange, pagesIn } from '../../contract/page-ranges.js';
import { sharp } from '../../sharp.js';

/** The most memory that WebAssembly may use, with the bytes of the file. */
const MEMORY_MAX_BYTES = 512 * 1024 * 1024;
const WASM_PAGE_BYTES = 65_536;
/** As many pages of the lowest viewport as a full page has room for. */
const PAGES_MAX = 120;
const PAGE_MAX_PIXELS = 12_000_000;
const PICTURES_MAX_BYTES = 20_000_000;
const PAGE_TEXT_MAX_CHARS = 20_000;

export interface PdfPagesTask {
  content: Uint8Array;
  /** URL of the library's WebAssembly. */
  wasm: string;
  /** Null for all pages. */
  ranges: PageRange[] | null;
  /** The box that each page is fitted into, in CSS px, and the pixels of each. */
  box: { width: number; height: number; density: number };
  /** Space between two pages, in CSS px. */
  gap: number;
  /** Whether pages after the first are wanted. */
  all: boolean;
}

export interface PdfPagePicture {
  png: Uint8Array;
  /** CSS px. */
  width: number;
  height: number;
  text: string;
}

/** @throws CaptureError `navigation_failed` for a file that is damaged, needs a password or lacks the pages */
export async function drawPdfPages(task: PdfPagesTask): Promise<PdfPagePicture[]> {
  confine();
  return await drawAll(task).catch((cause: unknown) => {
    if (cause instanceof CaptureError) throw cause;
    throw unreadable('cannot be drawn, or takes more memory than a capture may use for it.', cause);
  });
}

async function drawAll(task: PdfPagesTask): Promise<PdfPagePicture[]> {
  const { buffer } = await readFile(new URL(task.wasm));
  const library = await PDFiumLibrary.init({ wasmBinary: buffer as ArrayBuffer });
  const document = await library.loadDocument(task.content).catch((cause: unknown) => {
    const needsPassword = cause instanceof Error && /password/i.test(cause.message);
    throw unreadable(needsPassword ? 'needs a password.' : 'is damaged.', cause);
  });
  const count = document.getPageCount();
  const chosen = task.ranges === null ? Array.from({ length: count }, (_, page) => page) : pagesIn(task.ranges, count);
  if (chosen.length === 0) throw unreadable(`has ${count} pages, and none of those in \`file_pages\`.`);
  const drawn: PdfPagePicture[] = [];
  let [top, bytes] = [0, 0];
  for (const index of chosen.slice(0, task.all ? PAGES_MAX : 1)) {
    const picture = await draw(document.getPage(index), task.box);
    drawn.push(picture);
    top += picture.height + task.gap;
    bytes += picture.png.length;
    if (top > FULL_PAGE_MAX_HEIGHT_PX || bytes > PICTURES_MAX_BYTES) break;
  }
  return drawn;
}

type PdfPage = ReturnType<Awaited<ReturnType<PDFiumLibrary['loadDocument']>>['getPage']>;

async function draw(page: PdfPage, box: PdfPagesTask['box']): Promise<PdfPagePicture> {
  const { originalWidth, originalHeight } = page.getOriginalSize();
  const scale = Math.min(box.width / originalWidth, box.height / originalHeight);
  if (!(scale > 0) || !Number.isFinite(scale)) throw new Error('the page has no size');
  const side = (length: number) => Math.max(1, Math.round(length * scale));
  const [width, height] = [side(originalWidth), side(originalHeight)];
  const density = Math.min(box.density, Math.sqrt(PAGE_MAX_PIXELS / (width * height)));
  const text = page.getText().slice(0, PAGE_TEXT_MAX_CHARS);
  const { data } = await page.render({
    width: Math.max(1, Math.round(width * density)),
    height: Math.max(1, Math.round(height * density)),
    colorSpace: 'BGRA',
    renderFormFields: true,
    render: async ({ data: pixels, width: columns, height: rows }) =>
      await sharp(pixels, { raw: { width: columns, height: rows, channels: 4 } })
        .removeAlpha()
        .png({ compressionLevel: 2 })
        .toBuffer(),
  });
  return { png: data, width, height, text };
}

/** WebAssembly's memory is outside of the heap that limits a thread, and the library prints what it lacks. */
function confine(): void {
  console.error = () => undefined;
  console.warn = () => undefined;
  const { prototype } = WebAssembly.Memory;
  const grow = prototype.grow;
  prototype.grow = function limited(this: WebAssembly.Memory, delta: number): number {
    if (this.buffer.byteLength + delta * WASM_PAGE_BYTES > MEMORY_MAX_BYTES) throw new RangeError('too much memory');
    return grow.call(this, delta);
  };
}

function unreadable(problem: string, cause?: unknown): CaptureError {
  const details = { content_type: 'application/pdf' };
  return new CaptureError({
    code: 'navigation_failed',
    message: `The target is a PDF that ${problem}`,
    retriable: false,
    details,
    cause,
  });
}
