import { buffer } from 'node:stream/consumers';
import type { StoppedReason } from '../../contract/capture-data.js';
import { PDF_PAGE_MAX_PX } from '../../contract/limits.js';
import { CSS_PX_PER_INCH } from '../../contract/pdf-schema.js';
import { untilDeadline } from '../page-session.js';
import { encodeStrips, SectionStore, type Strips } from './encode.js';
import { arrangeFullPage, capturedHeight, lacksContent, type ScrollReport } from './full-page.js';
import { printStream, readPdf } from './pdf-file.js';
import { diagnosticsOf, MEASURE_SCALE, type Picture, type PictureOrder, setDensity, takeRows } from './region-picture.js';

/** Scripts that react to the viewport's size do so before the next frame is painted, or after this time, in ms. */
const NO_FRAME_MS = 100;

/**
 * Makes one of three kinds of PDF (decisions.md, PDF): printed on pages of the view's size, printed on one continuous page,
 * or made of the whole page's rendered pixels. A page that cannot be printed faithfully on one page is made of pixels too.
 */
export async function takePdf(order: PictureOrder, scroll: ScrollReport): Promise<Picture> {
  const { page, session, options, deadline } = order;
  const { view, fullPage, fullPageAlgorithm, maxHeight } = options;
  if (fullPage && fullPageAlgorithm === 'by_sections') return packPixels(order, scroll);
  await setDensity(page, view);
  await untilDeadline(session, deadline, () => session.page.emulateMedia({ media: 'screen' }));
  await page.call('print.overridePageRules');
  await page.call('scrollers.expandAgain');
  const { pageHeight } = await page.call('scroll.measure');
  const lacks = await lacksContent(page);
  const height = capturedHeight(scroll, pageHeight, maxHeight);
  const fits = height <= PDF_PAGE_MAX_PX;
  const paperHeight = !fullPage ? view.height : fits ? height : PDF_PAGE_MAX_PX;
  if (!fullPage) await page.call('print.placePinned', height);
  else if (!(await prepareForPaper(order, { pageHeight, height, paperHeight }))) {
    await page.call('print.restoreStyles');
    return packPixels({ ...order, options: { ...options, fullPageAlgorithm: 'by_sections' } }, scroll);
  }
  if (height < pageHeight || (fullPage && fits)) await page.call('print.fixPageHeight', height);
  const content = await printStream(page, {
    paperWidth: view.width / CSS_PX_PER_INCH,
    paperHeight: paperHeight / CSS_PX_PER_INCH,
    pageRanges: fullPage && fits ? '1' : '',
  });
  return printedPicture(order, content, {
    pageHeight,
    stoppedReason: !fullPage && pageHeight <= view.height ? 'viewport' : scroll.stoppedReason,
    truncated: lacks || height < pageHeight - 0.5 || scroll.stoppedReason !== 'end_of_page',
    lacksContent: lacks,
  });
}

/** The picture of a PDF that the browser has printed. */
export function printedPicture(
  { options, begun }: PictureOrder,
  content: Buffer,
  printed: { pageHeight: number; stoppedReason: StoppedReason; truncated: boolean } & Pick<Picture, 'lacksContent' | 'fitted'>,
): Picture {
  const { pageHeight, stoppedReason, truncated, ...found } = printed;
  const { width, height, pages } = readPdf(content);
  return {
    content,
    width,
    height,
    ...found,
    diagnostics: {
      algorithm: 'native',
      sections: pages,
      deviceScaleFactor: options.view.deviceScaleFactor,
      scrollHeight: pageHeight,
      stoppedReason,
      truncated,
    },
    timings: { begun, shoot: performance.now() - begun, encode: 0 },
  };
}

/**
 * Makes the layout independent of the viewport's height, since print makes the paper the viewport: `100vh` would be the
 * whole page's height. All heights are in CSS px.
 * @returns whether the page looks the same on paper as in the view
 */
async function prepareForPaper(
  { page, options: { view } }: PictureOrder,
  { pageHeight, height, paperHeight }: { pageHeight: number; height: number; paperHeight: number },
): Promise<boolean> {
  const onPaper = async <Result>(look: () => Promise<Result>): Promise<Result> => {
    await setDensity(page, { ...view, height: Math.ceil(paperHeight) }, { scale: MEASURE_SCALE });
    const seen = await look();
    await setDensity(page, view);
    await page.call('frames.passFrames', 1, NO_FRAME_MS);
    return seen;
  };
  await page.call('print.recordQueries');
  await onPaper(() => page.call('print.keepChangedQueries'));
  await page.call('print.fixHeights');
  await page.call('print.placePinned', height);
  await page.call('print.recordLayout');
  return await onPaper(() => page.call('print.hasSameLayout', pageHeight));
}

async function packPixels(order: PictureOrder, scroll: ScrollReport): Promise<Picture> {
  const { page, session, begun, encodes } = order;
  await using store = await SectionStore.open(session.temporaryDir, false, order.debug);
  const { region, apart, found, ...reason } = await arrangeFullPage(order, scroll, 'png');
  const taken = await takeRows(order, region, { store, apart });
  const names = await page.call('print.documentNames');
  const strips = await store.strips();
  const shot = performance.now();
  const content = await encodes.run(strips.width * strips.height, () => pixelPdf(strips, { density: region.density, ...names }));
  const { width, height } = readPdf(content);
  return {
    content,
    width,
    height,
    ...found,
    diagnostics: diagnosticsOf(region, taken, reason),
    timings: { begun, shoot: shot - begun, encode: performance.now() - shot },
  };
}

/** interface.md has `quality` for jpeg and webp only. */
const PDF_ENCODING = { format: 'jpeg', quality: 90, transparent: false, resize: null, rotate: null, palette: null } as const;
const POINTS_PER_CSS_PX = 72 / 96;

/**
 * Makes a PDF of rendered pixels with one image per page, and as few pages as the format's largest page allows.
 * @param how.density px per CSS px
 * @param how.title the document's title; empty if it has none
 * @param how.language the document's declared language; empty if it declares none
 */
async function pixelPdf(
  strips: Strips,
  { density, title, language }: { density: number; title: string; language: string },
): Promise<Buffer> {
  // Loaded when first needed, since it would cost every start 20 MB and a tenth of a second.
  const { default: PDFDocument } = await import('pdfkit');
  const document = new PDFDocument({
    autoFirstPage: false,
    margin: 0,
    ...(title === '' ? {} : { info: { Title: title }, displayTitle: true }),
    ...(language === '' ? {} : { lang: language }),
  });
  const whole = buffer(document);
  const mostRows = Math.floor(PDF_PAGE_MAX_PX * density);
  for (let top = 0; top < strips.height; top += mostRows) {
    const rows = { top, height: Math.min(mostRows, strips.height - top) };
    const { content } = await encodeStrips(strips, PDF_ENCODING, rows);
    const [width, height] = [strips.width, rows.height].map((px) => (px / density) * POINTS_PER_CSS_PX) as [number, number];
    document.addPage({ size: [width, height], margin: 0 });
    document.image(content, 0, 0, { width, height });
  }
  document.end();
  return await whole;
}
