import { refreshAfterS, runsScript } from './activity.js';
import { documentProperty } from './dom.js';
import { apply } from './edits.js';
import { orLate, passFrames } from './frames.js';
import { backgroundsAmong, decoded, imagesInView } from './images.js';

export interface Settled {
  /** The page runs no script, so it cannot change by itself. */
  inert: boolean;
  /** Seconds until its `<meta http-equiv="refresh">`. */
  refreshAfterS: number | null;
  /** Which of the images in flight are backgrounds in view. */
  backgrounds: string[];
}

export interface Budgets {
  /** Do not wait for anything if the page runs scripts: its clock is run first. */
  first: boolean;
  imagesInFlight: string[];
  fontsMs: number;
  imagesMs: number;
}

const FRAMES_MAX_MS = 200;

/** Waits for fonts, images in view and two frames, each within its budget. */
export async function settle({ first, imagesInFlight, fontsMs, imagesMs }: Budgets): Promise<Settled> {
  const settled: Settled = { inert: !runsScript(), refreshAfterS: refreshAfterS(), backgrounds: [] };
  apply();
  if (!settled.inert) watch();
  if (first && !settled.inert) return settled;
  const fonts = documentProperty('fonts');
  if (fonts.status === 'loading') await orLate(fonts.ready, fontsMs);
  await orLate(Promise.all(imagesInView().map(decoded)), imagesMs);
  await passFrames(2, FRAMES_MAX_MS);
  apply();
  return imagesInFlight.length === 0 ? settled : { ...settled, backgrounds: backgroundsAmong(imagesInFlight) };
}

/**
 * Numbers that count up, bars that fill and parts of drawings that move by script, without an animation: changes are observed from `watch`
 * on.
 */

/** Changes after which an element counts as counting. */
const CHANGES = 3;
const NUMBER_MAX_CHARS = 24;
/** Where circles and lines of an SVG stand. Paths and transformations are not observed: they are what endless animations change. */
const PLACES = ['cx', 'cy', 'x1', 'y1', 'x2', 'y2'];

const changes = new WeakMap<Node, number>();
let watching = false;
let hasCounted = false;

/** Observes changes from now on; further calls do nothing. */
function watch(): void {
  if (watching) return;
  watching = true;
  const options = { subtree: true, childList: true, characterData: true, attributeFilter: ['style', ...PLACES], attributeOldValue: true };
  new MutationObserver((records) => records.forEach(note)).observe(document, options);
}

/** Whether anything has counted since the last call. */
export function isCounting(): boolean {
  const counted = hasCounted;
  hasCounted = false;
  return counted;
}

function note(record: MutationRecord): void {
  const { type, target } = record;
  const place = type === 'characterData' ? target.parentNode : target;
  if (place === null || !(type === 'attributes' ? isMoved(record) : isNumber(record))) return;
  const times = (changes.get(place) ?? 0) + 1;
  changes.set(place, times);
  if (times >= CHANGES) hasCounted = true;
}

function isNumber({ target, removedNodes: removed, addedNodes: added }: MutationRecord): boolean {
  if (target.nodeType !== Node.TEXT_NODE && (removed.length !== 1 || added.length !== 1)) return false;
  const text = target.nodeType === Node.TEXT_NODE ? target.nodeValue : added[0]?.nodeType === Node.TEXT_NODE ? added[0].nodeValue : null;
  return text !== null && text.length <= NUMBER_MAX_CHARS && /\p{N}/u.test(text);
}

function isMoved({ target, attributeName, oldValue }: MutationRecord): boolean {
  const value = Element.prototype.getAttribute.call(target, attributeName ?? '');
  if (attributeName !== 'style') return value !== oldValue;
  const width = /(?:^|[\s;])width:\s*([\d.]+%)/;
  const now = width.exec(value ?? '')?.[1];
  return now !== undefined && now !== width.exec(oldValue ?? '')?.[1];
}
