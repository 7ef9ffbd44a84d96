/** The report of a finished capture besides its picture: warnings, and the changes made to the page. */

import type { CaptureChanges, CaptureWarning } from '../contract/capture-data.js';
import {
  type CaptureOptions,
  HTML_DOCUMENT_URL,
  isAtReservedOrigin,
  isOwnDocument,
} from '../contract/capture-request.js';
import { FULL_WIDTH_MAX_PX } from '../contract/limits.js';
import { fileNameOf, requestPath } from '../contract/page-files.js';
import { TIMED_OUT } from './deadlines.js';
import type { PageChanges } from './in-page/changes.js';
import { describeMissingFonts } from './page/check-page.js';
import type { OpenPage, PendingGroup } from './page/open-page.js';
import type { PageSession } from './page-session.js';
import { PAGE_NUMBERS_UNSETTLED } from './picture/pdf-picture.js';
import type { Picture } from './picture/region-picture.js';

const LOOK_MAX_MS = 500;
const FILES_NAMED_MAX = 5;
const FILE_MAX_CHARS = 100;
const HOSTS_NAMED_MAX = 3;
const CHANGES_MAX_MS = 1_000;
const LISTED_MAX = 50;
const NO_SIGN = { sign: null, endsByTimer: false, installs: false };
const NO_CHANGES: PageChanges = { hidden: [], expanded: [], pinned: [], pictured: [], scrollUnlocked: false };

export type BlockedAndBanner = Pick<CaptureChanges, 'blocked' | 'banner' | 'popups'>;

/** The answer of a page, or `otherwise` if it fails to answer in time. */
async function answerOr<T>(
  { deadlines }: OpenPage,
  question: Promise<T>,
  { ms, otherwise }: { ms: number; otherwise: T },
): Promise<T> {
  const answered = await deadlines.within(question, ms).catch((): typeof TIMED_OUT => TIMED_OUT);
  deadlines.signal.throwIfAborted();
  return answered === TIMED_OUT ? otherwise : (answered as T);
}

/** Reports the changes made to a page, after its picture was taken. Parts that the page does not report in time are empty. */
export async function explain(
  page: OpenPage,
  guard: { explain(): Promise<BlockedAndBanner> },
): Promise<CaptureChanges> {
  const answer = page.world.callWithTimeout(CHANGES_MAX_MS, 'changes.report');
  const nothing: BlockedAndBanner = { blocked: [], banner: { outcome: 'none', platform: null }, popups: null };
  const [{ hidden, expanded, pinned, pictured, scrollUnlocked }, guarded] = await Promise.all([
    answerOr(page, answer, { ms: CHANGES_MAX_MS, otherwise: NO_CHANGES }),
    answerOr(page, guard.explain(), { ms: CHANGES_MAX_MS, otherwise: nothing }),
  ]);
  return {
    ...guarded,
    hidden: hidden.slice(0, LISTED_MAX),
    expanded: expanded.slice(0, LISTED_MAX),
    pinned: pinned.slice(0, LISTED_MAX),
    pictured: pictured.slice(0, LISTED_MAX),
    scrollUnlocked,
    clock: { ...page.clock },
  };
}

/** Names of the files that a document without a server of its own requests. Must be called before the navigation. */
export function watchMissingFiles({ cdp }: Pick<PageSession, 'cdp'>, options: CaptureOptions): ReadonlySet<string> {
  const missing = new Set<string>();
  if (!isAtReservedOrigin(options)) return missing;
  const names = new Set(options.files?.list.map(({ name }) => name));
  cdp.on('Network.requestWillBeSent', ({ request: { url } }) => {
    if (!url.startsWith(HTML_DOCUMENT_URL)) return;
    const path = requestPath(url.slice(HTML_DOCUMENT_URL.length - 1));
    if (path !== null && names.has(fileNameOf(path))) return;
    const name = url.slice(HTML_DOCUMENT_URL.length, HTML_DOCUMENT_URL.length + FILE_MAX_CHARS);
    if (name !== '' && missing.size < FILES_NAMED_MAX) missing.add(name);
  });
  return missing;
}

/**
 * Warnings about unexpected properties of a finished picture (capture-data.ts, WARNING_CODES), without failures that
 * `tolerate` allowed.
 */
