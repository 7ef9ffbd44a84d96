import { force } from '../styles.js';
import { backdropOnTop } from './backdrop.js';
import { type Banner, documentAsBanner, findBanners, isShown } from './overlays.js';

/** Declines or hides banners that no consent platform's rule handled. Runs in the page's isolated world. */

export interface Dismissal {
  /** The number of banners that disappeared after a click on their refusal. */
  refused: number;
  /** The number of banners that were hidden, declined or not. */
  hidden: number;
}

/** How long a declined banner may take to disappear. */
const DISAPPEARS_WITHIN_MS = 700;

/**
 * Clicks each banner's refusal. Hides banners that have none, or that stay.
 * @param whole in a frame: the whole document is the banner
 * @param click false if a refusal was already clicked: waits for the banner to disappear before hiding it
 */
export async function dismiss({ whole, click }: { whole: boolean; click: boolean }): Promise<Dismissal> {
  const banners = whole ? [documentAsBanner()].filter((banner) => banner !== null) : findBanners();
  const done: Dismissal = { refused: 0, hidden: 0 };
  for (const banner of banners) {
    if (click && banner.refusal !== null) {
      banner.refusal.click();
      done.refused += 1;
      // The frame's embedder removes it.
      if (whole || (await goesAway(banner))) continue;
    } else if (whole || (!click && (await goesAway(banner)))) continue;
    hide(banner.element);
    done.hidden += 1;
  }
  if (done.hidden > 0 && !whole) hideBackdrops();
  return done;
}

/**
 * Makes a locked page scrollable, and restores content that was blurred or made inert behind a banner.
 * @returns whether anything was locked
 */
export function unlockScroll(): boolean {
  const { documentElement: root, body } = document;
  if (body === null || openDialog()) return false;
  const unlocked = unlock(root, body);
  return makeLegible(body) || unlocked;
}

function unlock(root: HTMLElement, body: HTMLElement): boolean {
  let freed = false;
  const taller = Math.max(root.scrollHeight, body.scrollHeight) > innerHeight + 1;
  for (const element of [root, body]) {
    const style = getComputedStyle(element);
    if (taller && /hidden|clip/.test(style.overflowY)) {
      force(element, 'overflow', 'visible');
      freed = true;
    }
    if (style.position === 'fixed') {
      const top = Number.parseFloat(style.top);
      force(element, 'position', 'static');
      if (Number.isFinite(top) && top < 0) scrollTo({ top: -top, behavior: 'instant' });
      freed = true;
    }
    if (taller && element === body && element.style.height === '100%') force(element, 'height', 'auto');
    if (/hidden|clip/.test(style.touchAction)) force(element, 'touch-action', 'auto');
  }
  return freed;
}

function makeLegible(body: HTMLElement): boolean {
  let freed = false;
  for (const element of body.children) {
    if (!(element instanceof HTMLElement)) continue;
    if (element.inert) {
      element.inert = false;
      freed = true;
    }
    if (/blur\(/.test(getComputedStyle(element).filter)) {
      force(element, 'filter', 'none');
      freed = true;
    }
  }
  return freed;
}

async function goesAway({ element }: Banner): Promise<boolean> {
  const until = performance.now() + DISAPPEARS_WITHIN_MS;
  while (element.isConnected && isShown(element)) {
    if (performance.now() > until) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

/** Hides the layers that darkened the page behind a banner. There may be a few of them. */
export function hideBackdrops(): void {
  for (let rounds = 0; rounds < 3; rounds++) {
    const backdrop = backdropOnTop();
    if (backdrop === null) return;
    hide(backdrop);
  }
}

function openDialog(): boolean {
  return [...document.querySelectorAll('dialog[open], [aria-modal="true"]')].some(isShown);
}

export function hide(element: HTMLElement): void {
  if (element instanceof HTMLDialogElement && element.open) element.close();
  force(element, 'display', 'none');
}
