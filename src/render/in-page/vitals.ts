import { SHIFTED_MAX_ITEMS } from '../../contract/limits.js';
import type { Vitals } from '../../contract/page-facts.js';
import { nameOf } from './dom.js';

/** Largest Contentful Paint and layout shift of this document, as the browser has measured them so far. */

interface Paint extends PerformanceEntry {
  element: Element | null;
  url: string;
}

interface Shift extends PerformanceEntry {
  value: number;
  hadRecentInput: boolean;
  sources: { node: Node | null }[];
}

/** Shifts belong together if each follows within a second of the one before, for at most five. */
const GAP_MS = 1_000;
const WINDOW_MS = 5_000;
const URL_MAX_CHARS = 2_000;

export function vitals(): Vitals {
  const paint = buffered<Paint>('largest-contentful-paint').at(-1);
  const { score, shifts } = worst(buffered<Shift>('layout-shift').filter(({ hadRecentInput }) => !hadRecentInput));
  const moved = shifts
    .toSorted((a, b) => b.value - a.value)
    .flatMap(({ sources }) => sources.map(({ node }) => node))
    .filter((node) => node instanceof Element);
  return {
    largest_contentful_paint: paint && {
      ms: Math.round(paint.startTime),
      element: paint.element === null ? undefined : nameOf(paint.element),
      url: paint.url !== '' && paint.url.length <= URL_MAX_CHARS ? paint.url : undefined,
    },
    layout_shift: {
      score: Math.round(score * 10_000) / 10_000,
      elements: [...new Set(moved.map(nameOf))].slice(0, SHIFTED_MAX_ITEMS),
    },
  };
}

/** Does not wait for the observer's callback, since scripts may be stopped. */
function buffered<Entry extends PerformanceEntry>(type: string): Entry[] {
  const observer = new PerformanceObserver(() => undefined);
  try {
    observer.observe({ type, buffered: true });
    return observer.takeRecords() as Entry[];
  } finally {
    observer.disconnect();
  }
}

/** The window of shifts with the highest sum, which is the Cumulative Layout Shift. */
function worst(all: readonly Shift[]) {
  let most: { score: number; shifts: Shift[] } = { score: 0, shifts: [] };
  let current = most;
  for (const shift of all) {
    const [first, last] = [current.shifts[0], current.shifts.at(-1)];
    const isSame =
      last !== undefined &&
      shift.startTime - last.startTime < GAP_MS &&
      shift.startTime - (first?.startTime ?? 0) < WINDOW_MS;
    if (isSame) current.shifts.push(shift);
    else current = { score: 0, shifts: [shift] };
    current.score += shift.value;
    if (current.score > most.score) most = current;
  }
  return most;
}
