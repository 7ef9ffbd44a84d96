/** Checks that a page can be captured, and that page and picture are what the request expects. */

import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { Picture } from '../picture/picture.js';
import { refuseBlank, refuseWhite } from './blank-page.js';
import { monotonicNow, TIMED_OUT } from './deadline.js';
import { blockedByTarget } from './judge-document.js';
import type { DocumentState } from './main-document.js';
import type { OpenPage } from './open-page.js';
import { recogniseWall } from './wall-signs.js';

const XML_TYPES = /^(text\/xml|application\/xml|[^/]+\/[^;]+\+xml)$/i;
const IMAGE_TYPES = /^image\//i;
/** The minimum time for a page's response, whatever is left of the budget, which suffices for any responsive page. */
const ANSWER_MIN_MS = 1_500;
/** How long past the budget all checks together may take. */
const GRACE_MS = 3_000;
/** More text than any marker needs. The rest of a long page is not read. */
const TEXT_LIMITS = { maxChars: 2_000_000, titleMaxChars: 10_000 };
const LOOK_MAX_MS = 1_000;

/**
 * Checks that a page can be captured (no bot wall, no browser error page, not blank, not permanently busy), and performs the
 * request's own checks.
 * @throws CaptureError blocked_by_target, navigation_failed, render_incomplete, render_timeout; DocumentReplaced
 */
export async function checkPage(page: OpenPage, shown: DocumentState, options: CaptureOptions): Promise<void> {
  const { deadlines } = page;
  const checked = await deadlines.withTimeout(checkAll(page, shown, options), deadlines.budgetEndsAt + GRACE_MS - monotonicNow());
  if (checked === TIMED_OUT) throw tooBusy(deadlines.timeout);
}

async function checkAll(page: OpenPage, shown: DocumentState, options: CaptureOptions): Promise<void> {
  const { world, deadlines, tolerance } = page;
  const ms = Math.max(ANSWER_MIN_MS, deadlines.leftMs());
  const answer: Ask = (asked) => deadlines.withTimeout(asked, ms);
  const answerInTime = async <T>(asked: Promise<T>): Promise<T> => {
    const answered = await answer(asked);
    if (answered === TIMED_OUT) throw tooBusy(deadlines.timeout);
    return answered;
  };
  const tolerated = (check: Promise<void>): Promise<void> => check.catch((error: unknown) => tolerance.orThrow(error));
  const isView = options.selector !== null || !options.fullPage;
  const mayBeCovered = !isView || (options.selector === null && options.format !== 'pdf');
  const refuseWall = async () => {
    const vendor = await answerInTime(recogniseWall(world, shown));
    if (vendor !== null) throw blockedByTarget(shown.response?.status ?? null, vendor);
  };
  await Promise.all([
    // Restores our style sheets, which the page may have replaced, so that it is checked in the state that is captured.
    answer(world.call('edits.apply')),
    tolerated(refuseWall()),
    refuseUnreadable(world, shown.mimeType, answer),
    // Moving content may begin with a blank view.
    options.animate === null ? tolerated(refuseBlank(page, { ms, mayBeCovered })) : undefined,
  ]);
  if (options.failIfIncomplete) await tolerated(refuseIncomplete(world, answer));
  const markers = [...options.failIfContentMissing, ...options.failIfContentContains];
  if (markers.length === 0) return;
  // The page's own process compares the text, so that a long one delays no other capture.
  const found = await answerInTime(world.call('text.shows', markers, TEXT_LIMITS));
  await tolerated(refuseText(options, found));
}

type Ask = <T>(asked: Promise<T>) => Promise<T | typeof TIMED_OUT>;

/**
 * Fails invalid XML, which the browser shows as an error page, and images that cannot be decoded (decisions.md, Capture
 * semantics). Does not check HTML.
 * @throws CaptureError navigation_failed with `details.parse_error` for XML, DocumentReplaced
 */
async function refuseUnreadable(world: OpenPage['world'], type: string, answer: Ask): Promise<void> {
  if (XML_TYPES.test(type)) {
    const error = await answer(world.call('documents.parseError'));
    if (typeof error === 'string') throw unreadable(`XML that does not parse: ${error}`, { content_type: type, parse_error: error });
  } else if (IMAGE_TYPES.test(type) && (await answer(world.call('documents.isBrokenImage'))) === true) {
    throw unreadable(`an image (${type}) that cannot be decoded.`, { content_type: type });
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

/** Implements `fail_if_incomplete`: the detector of `wait_for_content`, plus images in the viewport and fonts that are pending. */
async function refuseIncomplete(world: OpenPage['world'], answer: Ask): Promise<void> {
  const look = await answer(world.call('content.inspect'));
  const seen = look === TIMED_OUT ? 'a page too busy to answer' : (look.seen ?? look.unfinished);
  if (seen !== null) throw incomplete('fail_if_incomplete', `the page shows ${seen}`, { seen });
}

/**
 * Implements `fail_if_content_missing` and `fail_if_content_contains`, which apply to title and visible text.
 * @param shown whether the page shows each of both lists' markers
 * @throws CaptureError render_incomplete that lists every missing or unwanted marker
 */
async function refuseText({ failIfContentMissing, failIfContentContains }: CaptureOptions, shown: boolean[]): Promise<void> {
  const quoted = (markers: string[]) => markers.map((marker) => `"${marker}"`).join(', ');
  const missing = failIfContentMissing.filter((_, index) => shown[index] !== true);
  if (missing.length > 0) throw incomplete('fail_if_content_missing', `the page does not show ${quoted(missing)}`, { missing });
  const found = failIfContentContains.filter((_, index) => shown[failIfContentMissing.length + index] === true);
  if (found.length > 0) throw incomplete('fail_if_content_contains', `the page shows ${quoted(found)}`, { found });
}

/**
 * Checks the encoded picture: that it is not all white, `min_capture_height` (output px) and `min_capture_bytes`.
 * @throws CaptureError render_incomplete with the required and the actual value
 */
export async function checkPicture(page: OpenPage, picture: Picture, options: CaptureOptions): Promise<void> {
  const { world, deadlines, tolerance } = page;
  const showsAll = options.selector === null && options.clip === null && !options.omitBackground;
  // A white drawing is content, such as the empty sheet of a drawing program.
  const isDrawn = async () =>
    (await deadlines.withTimeout(world.call('blank.hasDrawnCanvas'), LOOK_MAX_MS).catch(() => TIMED_OUT)) === true;
  const mayBeWhite = options.document === 'html' || options.format === 'pdf' || options.format === 'mp4' || picture.isMoving === true;
  if (!mayBeWhite && showsAll) await refuseWhite(picture, isDrawn).catch((error: unknown) => tolerance.orThrow(error));
  const atLeast = (check: string, required: number | null, seen: number, unit: string) => {
    if (required === null || seen >= required) return;
    tolerance.orThrow(incomplete(check, `the picture is ${seen} ${unit}, but at least ${required} were requested`, { required, seen }));
  };
  atLeast('min_capture_height', options.minCaptureHeight, picture.height, 'px high');
  atLeast('min_capture_bytes', options.minCaptureBytes, picture.content.byteLength, 'bytes');
}

function incomplete(check: string, what: string, details: Record<string, unknown>): CaptureError {
  return new CaptureError({ code: 'render_incomplete', message: `\`${check}\`: ${what}.`, details: { check, ...details } });
}
