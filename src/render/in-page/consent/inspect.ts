import { cachedNames } from '../dom-cache.js';
import { adopt, keepAdopted } from '../styles.js';
import { boxesOnTop, documentAsBanner, findBanners, hasFrameOnTop, isShown } from './overlays.js';
import { suppressBanners } from './suppress-banners.js';
import { CONSENT_SCRIPT } from './words.js';

/** The result of inspecting a page for hiding rules and banners. */
export interface BannerInspection {
  ids: string[];
  classes: string[];
  hrefs: string[];
  /** `seen`: a banner is in view. `expected`: a script that shows banners has run, but none is in view yet. */
  banner: 'none' | 'seen' | 'expected';
  /** Whether the content of a banner in view is in a frame. */
  framed: boolean;
  /** Whether there is no readable banner, but a frame on top of the page that may be one. */
  hasFrameOnTop: boolean;
  /** The number of boxes hidden by the rules for banners, which apply at once if there is no banner to decline first. */
  hidden: number;
}

export interface InspectionOptions {
  /** Rules that hide banners, whatever the page contains; null if banners are not blocked. */
  bannerCss: string | null;
  /** Blocked requests to consent platforms, whose scripts will show nothing. */
  refused: string[];
  /** Whether this is the last inspection before the picture. If there is no banner to decline, later ones are suppressed. */
  last: boolean;
}

const NAMES_MAX = 6_000;
/** Hiding rules match no longer names or addresses. */
const NAME_MAX_CHARS = 256;
const HREF_MAX_CHARS = 1_024;
/** The limit for all ids, all classes and all addresses, each. A page's answer may have 4 MB, and a character up to 6 bytes. */
const FEATURE_CHARS = 200_000;

/** The hiding rules applied at the start of this document. */
let startSheet: CSSStyleSheet | null = null;
/** Whether an earlier inspection of this document has applied the rules for banners. */
let laid = false;
/** Whether a banner has already been awaited in this document. */
let awaited = false;
/** The hiding rules applied to this document, by their text. */
const laidSheets = new Map<string, CSSStyleSheet>();

/** Applies the rules for any document and for this host as the document starts. Rules for banners are not among them. */
export function applyStartRules({ base, byHost }: { base: string; byHost: Record<string, string> }): void {
  startSheet = adopt(base + (byHost[location.hostname] ?? ''));
}

/** Collects the features that hiding rules match, and checks whether there is a banner to decline. */
export function inspect({ bannerCss, refused, last }: InspectionOptions): BannerInspection {
  if (startSheet !== null) keepAdopted([startSheet]);
  const seen = { ...features(), framed: false, hasFrameOnTop: false, hidden: 0 };
  if (bannerCss === null) return { ...seen, banner: 'none' };
  const onTop = boxesOnTop();
  const banners = findBanners(onTop);
  if (banners.length > 0) return { ...seen, banner: 'seen', framed: banners.some((banner) => banner.framed) };
  seen.hasFrameOnTop = hasFrameOnTop(onTop);
  if (!awaited && scriptRuns(new Set(refused))) {
    awaited = true;
    return { ...seen, banner: 'expected' };
  }
  awaited = true;
  if (last && !seen.hasFrameOnTop) suppressBanners();
  if (bannerCss !== '' && !laid) {
    laid = true;
    seen.hidden = applyHidingRules({ css: bannerCss, count: true });
  }
  return { ...seen, banner: 'none' };
}

/** Whether a frame's document is only a banner. */
export function isBanner(): boolean {
  return documentAsBanner() !== null;
}

/** Resolves once a banner is in view, or after `patience` ms. */
export async function awaitBanner({ patience }: { patience: number }): Promise<boolean> {
  const until = performance.now() + patience;
  while (performance.now() < until) {
    if (findBanners().length > 0) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return findBanners().length > 0;
}

/**
 * Applies hiding rules that the document's content policy cannot prevent. They stay in force.
 * @returns the number of boxes in view that they hid, if `count` is set
 */
export function applyHidingRules({ css, count }: { css: string; count: boolean }): number {
  const sheet = laidSheets.get(css) ?? sheetOf(css);
  laidSheets.set(css, sheet);
  const hit = count ? shownMatches(sheet) : 0;
  keepAdopted([sheet]);
  return hit;
}

/** The selectors of the rules that hide elements of this document. */
export function hidingRules(): string[] {
  const sheets = startSheet === null ? [...laidSheets.values()] : [startSheet, ...laidSheets.values()];
  return sheets.flatMap(({ cssRules }) => [...cssRules].flatMap((rule) => (rule instanceof CSSStyleRule ? [rule.selectorText] : [])));
}

function sheetOf(css: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  return sheet;
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

function scriptRuns(refused: Set<string>): boolean {
  return [...document.scripts].some((script) => script.src !== '' && !refused.has(script.src) && CONSENT_SCRIPT.test(script.src));
}

function features(): Pick<BannerInspection, 'ids' | 'classes' | 'hrefs'> {
  const { ids, classLists, hrefs } = cachedNames();
  const classes = new Set<string>();
  for (const list of classLists) for (const name of list.split(/\s+/)) if (name !== '' && name.length <= NAME_MAX_CHARS) classes.add(name);
  return {
    ids: inTotal([...ids].filter((id) => id.length <= NAME_MAX_CHARS)),
    classes: inTotal([...classes].slice(0, NAMES_MAX)),
    hrefs: inTotal([...hrefs].filter((href) => href.length <= HREF_MAX_CHARS && /^(https?:)?\/\//i.test(href))),
  };
}

/** As many of the first texts as fit into the limit. */
function inTotal(texts: string[]): string[] {
  let left = FEATURE_CHARS;
  return texts.filter((text) => {
    left -= text.length;
    return left >= 0;
  });
}
