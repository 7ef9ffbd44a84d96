import { CaptureError } from '../../contract/capture-error.js';
import type { BoundedPage } from '../page-session.js';

const PART_BYTES = 1024 * 1024;
/** A page of 30,000 px full of photographs prints as about 40 MB. */
const PDF_MAX_BYTES = 96 * 1024 * 1024;

/** Parameters of the protocol's `Page.printToPDF`. Lengths are in inches; a missing margin is 0. */
export interface PrintOptions {
  paperWidth: number;
  paperHeight: number;
  /** Page ranges; empty for all. */
  pageRanges: string;
  marginTop?: number;
  marginRight?: number;
  marginBottom?: number;
  marginLeft?: number;
  printBackground?: boolean;
  preferCSSPageSize?: boolean;
  scale?: number;
  displayHeaderFooter?: boolean;
  headerTemplate?: string;
  footerTemplate?: string;
  generateTaggedPDF?: boolean;
  generateDocumentOutline?: boolean;
}

/**
 * Prints the page and reads the PDF in parts, so that no message of the browser is as long as the PDF.
 * @throws CaptureError navigation_failed for a PDF beyond 96 MB, internal_error 503 if the browser has no room for it
 */
export async function printStream(page: Pick<BoundedPage, 'send'>, options: PrintOptions): Promise<Buffer> {
  const margins = { marginTop: 0, marginBottom: 0, marginLeft: 0, marginRight: 0 };
  const printed = await page.send('Page.printToPDF', {
    printBackground: true,
    ...margins,
    ...options,
    transferMode: 'ReturnAsStream',
  });
  const handle = printed.stream ?? '';
  const parts: Buffer[] = [];
  try {
    for (let bytes = 0; ; ) {
      const { data, eof, base64Encoded } = await page.send('IO.read', { handle, size: PART_BYTES }).catch(explain);
      const part = Buffer.from(data, base64Encoded === true ? 'base64' : 'utf8');
      bytes += part.length;
      if (bytes > PDF_MAX_BYTES) throw tooLong();
      parts.push(part);
      if (eof) return Buffer.concat(parts);
    }
  } finally {
    // A browser that has exited has closed the stream.
    page.send('IO.close', { handle }).catch(() => undefined);
  }
}

/** The browser keeps the PDF in a file until it is read. */
function explain(error: Error): never {
  if (!/Read failed/.test(error.message)) throw error;
  throw new CaptureError({
    code: 'internal_error',
    status: 503,
    message:
      "The browser could not keep the PDF: the server's temporary directory is full, or cannot be written to. Try again later.",
    retryAfterSeconds: 30,
    cause: error,
  });
}

function tooLong(): CaptureError {
  return new CaptureError({
    code: 'navigation_failed',
    message: `The page prints as more than ${PDF_MAX_BYTES / 1024 / 1024} MB of PDF.`,
    retriable: false,
  });
}
