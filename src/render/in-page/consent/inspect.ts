import { adopt, all, keepAdopted, sheetOf } from '../dom.js';
import { cachedNames } from '../dom-cache.js';
import { hide, hideBackdrops } from './dismiss.js';
import {
  bannerTabs,
  boxesByName,
  boxesOnTop,
  documentAsBanner,
  findBanners,
  hasFrameOnTop,
  isInView,
  isPageItself,
} from './overlays.js';

export interface BannerInspection {
  ids: string[];
  classes: string[];
  hrefs: string[];
  hasBanner: boolean;
  /** Whether the content of a banner in view is in a frame. */
  framed: boolean;
  /** Whether there is no readable banner, but a frame on top of the page that may be one. */
  hasFrameOnTop: boolean;
  /** The number of boxes hidden by the rules for banners, which apply at once if there is no banner to decline first. */
  hidden: number;
}

const NAMES_MAX = 6_000;
/** Hiding rules match no longer names or addresses. */
const NAME_MAX_CHARS = 256;
const HREF_MAX_CHARS = 1_024;
/** The limit for all ids, all classes and all addresses, each. A page's answer may have 4 MB, and a character up to 6 bytes. */
const FEATURE_CHARS = 200_000;

/** The hiding rules applied at the start of this document. */
let startSheet: CSSStyleSheet | null = null;
/** The hiding rules applied to this document, by their text. */
const laidSheets = new Map<string, CSSStyleSheet>();
let areBannersBlocked = false;

/** Applies the rules for any document and for this host as the document starts. Rules for banners are not among them. */
export function applyStartRules({ base, byHost }: { base: string; byHost: Record<string, string> }): void {
  startSheet = adopt(base + (byHost[location.hostname] ?? ''));
}

/**
 * Collects the features that hiding rules match, and checks whether there is a banner to decline.
 * @param bannerCss rules that hide banners, whatever the page contains; null if banners are not blocked
 */
export function inspect(bannerCss: string | null): BannerInspection {
  if (startSheet !== null) keepAdopted([startSheet]);
  const inspection = { ...features(), hasBanner: false, framed: false, hasFrameOnTop: false, hidden: 0 };
  areBannersBlocked = bannerCss !== null;
  if (bannerCss === null) return inspection;
  const onTop = boxesOnTop();
  const banners = findBanners([...onTop, ...boxesByName()]);
  if (banners.length > 0) return { ...inspection, hasBanner: true, framed: banners.some((banner) => banner.framed) };
  inspection.hasFrameOnTop = hasFrameOnTop(onTop);
  if (bannerCss !== '' && !laidSheets.has(bannerCss))
    inspection.hidden = applyHidingRules({ css: bannerCss, banners: true });
  return inspection;
}

export { setBannerFrames } from './overlays.js';

/** Whether a frame's document is only a banner. */
export function isBanner(): boolean {
  return documentAsBanner() !== null;
}

/** Hides banners that have appeared on top of the page since the last inspection, and the controls that open banners again. */
export function hideLateBanners(): void {
  if (!areBannersBlocked) return;
  const banners = findBanners(boxesOnTop());
  for (const { element } of banners) hide(element);
  if (banners.length > 0) hideBackdrops();
  for (const tab of bannerTabs()) hide(tab);
}

/**
 * Applies hiding rules that the document's content policy cannot prevent. They stay in force.
 * @param options.banners whether they hide banners: these are counted, and rules that would hide the page itself are left out
 * @returns the number of boxes in view that they hid
 */
export function applyHidingRules({ css, banners }: { css: string; banners: boolean }): number {
  const sheet = laidSheets.get(css) ?? sheetOf(css);
  laidSheets.set(css, sheet);
  if (banners) sparePage(sheet);
  const hit = banners ? shownMatches(sheet) : 0;
  keepAdopted([sheet]);
  return hit;
}

/** The selectors of the rules that hide elements of this document. */
export function hidingRules(): string[] {
  const sheets = [startSheet, ...laidSheets.values()];
  return sheets.flatMap((sheet) =>
    [...(sheet?.cssRules ?? [])].flatMap((rule) => (rule instanceof CSSStyleRule ? [rule.selectorText] : [])),
  );
}

function sparePage(sheet: CSSStyleSheet): void {
  for (let at = sheet.cssRules.length - 1; at >= 0; at--) {
    const rule = sheet.cssRules[at];
    if (rule instanceof CSSStyleRule && all(rule.selectorText).some((match) => isInView(match) && isPageItself(match)))
      sheet.deleteRule(at);
  }
}

function shownMatches(sheet: CSSStyleSheet): number {
  const shown = new Set<Element>();
  for (const rule of sheet.cssRules) {
    if (!(rule instanceof CSSStyleRule)) continue;
    for (const element of document.querySelectorAll(rule.selectorText)) {
      if (isInView(element) || [...element.children].some(isInView)) shown.add(element);
    }
  }
  return shown.size;
}

function features() {
  const { ids, classLists, hrefs } = cachedNames();
  const classes = new Set([...classLists].flatMap((list) => list.split(/\s+/)));
  return {
    ids: inTotal([...ids], NAME_MAX_CHARS),
    classes: inTotal([...classes].slice(0, NAMES_MAX), NAME_MAX_CHARS),
    hrefs: inTotal([...hrefs], HREF_MAX_CHARS),
  };
}

/** As many of the texts as fit into the limit, without empty and long ones. */
function inTotal(texts: string[], mostChars: number): string[] {
  let left = FEATURE_CHARS;
  return texts.filter((text) => {
    if (text === '' || text.length > mostChars) return false;
    left -= text.length;
    return left >= 0;
  });
}
