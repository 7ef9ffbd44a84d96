import { promisify } from 'node:util';
import { deflate, inflate } from 'node:zlib';
import { CaptureError } from '../../contract/capture-error.js';
import { objectsOfType, openPdf, type PdfFile, type PdfObject, replaceObject, textOf } from './pdf-file.js';

/** Content streams are searched on the event loop. A page full of text has some hundred kB. */
const CONTENT_MAX_BYTES = 8 * 1024 * 1024;

/**
 * Removes the header and footer of a Chromium PDF's first page. Chromium draws both after the page's content, in one block
 * that may cover the whole sheet; everything else in the file (text, links, tags, outline) is unchanged.
 * @throws CaptureError `invalid_request` if the first page draws too much to be searched
 * @param hasMargins whether the page's own content keeps a distance from an edge of the sheet, so that a lone block for the
 * whole sheet is the header's
 */
export async function withoutFirstHeader(pdf: Buffer, { hasMargins }: { hasMargins: boolean }): Promise<Buffer> {
  const file = openPdf(pdf);
  const [page] = objectsOfType(file, 'Page');
  const number = Number(/\/Contents (\d+) 0 R/.exec(page === undefined ? '' : textOf(file, page))?.[1]);
  const stream = file.objects.find((object) => object.number === number);
  if (stream === undefined) throw new Error('The first page of the PDF has no content.');
  const marks = await readStream(file, stream);
  const blocks = blocksOf(marks);
  const last = blocks.at(-1);
  if (last === undefined || (blocks.length === 1 && !hasMargins) || !paintsSheet(marks.slice(last))) return pdf;
  const kept = closeMarkedContent(marks.slice(0, last));
  const packed = await promisify(deflate)(Buffer.from(kept, 'latin1'));
  const head = `<</Filter /FlateDecode\n/Length ${packed.length}>> stream\n`;
  return replaceObject(file, stream, Buffer.concat([Buffer.from(head), packed, Buffer.from('\nendstream')]));
}

async function readStream({ bytes }: PdfFile, { start, end }: PdfObject): Promise<string> {
  const begin = bytes.indexOf('stream', start) + 'stream\n'.length;
  const head = bytes.toString('latin1', start, begin);
  const length = Number(/\/Length (\d+)/.exec(head)?.[1]);
  if (begin > end || Number.isNaN(length)) throw new Error('The first page of the PDF has no stream.');
  const content = bytes.subarray(begin, begin + length);
  const isPacked = head.includes('/FlateDecode');
  const unpacked = isPacked ? await promisify(inflate)(content, { maxOutputLength: CONTENT_MAX_BYTES }).catch(refuseTooMuch) : content;
  return unpacked.length > CONTENT_MAX_BYTES ? refuseTooMuch() : unpacked.toString('latin1');
}

function refuseTooMuch(error?: unknown): never {
  if (error !== undefined && (error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error;
  const message = 'cannot be false for this page: its first page draws too much to be searched for the header';
  throw new CaptureError({
    code: 'invalid_request',
    message: `\`pdf.first_page_header\` ${message}.`,
    details: { issues: [{ path: 'pdf.first_page_header', message }] },
    cause: error,
  });
}

/**
 * The start of the outermost blocks between `q` and `Q`. Chromium writes each operator on a line of its own, and no line
 * breaks into text.
 */
function blocksOf(marks: string): number[] {
  const starts: number[] = [];
  let depth = 0;
  for (const { 0: mark, index } of marks.matchAll(/^[qQ]$/gm)) {
    if (mark === 'q' && depth++ === 0) starts.push(index);
    else if (mark === 'Q') depth--;
  }
  return starts;
}

function paintsSheet(block: string): boolean {
  return /^q\n0 0 [\d.]+ [\d.]+ re\nW\* n\n/.test(block);
}

/** Closes marked content that Chromium closes only in the header's block. */
function closeMarkedContent(marks: string): string {
  const count = (pattern: RegExp) => marks.match(pattern)?.length ?? 0;
  return marks + 'EMC\n'.repeat(Math.max(0, count(/BDC$/gm) - count(/^EMC$/gm)));
}
