import { adopt, keepAdopted } from '../styles.js';
import { surveyedNames } from '../survey.js';
import { holdBack } from './hold-back.js';
import { boxesOnTop, documentAsBanner, findBanners, hasFrameOnTop, isShown } from './overlays.js';
import { CONSENT_SCRIPT } from './words.js';

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

export interface LookFor {
  /** Rules that hide banners, whatever the page holds; null when banners are none of our business. */
  bannerCss: string | null;
  /** Requests of consent platforms that were refused: their scripts will show nothing. */
  refused: string[];
  /** The last look before the picture: where no banner is to be answered, what comes after it is held back. */
  last: boolean;
}

const NAMES_MAX = 6_000;
/** Hiding rules know no longer names and addresses. */
const NAME_MAX_CHARS = 256;
const HREF_MAX_CHARS = 1_024;
/** Limit of all ids, of all classes and of all addresses. An answer of the page may have 4 MB, and a character up to 6 bytes. */
const FEATURE_CHARS = 200_000;

/** The hiding rules that this document began with. */
let startSheet: CSSStyleSheet | null = null;
/** Whether an earlier look at this document has laid the rules for banners. */
let laid = false;
/** Whether a banner has been waited for in it. */
let awaited = false;
/** Hiding rules that lie on this document, by their text. */
const laidSheets = new Map<string, CSSStyleSheet>();

/** As the document starts: hides what the rules for any document, and for this host, are about. Rules for banners are none of them. */
export function hideFromStart({ base, byHost }: { base: string; byHost: Record<string, string> }): void {
  startSheet = adopt(base + (byHost[location.hostname] ?? ''));
}

/** One look: what hiding rules may be about, and whether there is a banner to answer. */
export function look({ bannerCss, refused, last }: LookFor): Look {
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
  if (last && !seen.hasFrameOnTop) holdBack();
  if (bannerCss !== '' && !laid) {
    laid = true;
    seen.hidden = lay({ css: bannerCss, count: true });
  }
  return { ...seen, banner: 'none' };
}

/** In a frame: whether its document is nothing but a banner. */
export function isBanner(): boolean {
  return documentAsBanner() !== null;
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
  const sheet = laidSheets.get(css) ?? sheetOf(css);
  laidSheets.set(css, sheet);
  const hit = count ? shownMatches(sheet) : 0;
  keepAdopted([sheet]);
  return hit;
}

/** Selectors of the rules that hide elements of this document. */
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

function features(): Pick<Look, 'ids' | 'classes' | 'hrefs'> {
  const { ids, classLists, hrefs } = surveyedNames();
  const classes = new Set<string>();
  for (const list of classLists) for (const name of list.split(/\s+/)) if (name !== '' && name.length <= NAME_MAX_CHARS) classes.add(name);
  return {
    ids: inTotal([...ids].filter((id) => id.length <= NAME_MAX_CHARS)),
    classes: inTotal([...classes].slice(0, NAMES_MAX)),
    hrefs: inTotal([...hrefs].filter((href) => href.length <= HREF_MAX_CHARS && /^(https?:)?\/\//i.test(href))),
  };
}

/** The first of them, as many as may be told. */
function inTotal(texts: string[]): string[] {
  let left = FEATURE_CHARS;
  return texts.filter((text) => {
    left -= text.length;
    return left >= 0;
  });
}
