/**
 * Shows a target that is a file: the browser would download it. The response of its navigation is replaced, so that cookies, headers,
 * redirects and the egress policy are those of a page.
 */

import { CaptureError } from '../../contract/capture-error.js';
import { type CaptureOptions, isOwnDocument } from '../../contract/capture-request.js';
import { escapeMarkup } from '../../contract/markup.js';
import { readPageRanges } from '../../contract/page-ranges.js';
import { runInThread } from '../../thread.js';
import { monotonicNow } from '../deadlines.js';
import type { PdfPagePicture, PdfPagesTask } from '../encode/pdf-pages.js';
import { typeOf } from './check-page.js';
import { navigateToTarget } from './navigate.js';
import type { OpenPage } from './open-page.js';

const PDF_MAX_BYTES = 50_000_000;
const PART_BYTES = 4_000_000;
/** Space between two pages, in CSS px. */
const GAP_PX = 16;
/** Objects of JavaScript; the library has its own limit. */
const THREAD_MEMORY_MB = 256;

/** The files of the thread that draws PDFs, and of its library. */
export interface PdfDrawing {
  thread: URL;
  wasm: URL;
}

export interface FileContext {
  drawing: PdfDrawing;
  /** Runs the work when it is its turn. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Whether a picture shows more than the view. */
  all: boolean;
}

const PDF_TYPES = new Set(['application/pdf', 'application/x-pdf']);
const UNNAMED_TYPES = new Set(['application/octet-stream', 'binary/octet-stream', 'application/download']);

/** Whether the navigation failed since the target is a file that can be shown. */
export function isShownFile(error: unknown, options: CaptureOptions): boolean {
  if (!(error instanceof CaptureError) || error.code !== 'navigation_failed' || isOwnDocument(options)) return false;
  const type = error.details?.content_type;
  return typeof type === 'string' && (PDF_TYPES.has(type) || UNNAMED_TYPES.has(type) || type.startsWith('image/'));
}

/**
 * Navigates to the target again, and shows it as a page: the pages of a PDF below each other, or a picture that is meant to be saved.
 * @throws CaptureError as `navigateToTarget`
 */
export async function navigateToFile(page: OpenPage, options: CaptureOptions, context: FileContext): Promise<void> {
  const { session } = page;
  const cdp = await session.context.newCDPSession(session.page);
  let failure: unknown = null;
  cdp.on('Fetch.requestPaused', (paused) => {
    const { requestId } = paused;
    answer(cdp, paused, { page, options, context }).catch((error: unknown) => {
      failure ??= error;
      cdp.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }).catch(() => undefined);
    });
  });
  await cdp.send('Fetch.enable', { patterns: [{ resourceType: 'Document', requestStage: 'Response' }] });
  try {
    await navigateToTarget(page, options);
  } catch (error) {
    throw failure instanceof CaptureError ? failure : error;
  }
}

/** The used parts of `Fetch.requestPaused`. */
interface Paused {
  requestId: string;
  frameId: string;
  request: { url: string };
  responseStatusCode?: number;
  responseHeaders?: { name: string; value: string }[];
}

type Session = Awaited<ReturnType<OpenPage['session']['context']['newCDPSession']>>;

