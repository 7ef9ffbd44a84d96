import sharp from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import type { Rgb, Sight } from '../in-page/blank.js';
import { WHITE_MIN } from './check-output.js';
import { TIMED_OUT } from './deadline.js';
import { QUIET_MS } from './network.js';
import type { OpenPage } from './open-page.js';

const PIXEL_CHECK_MS = 3_000;
/** A small picture of the view is enough to see whether there is anything. */
const PIXEL_CHECK_WIDTH_PX = 640;
/** Of red, green and blue: what `color-scheme: dark` has in place of white. */
const DARK_SHADE = 18;
/** Of red, green and blue: two that differ by no more are the same colour. */
const SAME_SHADE = 1;

/** A page that shows nothing while something of it may still come is given so long. */
const PATIENCE_MS = 5_000;
/** Between two looks at a page whose network has come to rest. */
const LOOK_EVERY_MS = 250;

/**
 * A blank page is never a success (decisions.md, Capture semantics), nor is it final while its network is busy, or while a script may wait
 * on a timer. Asks the document first; pixels decide only where it looks empty, or where only the picture can tell (frames, video): a view
 * of its background's one colour shows nothing. A white sheet over the page is waited for as well, and what hides itself whole to the end
 * is shown.
 *
 * @param how.ms for each look
 * @param how.mayBeCovered where such a sheet stays, the page passes: its picture shows more than the view, or is judged itself
 * (`refuseWhite`)
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
    if ((final || over.aborted) && sight === 'covered' && mayBeCovered) return;
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

async function see(page: Pick<OpenPage, 'session' | 'world' | 'deadlines'>, ms: number): Promise<Sight> {
  const look = await page.deadlines.within(page.world.call('blank.look'), ms);
  if (look === TIMED_OUT || look.sight === 'something') return 'something';
  return (await isBare(page, look.backdrops, Math.min(ms, PIXEL_CHECK_MS))) ? look.sight : 'something';
}

function blank(): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: 'The page is blank: it shows nothing but its background.',
    details: { check: 'blank', seen: 'nothing' },
  });
}

/** Whether the view shows nothing but one colour that lies behind the page: its own, or Chromium's. */
async function isBare({ session, deadlines }: Pick<OpenPage, 'session' | 'deadlines'>, backdrops: Rgb[], ms: number): Promise<boolean> {
  const shot = await deadlines.within(pictureOfView(session), ms);
  if (shot === TIMED_OUT) return false;
  const { channels } = await sharp(Buffer.from(shot.data, 'base64')).stats();
  const shades = channels.slice(0, 3);
  if (shades.some(({ min, max }) => min !== max)) return false;
  if (shades.every(({ min }) => min >= WHITE_MIN) || shades.every(({ min }) => min === DARK_SHADE)) return true;
  return backdrops.some((colour) => shades.every(({ min }, at) => Math.abs(min - (colour[at] ?? 0)) <= SAME_SHADE));
}

/** Of what the view shows where it stands: a clip is counted from the document's corner, and a page may have been scrolled. */
async function pictureOfView({ cdp }: OpenPage['session']): Promise<{ data: string }> {
  const { cssVisualViewport: view } = await cdp.send('Page.getLayoutMetrics');
  const scale = Math.min(1, PIXEL_CHECK_WIDTH_PX / view.clientWidth);
  const clip = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight, scale };
  return await cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true, clip });
}
