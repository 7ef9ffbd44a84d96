/** Fails pages that show nothing (decisions.md, Added): before the picture, and once more by the picture itself. */

import sharp from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { Sight } from '../in-page/blank.js';
import { type EncodedPicture, isAllWhite, WHITE_MIN } from '../picture/encode.js';
import { TIMED_OUT } from './deadline.js';
import { QUIET_MS } from './network.js';
import type { OpenPage } from './open-page.js';

const PIXEL_CHECK_MS = 3_000;
/** A small picture of the viewport is enough to find out whether it shows anything. */
const PIXEL_CHECK_WIDTH_PX = 640;
/** The red, green and blue values of the default background of `color-scheme: dark`. */
const DARK_SHADE = 18;
/** The tolerance of red, green and blue within which two colours are equal. */
const SAME_SHADE = 1;
/** Greys like these are backgrounds of applications before they show anything. */
const GREY_MAX_DIFFERENCE = 24;
const PALE_MIN = 220;
const DARK_MAX = 60;

/** How long to wait for content on a page that shows nothing. */
const WAIT_MAX_MS = 5_000;
/** The time between two checks of a page whose network is idle. */
const CHECK_EVERY_MS = 250;

/**
 * Fails a blank page, after waiting while the network is busy or a script may wait for a timer. Pixels decide only if the
 * document looks empty or cannot tell (frames, video). A white overlay may disappear, and a page that hides itself is shown.
 * @param how.ms time limit of each check
 * @param how.mayBeCovered whether a remaining overlay is accepted, because the picture shows more than the viewport, or is
 * checked itself (`refuseWhite`)
 * @throws CaptureError render_incomplete with `details.check: "blank"`, DocumentReplaced
 */
export async function refuseBlank(page: OpenPage, { ms, mayBeCovered }: { ms: number; mayBeCovered: boolean }): Promise<void> {
  const { network, deadlines, world } = page;
  const patienceMs = Math.min(deadlines.leftMs(), WAIT_MAX_MS);
  const over = AbortSignal.timeout(patienceMs);
  let isFinal = false;
  for (;;) {
    const sight = await inspectView(page, ms);
    if (sight === 'something') return;
    if (isFinal || over.aborted) {
      if (sight === 'coloured' || (sight === 'covered' && mayBeCovered)) return;
      const isRevealed = await deadlines.withTimeout(world.call('blank.showHiddenPage'), ms);
      if (isRevealed !== true) throw blank('The page is blank: it shows nothing but its background.', 'nothing');
    }
    await deadlines.withTimeout(network.quiet(QUIET_MS, over), patienceMs);
    isFinal = network.isIdle() && (await deadlines.withTimeout(world.call('readiness.runsScript'), ms)) === false;
    if (!isFinal) await deadlines.sleep(CHECK_EVERY_MS);
  }
}

/**
 * A view in one background colour shows nothing, unless that colour is far from white and black (`coloured`) and no
 * application root is empty.
 */
async function inspectView({ session, world, deadlines }: OpenPage, ms: number): Promise<Sight | 'coloured'> {
  const look = await deadlines.withTimeout(world.call('blank.inspectView'), ms);
  if (look === TIMED_OUT || look.sight === 'something') return 'something';
  const colour = await deadlines.withTimeout(colourOfView(session), Math.min(ms, PIXEL_CHECK_MS));
  if (colour === TIMED_OUT || colour === null) return 'something';
  const [least, most] = [Math.min(...colour), Math.max(...colour)];
  const isDefault = least >= WHITE_MIN || (least === DARK_SHADE && most === DARK_SHADE);
  if (isDefault) return look.sight;
  const isSame = (backdrop: number[]) => colour.every((value, at) => Math.abs(value - (backdrop[at] ?? 0)) <= SAME_SHADE);
  if (!look.backdrops.some(isSame)) return 'something';
  const isPaleOrDark = most - least <= GREY_MAX_DIFFERENCE && (least >= PALE_MIN || most <= DARK_MAX);
  return look.sight === 'covered' || look.hasEmptyRoot || isPaleOrDark ? look.sight : 'coloured';
}

/** Red, green and blue of a viewport that shows only one colour; null for any other. */
async function colourOfView({ cdp }: OpenPage['session']): Promise<number[] | null> {
  // A clip is relative to the document, which may be scrolled.
  const { cssVisualViewport: view } = await cdp.send('Page.getLayoutMetrics');
  const scale = Math.min(1, PIXEL_CHECK_WIDTH_PX / view.clientWidth);
  const clip = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight, scale };
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true, clip });
  const { channels } = await sharp(Buffer.from(data, 'base64')).stats();
  const colours = channels.slice(0, 3);
  return colours.some(({ min, max }) => min !== max) ? null : colours.map(({ min }) => min);
}

/**
 * The last check for empty pages: an all-white picture shows nothing, whatever the document contains.
 * @param mayBeWhite called for such a picture; returns whether the page has painted the white itself
 * @throws CaptureError render_incomplete with `details.check: "blank"`
 */
export async function refuseWhite(picture: EncodedPicture & { wasWhite?: boolean }, mayBeWhite: () => Promise<boolean>): Promise<void> {
  if (!(picture.wasWhite ?? (await isAllWhite(picture))) || (await mayBeWhite())) return;
  throw blank('The picture is completely white: the page shows nothing.', 'white');
}

function blank(message: string, seen: 'nothing' | 'white'): CaptureError {
  return new CaptureError({ code: 'render_incomplete', message, details: { check: 'blank', seen } });
}
