import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { monotonicNow } from '../monotonic-now.js';
import { refuseBlank } from './blank-page.js';
import { recogniseWall } from './wall-signs.js';
import { TIMED_OUT } from './deadline.js';
import { blockedByTarget } from './judge-document.js';
import type { DocumentState } from './main-document.js';
import type { OpenPage } from './open-page.js';
import { refuseIncomplete } from './wait-for-content.js';

const XML_TYPES = /^(text\/xml|application\/xml|[^/]+\/[^;]+\+xml)$/i;
const IMAGE_TYPES = /^image\//i;
/** The minimum time for a page's response, whatever is left of the budget, which suffices for any responsive page. */
const ANSWER_MIN_MS = 1_500;
/** How long past the budget all checks together may take. */
const GRACE_MS = 3_000;

type Checked = Omit<OpenPage, 'main'>;
type CheckOptions = Pick<
  CaptureOptions,
  'failIfIncomplete' | 'failIfContentMissing' | 'failIfContentContains' | 'selector' | 'fullPage' | 'format'
>;

/**
 * Checks that a page can be captured (no bot wall, no browser error page, not blank, not permanently busy), and performs the
 * request's own checks.
 * @throws CaptureError blocked_by_target, navigation_failed, render_incomplete, render_timeout; DocumentReplaced
 */
export async function checkPage(page: Checked, shown: DocumentState, options: CheckOptions): Promise<void> {
  const { deadlines } = page;
  const checked = await deadlines.withTimeout(checkAll(page, shown, options), deadlines.budgetEndsAt + GRACE_MS - monotonicNow());
  if (checked === TIMED_OUT) throw tooBusy(deadlines.timeout);
}

async function checkAll(page: Checked, shown: DocumentState, options: CheckOptions): Promise<void> {
  const ms = Math.max(ANSWER_MIN_MS, page.deadlines.leftMs());
  const isView = options.selector !== null || !options.fullPage;
  const mayBeCovered = !isView || (options.selector === null && options.format !== 'pdf');
  // Restores our style sheets, which the page may have replaced, so that it is checked in the state that is captured.
  const edited = page.deadlines.withTimeout(page.world.call('edits.apply'), ms);
  const tolerated = (check: Promise<void>): Promise<void> => check.catch((error: unknown) => page.tolerance.orThrow(error));
  await Promise.all([
    edited,
    tolerated(refuseWall(page, shown, ms)),
    refuseUnreadable(page, shown, ms),
    tolerated(refuseBlank(page, { ms, mayBeCovered })),
  ]);
  if (options.failIfIncomplete) await tolerated(refuseIncomplete(page, ms));
  if (!asksForText(options)) return;
  const answered = await checkContent(page, options, ms).catch((error: unknown) => page.tolerance.orThrow(error));
  if (answered === false) throw tooBusy(page.deadlines.timeout);
}

async function refuseWall({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, shown: DocumentState, ms: number): Promise<void> {
  const vendor = await deadlines.withTimeout(recogniseWall(world, shown), ms);
  if (vendor === TIMED_OUT) throw tooBusy(deadlines.timeout);
  if (vendor !== null) throw blockedByTarget(shown.response?.status ?? null, vendor);
}

/**
 * Fails invalid XML, which the browser shows as an error page, and images that cannot be decoded (decisions.md, Capture
 * semantics). Does not check HTML.
 * @throws CaptureError navigation_failed with `details.parse_error` for XML, DocumentReplaced
 */
async function refuseUnreadable(
  { world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>,
  { mimeType }: DocumentState,
  ms: number,
): Promise<void> {
  if (XML_TYPES.test(mimeType)) {
    const error = await deadlines.withTimeout(world.call('documents.parseError'), ms);
    if (typeof error === 'string') throw unreadable(`XML that does not parse: ${error}`, { content_type: mimeType, parse_error: error });
  } else if (IMAGE_TYPES.test(mimeType)) {
    const broken = await deadlines.withTimeout(world.call('documents.isBrokenImage'), ms);
    if (broken === true) throw unreadable(`an image (${mimeType}) that cannot be decoded.`, { content_type: mimeType });
  }
}

function unreadable(what: string, details: Record<string, string>): CaptureError {
  return new CaptureError({ code: 'navigation_failed', message: `The target is ${what}`, retriable: false, details });
}

function tooBusy(timeout: number): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `The page's scripts kept it too busy to be captured within \`timeout\` (${timeout} ms).`,
    details: { waited_for: 'page' },
  });
}

/** More text than any marker needs. The rest of a long page is not read. */
const TEXT_MAX_CHARS = 2_000_000;
const TITLE_MAX_CHARS = 10_000;

type Markers = Pick<CaptureOptions, 'failIfContentMissing' | 'failIfContentContains'>;

/** Whether the checks need the page's text. */
function asksForText({ failIfContentMissing, failIfContentContains }: Markers): boolean {
  return failIfContentMissing.length > 0 || failIfContentContains.length > 0;
}

/**
 * Checks `fail_if_content_missing` and `fail_if_content_contains` on title and visible text, ignoring case and white space.
 * The page's own process compares the text, so that a long one delays no other capture.
 * @returns false if the page did not respond within `ms`
 * @throws CaptureError render_incomplete that lists every missing or unwanted marker; DocumentReplaced
 */
async function checkContent({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, markers: Markers, ms: number): Promise<boolean> {
  const { failIfContentMissing, failIfContentContains } = markers;
  const wanted = [...failIfContentMissing, ...failIfContentContains];
  const limits = { maxChars: TEXT_MAX_CHARS, titleMaxChars: TITLE_MAX_CHARS };
  const shown = await deadlines.withTimeout(world.call('text.shows', wanted, limits), ms);
  if (shown === TIMED_OUT) return false;
  const missing = failIfContentMissing.filter((_, index) => shown[index] !== true);
  if (missing.length > 0) throw incomplete('fail_if_content_missing', `the page does not show ${quoted(missing)}`, { missing });
  const found = failIfContentContains.filter((_, index) => shown[failIfContentMissing.length + index] === true);
  if (found.length > 0) throw incomplete('fail_if_content_contains', `the page shows ${quoted(found)}`, { found });
  return true;
}

function incomplete(check: string, what: string, details: Record<string, unknown>): CaptureError {
  return new CaptureError({ code: 'render_incomplete', message: `\`${check}\`: ${what}.`, details: { check, ...details } });
}

function quoted(markers: string[]): string {
  return markers.map((marker) => `"${marker}"`).join(', ');
}
