import sharp from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { Sight } from '../in-page/blank.js';
import { WHITE_MIN } from '../picture/all-white.js';
import { TIMED_OUT } from './deadline.js';
import { QUIET_MS } from './network.js';
import type { OpenPage } from './open-page.js';

const PIXEL_CHECK_MS = 3_000;
/** A small picture of the viewport is enough to see whether it shows anything. */
const PIXEL_CHECK_WIDTH_PX = 640;
/** Red, green and blue of the default background of `color-scheme: dark`. */
const DARK_SHADE = 18;
/** Tolerance of red, green and blue, within which two colours are equal. */
const SAME_SHADE = 1;
/** Red, green and blue of a background that is nearly white or nearly black are at most this far from it. */
const NEARLY = 24;
/** A grey may be that far from white or black: applications have such backgrounds before they show anything. */
const NEARLY_GREY = { white: 35, black: 60 };

/** How long a page that shows nothing may take while its content may still come. */
const PATIENCE_MS = 5_000;
/** Time between two checks of a page whose network is idle. */
const LOOK_EVERY_MS = 250;

/**
 * Fails blank pages (decisions.md, Added), but waits while the network is busy, or while a script may wait for a timer. Checks the
 * document first; pixels decide only if it looks empty, or if only the picture can tell (frames, video): a viewport in a single background
 * colour shows nothing, unless that colour is neither nearly white nor nearly black and no application root stayed empty.
 * Also waits for a white overlay to disappear, and shows a page that keeps itself hidden.
 *
 * @param how.ms time limit of each check
 * @param how.mayBeCovered whether the page passes if the overlay stays, because its picture shows more than the viewport, or is checked
 * itself (`refuseWhite`)
 * @throws CaptureError render_incomplete with `details.check: "blank"`, PageMoved
 */
export async function refuseBlank(
  page: Pick<OpenPage, 'session' | 'world' | 'network' | 'deadlines'>,
  { ms, mayBeCovered }: { ms: number; mayBeCovered: boolean },
): Promise<void> {
  const { network, deadlines } = page;
  const patienceMs = Math.min(deadlines.leftMs(), PATIENCE_MS);
  const over = AbortSignal.timeout(patienceMs);
  let final = false;
  for (let sight = await see(page, ms); sight !== 'something'; sight = await see(page, ms)) {
    if ((final || over.aborted) && (sight === 'coloured' || (sight === 'covered' && mayBeCovered))) return;
    if ((final || over.aborted) && !(await reveal(page, ms))) throw blank();
    await deadlines.within(network.quiet(QUIET_MS, over), patienceMs);
    final = network.isIdle() && !(await mayChange(page, ms));
    if (!final) await deadlines.sleep(LOOK_EVERY_MS);
  }
}

async function mayChange({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<boolean> {
  return (await deadlines.within(world.call('activity.runsScript'), ms)) !== false;
}

async function reveal({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<boolean> {
  return (await deadlines.within(world.call('reveal.hiddenPage'), ms)) === true;
}

/** `coloured`: nothing but the page's own background, in a colour that is a picture. */
async function see(page: Pick<OpenPage, 'session' | 'world' | 'deadlines'>, ms: number): Promise<Sight | 'coloured'> {
  const look = await page.deadlines.within(page.world.call('blank.look'), ms);
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
  const shot = await deadlines.within(pictureOfView(session), ms);
  if (shot === TIMED_OUT) return null;
  const { channels } = await sharp(Buffer.from(shot.data, 'base64')).stats();
  const shades = channels.slice(0, 3);
  return shades.some(({ min, max }) => min !== max) ? null : shades.map(({ min }) => min);
}

/** Chromium's own background, light or dark. */
function isEmptyView(shade: number[]): boolean {
  return shade.every((value) => value >= WHITE_MIN) || shade.every((value) => value === DARK_SHADE);
}

function isPaleOrDark(shade: number[]): boolean {
  const [least, most] = [Math.min(...shade), Math.max(...shade)];
  if (least >= 255 - NEARLY || most <= NEARLY) return true;
  return most - least <= NEARLY && (least >= 255 - NEARLY_GREY.white || most <= NEARLY_GREY.black);
}

/** A picture of the viewport at its scroll position: a clip is relative to the document, which may be scrolled. */
async function pictureOfView({ cdp }: OpenPage['session']): Promise<{ data: string }> {
  const { cssVisualViewport: view } = await cdp.send('Page.getLayoutMetrics');
  const scale = Math.min(1, PIXEL_CHECK_WIDTH_PX / view.clientWidth);
  const clip = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight, scale };
  return await cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true, clip });
}