export async function warningsOf(
  page: OpenPage,
  options: CaptureOptions,
  { picture, missing }: { picture: Picture; missing: ReadonlySet<string> },
): Promise<CaptureWarning[]> {
  const warnings = [
    ...pictureWarnings(picture, options),
    missingFiles(missing, options),
    resourcesFailed(page.network.failedResources()),
    (await asksForPassword(page, options)) ? REDIRECTED_TO_LOGIN : null,
    page.realTime && !options.realTime ? LOADED_IN_REAL_TIME : null,
    await stillWaiting(page),
  ];
  return warnings.filter((warning) => warning !== null);
}

/** The warnings that the picture itself gives, for one of several as well. */
export function pictureWarnings(picture: Picture, options: CaptureOptions): CaptureWarning[] {
  const warnings = [
    pdfNotOnPaper(options),
    pdfWithoutText(picture, options),
    densityLowered(picture, options),
    contentCut(picture, options),
    scaledToFit(picture),
    contentMissing(picture, options),
    picture.isUnsettled === true ? PAGE_NUMBERS_UNSETTLED : null,
  ];
  return warnings.filter((warning) => warning !== null);
}

function pdfNotOnPaper({ format, fullPage, pdf, view }: CaptureOptions): CaptureWarning | null {
  if (format !== 'pdf' || fullPage || pdf !== null) return null;
  const fact = `The PDF shows the page as on a screen, on pages of the viewport's size (${view.width}×${view.height} px).`;
  const message = `${fact} Add \`pdf: {}\` to print it on paper, with page breaks, margins, header and footer, or \`full_page: true\` for one long page.`;
  return { code: 'pdf_not_on_paper', message };
}

function pdfWithoutText(
  { diagnostics }: Picture,
  { format, fullPageAlgorithm }: CaptureOptions,
): CaptureWarning | null {
  if (format !== 'pdf' || diagnostics.algorithm !== 'by_sections') return null;
  const fact = 'The PDF holds pictures of the page: its text cannot be selected or searched.';
  const way =
    fullPageAlgorithm === 'native'
      ? 'The browser cannot print this page on one page as it looks; leave `full_page` out for several pages with text.'
      : 'Set `full_page_algorithm` to `native` for one long page with text, or leave `full_page` out for several pages.';
  return { code: 'pdf_without_text', message: `${fact} ${way}` };
}

function densityLowered({ diagnostics }: Picture, { format, view, resize }: CaptureOptions): CaptureWarning | null {
  const { deviceScaleFactor: density } = diagnostics;
  if (resize !== null || density >= view.deviceScaleFactor) return null;
  const message = `The picture has ${density} pixels per CSS pixel: with ${view.deviceScaleFactor}, as requested, it would be too large for ${format}.`;
  return { code: 'density_lowered', message };
}

function contentCut({ cut }: Picture, { fullWidth, format }: CaptureOptions): CaptureWarning | null {
  if (cut === undefined) return null;
  const { pageWidth, shownWidth, side } = cut;
  const fact = `The page is ${pageWidth} CSS px wide: what lies to the ${side} of the ${shownWidth} px in the picture is left out.`;
  const wider = format === 'pdf' ? 'A wider `viewport` may fit it.' : '`full_width: true` takes all of it.';
  const way = fullWidth ? `\`full_width\` takes at most ${FULL_WIDTH_MAX_PX} px.` : wider;
  return { code: `content_cut_${side}`, message: `${fact} ${way}` };
}

function scaledToFit({ fitted }: Picture): CaptureWarning | null {
  if (fitted === undefined) return null;
  const fact = `The page is wider than the paper and is printed at a scale of ${Number(fitted.scale.toFixed(2))} to fit`;
  const rest = fitted.isCut ? ', but what is wider still is cut off.' : '.';
  const way = 'A wider paper or `pdf.landscape` keeps it larger; `pdf.fit_width: false` cuts it off instead.';
  return { code: 'scaled_to_fit', message: `${fact}${rest} ${way}` };
}

function contentMissing({ lacksContent, diagnostics }: Picture, { format }: CaptureOptions): CaptureWarning | null {
  if (lacksContent !== true) return null;
  const fact =
    'The page shows some of its content, such as rows of a virtualized list, only while it is scrolled there. The picture lacks it.';
  const wanted =
    format === 'pdf' ? '`full_page` and `full_page_algorithm: by_sections`' : '`full_page_algorithm: by_sections`';
  const way = diagnostics.algorithm === 'by_sections' ? '' : ` A picture with ${wanted} has the rows of lists.`;
  return { code: 'content_missing', message: fact + way };
}

