/**
 * What the blocker does inside a page, beside consent platforms: looking, hiding, refusing, freeing the scroll.
 * Bundled by itself and run in an isolated world, where the page's scripts have replaced nothing.
 */
import { holdBack } from './hold-back.js';
import { boxesOnTop, documentAsBanner, findBanners, hasFrameOnTop, isShown } from './overlays.js';
import { CONSENT_SCRIPT } from './words.js';

export { dismiss, freeScroll } from './dismiss.js';
export { holdBack } from './hold-back.js';
export { tellFrames } from './overlays.js';

/** In a frame: whether its document is nothing but a banner. */
export function isBanner(): boolean {
  return documentAsBanner() !== null;
}

/** What a look at a page brings home. */
export interface Look {
  ids: string[];
  classes: string[];
  hrefs: string[];
  /** `seen`: a banner is in view. `expected`: a script that shows banners has run, and none is in view yet. */
  banner: 'none' | 'seen' | 'expected';
  /** A banner in view lies in a frame. */
  framed: boolean;
  /** There is no banner to be read from here, and a frame on top of the page that may be one. */
  hasFrameOnTop: boolean;
  /** Boxes that the rules for banners have hidden; they are laid at once where no banner is to be answered first. */
  hidden: number;
}

/** Where the document-start script keeps its style sheet, in this world. */
const KEPT = 'stillframeSheet';
/** What an earlier look at this document has done, in this world. */
const LAID = 'stillframeLaid';
const AWAITED = 'stillframeAwaited';

const ELEMENTS_MAX = 30_000;
const NAMES_MAX = 6_000;
/** Hiding rules know no longer names and addresses. */
const NAME_MAX_CHARS = 256;
const HREF_MAX_CHARS = 1_024;

/** What is wanted of a look. */
export interface LookFor {
  /** Rules that hide banners, whatever the page holds; null when banners are none of our business. */
  bannerCss: string | null;
  /** Requests of consent platforms that were refused: their scripts will show nothing. */
  refused: string[];
  /** The last look before the picture: where no banner is to be answered, what comes after it is held back. */
  last: boolean;
}

/** One look: what hiding rules may be about, and whether there is a banner to answer. */
export function look({ bannerCss, refused, last }: LookFor): Look {
  keepSheet();
  const seen = { ...features(), framed: false, hasFrameOnTop: false, hidden: 0 };
  if (bannerCss === null) return { ...seen, banner: 'none' };
  const onTop = boxesOnTop();
  const banners = findBanners(onTop);
  if (banners.length > 0) return { ...seen, banner: 'seen', framed: banners.some((banner) => banner.framed) };
  seen.hasFrameOnTop = hasFrameOnTop(onTop);
  if (!done(AWAITED) && scriptRuns(new Set(refused))) return { ...seen, banner: 'expected' };
  if (last && !seen.hasFrameOnTop) holdBack();
  return { ...seen, banner: 'none', hidden: bannerCss === '' || done(LAID) ? 0 : lay({ css: bannerCss, count: true }) };
}

/** @returns whether it was done at an earlier look; it is from now on */
function done(what: string): boolean {
  const before = Reflect.get(globalThis, what) === true;
  Reflect.set(globalThis, what, true);
  return before;
}

/** Resolves once a banner is in view, or after the patience (ms). */
export async function awaitBanner({ patience }: { patience: number }): Promise<boolean> {
  const until = performance.now() + patience;
  while (performance.now() < until) {
    if (findBanners().length > 0) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return findBanners().length > 0;
}

/**
 * Lays hiding rules on the document, where its content policy has no say; what is laid once stays.
 *
 * @returns how many boxes in view they hid, when asked to count
 */
export function lay({ css, count }: { css: string; count: boolean }): number {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  const hit = count ? shownMatches(sheet) : 0;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return hit;
}

function shownMatches(sheet: CSSStyleSheet): number {
  const shown = new Set<Element>();
  for (const rule of sheet.cssRules) {
    if (!(rule instanceof CSSStyleRule)) continue;
    for (const element of document.querySelectorAll(rule.selectorText)) {
      if (isShown(element) || [...element.children].some(isShown)) shown.add(element);
    }
  }
  return shown.size;
}

/** A page may have put sheets of its own in place of all. */
function keepSheet(): void {
  const sheet: unknown = Reflect.get(globalThis, KEPT);
  if (!(sheet instanceof CSSStyleSheet) || document.adoptedStyleSheets.includes(sheet)) return;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

function scriptRuns(refused: Set<string>): boolean {
  return [...document.scripts].some((script) => script.src !== '' && !refused.has(script.src) && CONSENT_SCRIPT.test(script.src));
}

/** Attributes are compared as they stand: tens of thousands of elements share a few hundred of them. */
function features(): Pick<Look, 'ids' | 'classes' | 'hrefs'> {
  const classes = new Set<string>();
  for (const list of attributes('class'))
    for (const name of list.split(/\s+/)) if (name !== '' && name.length <= NAME_MAX_CHARS) classes.add(name);
  const hrefs = [...attributes('href')].filter((href) => href.length <= HREF_MAX_CHARS && /^(https?:)?\/\//i.test(href));
  const ids = [...attributes('id')].filter((id) => id.length <= NAME_MAX_CHARS);
  return { ids, classes: [...classes].slice(0, NAMES_MAX), hrefs };
}

function attributes(name: string): Set<string> {
  const values = new Set<string>();
  let looked = 0;
  for (const element of document.querySelectorAll(`[${name}]`)) {
    if (looked++ === ELEMENTS_MAX || values.size === NAMES_MAX) break;
    const value = element.getAttribute(name);
    if (value !== null && value !== '') values.add(value);
  }
  return values;
}
