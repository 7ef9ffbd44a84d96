import { hasVisibleStyle } from './dom.js';
import { cachedTrees } from './dom-cache.js';

/** Fonts that a page asks for and does not have: families that are not installed or were not loaded, and characters of no font. */

export interface MissingFonts {
  families: { family: string; share: number; isDeclared: boolean }[];
  /** Characters that are shown as boxes, one of a kind. */
  boxes: string[];
}

/** Texts that are looked at, spread over the document, each in a few microseconds, and those among which they are chosen. */
const TEXTS_MAX = 300;
const TEXTS_KNOWN_MAX = 20_000;
const FACES_MAX = 2_000;
const FAMILIES_MAX = 30;
const NAME_MAX_CHARS = 60;
/** The part of a text in which characters are looked at. */
const READ_CHARS = 200;
const SAMPLES_MAX = 20;
/** A smaller part of the text is not worth a warning, unless the page brings the font itself. */
const SHARE_MIN = 0.005;

const GENERIC = /^(serif|sans-serif|monospace|cursive|fantasy|math|emoji|fangsong|system-ui|ui-[a-z-]+|-webkit-.*)$/;
/** Fonts of one system. A list that begins with them is made to be replaced elsewhere. */
const OF_SYSTEMS =
  /^(-apple-system|blinkmacsystemfont|segoe ui.*|\.?sf .*|\.?sfns.*|sfmono-.*|helvetica neue|menlo|monaco|consolas|apple color emoji)$/;
/** The fonts that Chromium computes where a page names none: that of text, and that of buttons and fields. */
const BY_DEFAULT = /^"?(times new roman|arial)"?$/i;
const SKIPPED = /^(script|style|noscript|template|textarea|title)$/;

interface Texts {
  chars: number;
  samples: Map<number, string>;
}

export function missing(): MissingFonts {
  const byList = textsByFontList();
  const total = [...byList.values()].reduce((sum, { chars }) => sum + chars, 0);
  const loaded = statusOfFaces();
  const context = new OffscreenCanvas(BOX_PX, BOX_PX).getContext('2d', { willReadFrequently: true });
  if (context === null || total === 0) return { families: [], boxes: [] };
  const missed = new Map<string, MissingFonts['families'][number]>();
  const boxes: string[] = [];
  for (const [list, { chars, samples }] of [...byList].slice(0, FAMILIES_MAX)) {
    const family = firstFamily(list);
    const declared = loaded.get(family.toLowerCase());
    const isMissing =
      declared === undefined ? !BY_DEFAULT.test(list) && !isInstalled(context, family) : declared === false;
    if (isMissing) {
      const before = missed.get(family)?.share ?? 0;
      const share = before + chars / total;
      missed.set(family, { family: family.slice(0, NAME_MAX_CHARS), share, isDeclared: declared !== undefined });
    }
    for (const sample of samples.values())
      if (boxes.length < SAMPLES_MAX && isBox(context, sample, list)) boxes.push(sample);
  }
  const families = [...missed.values()].filter(({ share, isDeclared }) => isDeclared || share >= SHARE_MIN);
  return { families: families.sort((one, other) => other.share - one.share), boxes };
}

/** The characters of a sample of the visible text by `font-family`, as the browser computes it. */
function textsByFontList(): Map<string, Texts> {
  const found = new Map<string, Texts>();
  const known: Text[] = [];
  for (const tree of cachedTrees()) {
    const walker = document.createTreeWalker(tree, NodeFilter.SHOW_TEXT);
    while (known.length < TEXTS_KNOWN_MAX && walker.nextNode() !== null) known.push(walker.currentNode as Text);
  }
  const texts = known.filter(({ data }) => /\S/.test(data.slice(0, READ_CHARS)));
  const step = Math.max(1, texts.length / TEXTS_MAX);
  for (let at = 0; at < texts.length; at += step) {
    const { data = '', parentElement: holder = null } = texts[Math.floor(at)] ?? {};
    if (holder === null || SKIPPED.test(holder.localName) || !hasVisibleStyle(holder)) continue;
    const list = getComputedStyle(holder).fontFamily;
    const entry = found.get(list) ?? { chars: 0, samples: new Map<number, string>() };
    found.set(list, entry);
    entry.chars += data.trim().length;
    for (const char of data.slice(0, READ_CHARS)) {
      const code = char.codePointAt(0) ?? 0;
      if (entry.samples.size < SAMPLES_MAX && isSampled(code) && !entry.samples.has(code >> 7))
        entry.samples.set(code >> 7, char);
    }
  }
  return found;
}

/** Whether a character is of a kind that a font may lack, and has a form of its own. */
function isSampled(code: number): boolean {
  const isLetter = code >= 0x250 && !/[\p{M}\p{Z}\p{C}]/u.test(String.fromCodePoint(code));
  const isPrivate = code >= 0xe000 && code <= 0xf8ff;
  return isPrivate || (isLetter && (code < 0x2000 || code > 0x206f));
}

/** Whether any face of a family that the page declares has been loaded, by its name in lower case; null if none is needed. */
function statusOfFaces(): Map<string, boolean | null> {
  const found = new Map<string, boolean | null>();
  let count = 0;
  for (const { family, status } of document.fonts) {
    if (count++ >= FACES_MAX) break;
    const name = firstFamily(family).toLowerCase();
    const before = found.get(name) ?? null;
    found.set(name, status === 'loaded' || before === true ? true : status === 'unloaded' ? before : false);
  }
  return found;
}

/** The first family of a list. */
function firstFamily(list: string): string {
  const quote = list.trimStart()[0] ?? '';
  const text = list.trimStart();
  if (quote !== '"' && quote !== "'") return (text.split(',', 1)[0] ?? '').trim();
  const end = text.indexOf(quote, 1);
  return text.slice(1, end === -1 ? undefined : end);
}

/** A font that the browser has gives a text the same width, whatever stands behind it in the list. */
function isInstalled(context: OffscreenCanvasRenderingContext2D, family: string): boolean {
  const name = family.toLowerCase();
  if (name === '' || GENERIC.test(name) || OF_SYSTEMS.test(name)) return true;
  const widthIn = (...list: string[]) => {
    context.font = `40px ${list.join()}`;
    return context.measureText('mmmmmmmmlli').width;
  };
  const [own, other] = [widthIn(JSON.stringify(family), 'monospace'), widthIn(JSON.stringify(family), 'serif')];
  // Where both generic families are the same font, only another width shows that there is one.
  return own === other && (own !== widthIn('monospace') || own !== widthIn('serif'));
}

const BOX_PX = 32;
/** No font has a glyph for this character, which is for private use. */
const OF_NO_FONT = '\u{10fffd}';

function isBox(context: OffscreenCanvasRenderingContext2D, char: string, list: string): boolean {
  context.font = `20px ${list}`;
  const [own, box] = [char, OF_NO_FONT].map((one) => {
    context.clearRect(0, 0, BOX_PX, BOX_PX);
    context.fillText(one, 4, 24);
    return new Uint32Array(context.getImageData(0, 0, BOX_PX, BOX_PX).data.buffer);
  });
  return own?.some((pixel) => pixel !== 0) === true && own.every((pixel, at) => pixel === box?.[at]);
}