function missingFiles(missing: ReadonlySet<string>, { files }: CaptureOptions): CaptureWarning | null {
  if (missing.size === 0) return null;
  const names = [...missing].join(', ');
  const message =
    files === null
      ? `\`html\` refers to files that it does not contain: ${names}. Set \`base_url\` to the address that has them, or embed them as data URLs.`
      : `The page refers to files that were not sent with it: ${names}.`;
  return { code: 'missing_file', message };
}

const KIND_NAMES: Record<string, string> = {
  image: 'image',
  stylesheet: 'style sheet',
  script: 'script',
  font: 'font',
};

function resourcesFailed(failed: readonly PendingGroup[]): CaptureWarning | null {
  if (failed.length === 0) return null;
  const counts = Object.entries(KIND_NAMES).flatMap(([kind, name]) => {
    const count = failed.filter((group) => group.kind === kind).reduce((sum, group) => sum + group.count, 0);
    return count === 0 ? [] : [`${count} ${name}${count === 1 ? '' : 's'}`];
  });
  // The command line serves files at a name of its own below localhost, which says nothing to its user.
  const hosts = [...new Set(failed.map(({ host }) => host))].filter(
    (host) => host !== '' && !/\.localhost(?::\d+)?$/.test(host),
  );
  const named = hosts.slice(0, HOSTS_NAMED_MAX).map((host) => host.slice(0, FILE_MAX_CHARS));
  const rest = hosts.length > named.length ? ` and ${hosts.length - named.length} more` : '';
  const from = named.length === 0 ? '' : ` (${named.join(', ')}${rest})`;
  const message = `The page could not load ${counts.join(', ')}${from}, so it may look different from what was intended. \`inspect_page\` lists the failed requests.`;
  return { code: 'resources_failed', message };
}

/** The warning about fonts, in a list; null if the page does not answer, or has its fonts. Never rejects. */
export async function substitutedFonts(
  { world, deadlines }: OpenPage,
  { blockResources }: CaptureOptions,
): Promise<CaptureWarning[] | null> {
  if (blockResources.includes('font')) return null;
  const answer = world.callWithTimeout(LOOK_MAX_MS, 'fonts.missing');
  const found = await deadlines.within(answer, LOOK_MAX_MS).catch((): typeof TIMED_OUT => TIMED_OUT);
  const sentence = found === TIMED_OUT ? null : describeMissingFonts(found);
  if (sentence === null) return null;
  const message = `In the page, ${sentence}. \`stillframe fonts add\` installs fonts, and \`fail_if_font_missing\` fails such a capture.`;
  return [{ code: 'font_substituted', message }];
}

const LOADED_IN_REAL_TIME: CaptureWarning = {
  code: 'loaded_in_real_time',
  message:
    "The page's server refused what its scripts asked for once the page's clock had run ahead (401 or 403), so the page was loaded again in real time. `real_time: true` does so at once.",
};

async function stillWaiting(page: OpenPage): Promise<CaptureWarning | null> {
  if (!page.isOutOfTime) return null;
  const { sign } = await answerOr(page, page.world.call('content.waitingSign'), {
    ms: LOOK_MAX_MS,
    otherwise: NO_SIGN,
  });
  if (sign === null) return null;
  const message = `The page still showed ${sign} when its picture was taken, and was working or waiting for its server. \`wait_for_selector\` or \`delay\` waits longer.`;
  return { code: 'still_waiting', message };
}

const REDIRECTED_TO_LOGIN: CaptureWarning = {
  code: 'redirected_to_login',
  message: 'The page shown is not the one requested, and asks for a password: the login may have expired.',
};

async function asksForPassword(page: OpenPage, options: CaptureOptions): Promise<boolean> {
  if (isOwnDocument(options) || hostAndPath(page.session.page.url()) === hostAndPath(options.url)) return false;
  return await answerOr(page, page.world.call('documents.asksForPassword'), { ms: LOOK_MAX_MS, otherwise: false });
}

function hostAndPath(url: string): string {
  const { host, pathname } = new URL(url);
  return host.replace(/^www\./, '') + pathname.replace(/(?<!\/)\/+$/, '');
}
