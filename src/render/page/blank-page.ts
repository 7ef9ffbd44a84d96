import sharp from 'sharp';
import { CaptureError } from '../../contract/capture-error.js';
import { LATE } from './deadline.js';
import { QUIET_MS } from './network.js';
import type { OpenPage } from './open-page.js';
import type { PageKit } from './page-kit.js';

const PIXEL_CHECK_MS = 3_000;
/** A small picture of the view is enough to see whether there is anything. */
const PIXEL_CHECK_WIDTH_PX = 640;
/** Of red, green and blue: white, and what `color-scheme: dark` has in its place. */
const BARE_SHADES = [255, 18];

/** A page that shows nothing while something of it may still come is given so long. */
const PATIENCE_MS = 5_000;
/** Between two looks at a page whose network has come to rest. */
const LOOK_EVERY_MS = 250;

/**
 * A blank page is never a success (decisions.md, Capture semantics), nor is it final while its network is busy, or while a script may wait
 * on a timer. Asks the document first; pixels decide only where it looks empty, or where only the picture can tell (canvas, frames, video).
 *
 * @throws CaptureError render_incomplete with `details.check: "blank"`, PageMoved
 */
export async function refuseBlank(page: Pick<OpenPage, 'stage' | 'world' | 'network' | 'deadlines'>, ms: number): Promise<void> {
  const { network, deadlines } = page;
  const patienceMs = Math.min(deadlines.leftMs(), PATIENCE_MS);
  const over = AbortSignal.timeout(patienceMs);
  for (let final = false; await isBlank(page, ms); ) {
    if (final || over.aborted) throw blank();
    await deadlines.within(network.quiet(QUIET_MS, over), patienceMs);
    final = network.isIdle() && !(await mayChange(page, ms));
    if (!final) await deadlines.sleep(LOOK_EVERY_MS);
  }
}

async function mayChange({ world, deadlines }: Pick<OpenPage, 'world' | 'deadlines'>, ms: number): Promise<boolean> {
  return (await deadlines.within(world.run(runsScript, null), ms)) !== false;
}

/** Runs in the page. A frame may hold a script of its own. */
function runsScript(kit: PageKit): boolean {
  const programs = 'script:not([type]),script[type=""],script[type*=javascript i],script[type=module i]';
  return kit.all(`${programs},iframe,frame,object,embed,[onload],[onerror],[onpageshow]`).length > 0;
}

async function isBlank(page: Pick<OpenPage, 'stage' | 'world' | 'deadlines'>, ms: number): Promise<boolean> {
  const something = await page.deadlines.within(page.world.run(showsSomething, null), ms);
  return something !== true && something !== LATE && (await isBare(page, Math.min(ms, PIXEL_CHECK_MS)));
}

function blank(): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: 'The page is blank: it shows no text, no picture and no colour.',
    details: { check: 'blank', seen: 'nothing' },
  });
}

/** Whether the view shows nothing but what Chromium itself paints behind a page. */
async function isBare({ stage, deadlines }: Pick<OpenPage, 'stage' | 'deadlines'>, ms: number): Promise<boolean> {
  const shot = await deadlines.within(pictureOfView(stage), ms);
  if (shot === LATE) return false;
  const { channels } = await sharp(Buffer.from(shot.data, 'base64')).stats();
  const [shade = 0] = channels.map(({ min }) => min);
  return BARE_SHADES.includes(shade) && channels.slice(0, 3).every(({ min, max }) => min === shade && max === shade);
}

/** Of what the view shows where it stands: a clip is counted from the document's corner, and a page may have been scrolled. */
async function pictureOfView({ cdp }: OpenPage['stage']): Promise<{ data: string }> {
  const { cssVisualViewport: view } = await cdp.send('Page.getLayoutMetrics');
  const scale = Math.min(1, PIXEL_CHECK_WIDTH_PX / view.clientWidth);
  const clip = { x: view.pageX, y: view.pageY, width: view.clientWidth, height: view.clientHeight, scale };
  return await cdp.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true, clip });
}

/** Runs in the page. Text or a picture anywhere, or a coloured box; false when in doubt. */
function showsSomething(kit: PageKit): boolean {
  const LOOKED_AT = 5_000;
  const root: Element | null = kit.documentProperty('documentElement');
  if (root === null) return false;
  if (root.namespaceURI !== 'http://www.w3.org/1999/xhtml') {
    return kit.documentProperty('contentType') !== 'image/svg+xml' && (root.textContent ?? '').trim() !== '';
  }
  let moving: Element[] | undefined;
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let looked = 0; looked < LOOKED_AT && texts.nextNode(); looked++) {
    const parent = texts.currentNode.parentElement;
    if ((texts.currentNode.nodeValue ?? '').trim() !== '' && parent !== null && isShown(parent)) return true;
  }
  let looked = 0;
  for (const element of root.getElementsByTagName('*')) {
    if (++looked > LOOKED_AT) return true;
    if (!isShown(element)) continue;
    if (element instanceof HTMLImageElement && element.naturalWidth > 1) return true;
    if (/^(input|button|select|textarea|progress|meter|hr)$/i.test(element.tagName)) return true;
    if (isPainted(element)) return true;
  }
  return isColoured(root) || isColoured(kit.body());

  /** What has just begun to fade in is transparent only now: the picture is taken of its end. */
  function isShown(element: Element): boolean {
    if (!kit.isVisible(element)) return false;
    if (Element.prototype.checkVisibility.call(element, { opacityProperty: true })) return true;
    moving ??= movingElements();
    return moving.some((target) => target.contains(element));
  }

  function movingElements(): Element[] {
    const running = Document.prototype.getAnimations
      .call(document)
      .filter(({ playState, effect }) => playState === 'running' && effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY)
      .map(({ effect }) => effect);
    return running.flatMap((effect) => (effect instanceof KeyframeEffect && effect.target !== null ? [effect.target] : []));
  }

  function isPainted(element: Element): boolean {
    const box = element.getBoundingClientRect();
    if (box.width * box.height < 4) return false;
    if (element !== root && element !== kit.body() && isColoured(element)) return true;
    const style = getComputedStyle(element);
    return ['Top', 'Right', 'Bottom', 'Left'].some((side) => {
      const width = Number.parseFloat(style.getPropertyValue(`border-${side.toLowerCase()}-width`));
      return width > 0 && kit.alphaOf(style.getPropertyValue(`border-${side.toLowerCase()}-color`)) > 0;
    });
  }

  /** Plain white is what an empty page looks like. */
  function isColoured(element: Element | null): boolean {
    if (element === null) return false;
    const colour = getComputedStyle(element).backgroundColor;
    return kit.alphaOf(colour) > 0.02 && !/^rgba?\(255, 255, 255/.test(colour);
  }
}
