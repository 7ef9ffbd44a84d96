import sharp from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { Sight } from '../in-page/blank.js';
import { WHITE_MIN } from '../picture/encode.js';
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
/** The maximum difference of red, green and blue from a nearly white or nearly black background. */
const NEAR = 24;
/** Greys may differ more from white or black, since applications have such backgrounds before they show anything. */
const NEARLY_GREY = { white: 35, black: 60 };

/** How long to wait for content on a page that shows nothing. */
const WAIT_MAX_MS = 5_000;
/** The time between two checks of a page whose network is idle. */
const CHECK_EVERY_MS = 250;

/**
 * Fails blank pages (decisions.md, Added), after waiting while the network is busy or a script may wait for a timer. Pixels
 * decide only if the document looks empty or cannot tell (frames, video).
 * A view in one background colour shows nothing, unless that colour is far from white and black and no application root is
 * empty. A white overlay may disappear, and a page that hides itself is shown.
 * @param how.ms time limit of each check
 * @param how.mayBeCovered whether a remaining overlay is accepted, because the picture shows more than the viewport, or is
 * checked itself (`refuseWhite`)
 * @throws CaptureError render_incomplete with `details.check: "blank"`, DocumentReplaced
 */
export async function refuseBlank(
  page: Pick<OpenPage, 'session' | 'world' | 'network' | 'deadlines'>,
  { ms, mayBeCovered }: { ms: number; mayBeCovered: boolean },
): Promise<void> {
  const { network, deadlines } = page;
  const patienceMs = Math.min(deadlines.leftMs(), WAIT_MAX_MS);
  const over = AbortSignal.timeout(patienceMs);
  let final = false;
  for (let sight = await inspectView(page, ms); sight !== 'something'; sight = await inspectView(page, ms)) {
    if ((final || over.aborted) && (sight === 'coloured' || (sight === 'covered' && mayBeCovered))) return;
    if ((final || over.aborted) && !(await reveal(page, ms))) throw blank();
    await deadlines.withTimeout(network.quiet(QUIET_MS, over), patienceMs);
    final = network.isIdle() && !(await mayChange(page, ms));
    if (!final) await deadlines.sleep(CHECK_EVERY_MS);
  }
}

async function mayChange({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<boolean> {
  return (await deadlines.withTimeout(world.call('activity.runsScript'), ms)) !== false;
}

async function reveal({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<boolean> {
  return (await deadlines.withTimeout(world.call('reveal.showHiddenPage'), ms)) === true;
}

/** `coloured` is a view of only the page's own background, in a colour that counts as content. */
async function inspectView(page: Pick<OpenPage, 'session' | 'world' | 'deadlines'>, ms: number): Promise<Sight | 'coloured'> {
  const look = await page.deadlines.withTimeout(page.world.call('blank.inspectView'), ms);
  if (look === TIMED_OUT || look.sight === 'something') return 'something';
  const shade = await shadeOfView(page, Math.min(ms, PIXEL_CHECK_MS));
  if (shade === null) return 'something';
  if (isEmptyView(shade)) return look.sight;
  if (!look.backdrops.some((colour) => shade.every((value, at) => Math.abs(value - (colour[at] ?? 0)) <= SAME_SHADE))) return 'something';
  return look.sight === 'covered' || look.hasEmptyRoot || isPaleOrDark(shade) ? look.sight : 'coloured';
}

function blank(): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: 'The page is blank: it shows nothing but its background.',
    details: { check: 'blank', seen: 'nothing' },
  });
}

/** Red, green and blue of a viewport that shows only one colour; null for any other. */
async function shadeOfView({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, ms: number): Promise<number[] | null> {
  const shot = await deadlines.withTimeout(pictureOfView(session), ms);
  if (shot === TIMED_OUT) return null;
  const { channels } = await sharp(Buffer.from(shot.data, 'base64')).stats();
  const shades = channels.slice(0, 3);
  return shades.some(({ min, max }) => min !== max) ? null : shades.map(({ min }) => min);
}

/** Whether the colour is Chromium's own background, light or dark. */
function isEmptyView(shade: number[]): boolean {
  return shade.every((value) => value >= WHITE_MIN) || shade.every((value) => value === DARK_SHADE);
}

function isPaleOrDark(shade: number[]): boolean {
  const [least, most] = [Math.min(...shade), Math.max(...shade)];
  if (least >= 255 - NEAR || most <= NEAR) return true;
  return most - least <= NEAR && (least >= 255 - NEARLY_GREY.white || most <= NEARLY_GREY.black);
}

/** A picture of the viewport at its scroll position. A clip is relative to the document, which may be scrolled. */
async function pictureOfView({ cdp }: OpenPage['session']): Promise<{ data: string }> {
  const { cssVisualViewport: view } = await cdp.send('Page.getLayoutMetrics');
  const scale = Math.min(1, PIXEL_CHECK_WIDTH_PX / view.clientWidth);
  const clip = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight, scale };
  return await cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true, clip });
}
