import { refreshAfterS, runsScript } from './activity.js';
import { documentProperty } from './dom.js';
import { apply } from './edits.js';
import { endsInTime, passFrames } from './frames.js';
import { backgroundsAmong, decoded, imagesInView } from './images.js';

export interface Readiness {
  /** Whether the page runs no script, so that it cannot change by itself. */
  inert: boolean;
  /** Seconds until its `<meta http-equiv="refresh">`; null if there is none. */
  refreshAfterS: number | null;
  /** The images in flight that are backgrounds in view. */
  backgrounds: string[];
}

export interface Budgets {
  /** Returns at once if the page runs scripts, since its clock runs first. */
  first: boolean;
  imagesInFlight: string[];
  fontsMs: number;
  imagesMs: number;
}

const FRAMES_MAX_MS = 200;

/** Waits for fonts, images in view and two frames, each within its time limit. */
export async function waitForAssets({ first, imagesInFlight, fontsMs, imagesMs }: Budgets): Promise<Readiness> {
  const readiness: Readiness = { inert: !runsScript(), refreshAfterS: refreshAfterS(), backgrounds: [] };
  apply();
  if (!readiness.inert) watch();
  if (first && !readiness.inert) return readiness;
  const fonts = documentProperty('fonts');
  if (fonts.status === 'loading') await endsInTime(fonts.ready, fontsMs);
  await endsInTime(Promise.all(imagesInView().map(decoded)), imagesMs);
  await passFrames(2, FRAMES_MAX_MS);
  apply();
  return imagesInFlight.length === 0 ? readiness : { ...readiness, backgrounds: backgroundsAmong(imagesInFlight) };
}

/** The number of changes after which an element counts as a running counter. */
const CHANGES = 3;
const NUMBER_MAX_CHARS = 24;
/**
 * Attributes for the position of circles and lines in an SVG. Paths and transformations are ignored, since endless
 * animations change them.
 */
const PLACES = ['cx', 'cy', 'x1', 'y1', 'x2', 'y2'];

const changes = new WeakMap<Node, number>();
let watching = false;
let hasCounted = false;

/** Observes numbers that count up, bars that fill and SVG parts that scripts move without an animation. Repeated calls do nothing. */
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