async function answer(
  cdp: Session,
  { requestId, frameId, request, responseStatusCode: status = 0, responseHeaders = [] }: Paused,
  { page, options, context }: { page: OpenPage; options: CaptureOptions; context: FileContext },
): Promise<void> {
  const headers = Object.fromEntries(responseHeaders.map(({ name, value }) => [name.toLowerCase(), value]));
  const type = typeOf(headers);
  if (frameId !== page.session.mainFrameId || status !== 200) await cdp.send('Fetch.continueRequest', { requestId });
  else if (isPdf(type, request.url)) {
    const content = await readBody(cdp, requestId);
    const drawn = await context.inTurn(() => drawPdf(page, { content, options, context }));
    const name = decodeURIComponentSafely(new URL(request.url).pathname.split('/').at(-1) ?? '');
    await cdp.send('Fetch.fulfillRequest', {
      requestId,
      responseCode: 200,
      responseHeaders: [{ name: 'content-type', value: 'text/html; charset=utf-8' }],
      body: Buffer.from(documentOf(drawn, name)).toString('base64'),
    });
  } else {
    // A picture that is meant to be saved is shown as one that is not.
    const shown = type.startsWith('image/')
      ? responseHeaders.filter(({ name }) => name.toLowerCase() !== 'content-disposition')
      : responseHeaders;
    await cdp.send('Fetch.continueResponse', { requestId, responseCode: status, responseHeaders: shown });
  }
}

function isPdf(type: string, url: string): boolean {
  return PDF_TYPES.has(type) || (UNNAMED_TYPES.has(type) && /\.pdf$/i.test(new URL(url).pathname));
}

async function readBody(cdp: Session, requestId: string): Promise<Buffer> {
  const { stream: handle } = await cdp.send('Fetch.takeResponseBodyAsStream', { requestId });
  const parts: Buffer[] = [];
  for (let bytes = 0; ; ) {
    const { data, base64Encoded = false, eof } = await cdp.send('IO.read', { handle, size: PART_BYTES });
    const part = Buffer.from(data, base64Encoded ? 'base64' : 'utf8');
    bytes += part.length;
    if (bytes > PDF_MAX_BYTES) throw tooLarge();
    parts.push(part);
    if (eof) break;
  }
  await cdp.send('IO.close', { handle });
  return Buffer.concat(parts);
}

async function drawPdf(
  { deadlines }: OpenPage,
  { content, options, context }: { content: Buffer; options: CaptureOptions; context: FileContext },
): Promise<PdfPagePicture[]> {
  const { width, height, deviceScaleFactor: density } = options.view;
  const ranges = options.filePages === null ? null : readPageRanges(options.filePages);
  const task: PdfPagesTask = {
    content,
    wasm: context.drawing.wasm.href,
    ranges,
    box: { width, height, density },
    gap: GAP_PX,
    all: context.all,
  };
  return await runInThread<PdfPagePicture[]>({
    file: context.drawing.thread,
    task,
    memoryMb: THREAD_MEMORY_MB,
    timeoutMs: Math.max(1, deadlines.budgetEndsAt - monotonicNow()),
    signal: deadlines.signal,
    failed: (cause) =>
      new CaptureError({
        code: 'navigation_failed',
        message: 'The target is a PDF that takes more time or memory to draw than a capture may use.',
        retriable: false,
        details: { content_type: 'application/pdf' },
        cause,
      }),
  });
}

/** Each page has its text, which the checks and the facts of a page read, below its picture. */
function documentOf(pages: readonly PdfPagePicture[], title: string): string {
  const style = `html{background:#e8eaed}body{margin:0}section{position:relative;margin:0 auto ${GAP_PX}px;background:#fff}section:last-child{margin-bottom:0}img{display:block;width:100%;height:100%}pre{position:absolute;inset:0;margin:0;overflow:hidden;white-space:pre-wrap;font:1px sans-serif;opacity:0}`;
  const sections = pages.map(
    ({ png, width, height, text }) =>
      `<section style="width:${width}px;height:${height}px"><pre>${escapeMarkup(text)}</pre><img alt="" src="data:image/png;base64,${Buffer.from(png).toString('base64')}"></section>`,
  );
  return `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeMarkup(title)}</title><style>${style}</style>${sections.join('')}`;
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function tooLarge(): CaptureError {
  return new CaptureError({
    code: 'navigation_failed',
    message: `The target is a PDF of more than ${PDF_MAX_BYTES / 1e6} MB.`,
    retriable: false,
    details: { content_type: 'application/pdf' },
  });
}
