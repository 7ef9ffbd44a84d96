import { delayTest, patternTest, sourceOf } from './pattern.js';

type Timer = 'setTimeout' | 'setInterval';

const BOOST_MIN = 0.001;
const BOOST_MAX = 50;

/** Implements `prevent-setTimeout` and `prevent-setInterval`: timers with a matching callback and delay do nothing. */
export function preventTimer(timer: Timer, search = '', delay = ''): void {
  if (search === '' && delay === '') return;
  const fits = patternTest(search);
  const fitsDelay = delayTest(delay);
  wrap(window, timer, (call, [callback, ms, ...rest]) =>
    fits(sourceOf(callback)) && fitsDelay(ms) ? call(() => {}, ms, ...rest) : call(callback, ms, ...rest),
  );
}

/** Implements `adjust-setTimeout` and `adjust-setInterval`: matching timers run sooner or later. */
export function adjustTimer(timer: Timer, search = '', delay = '', boost = ''): void {
  const fits = patternTest(search);
  const fitsDelay = delayTest(delay === '' ? '1000' : delay);
  const factor = Math.min(Math.max(Number(boost) || 0.05, BOOST_MIN), BOOST_MAX);
  wrap(window, timer, (call, [callback, ms, ...rest]) =>
    call(callback, fits(sourceOf(callback)) && fitsDelay(ms) ? Number(ms) * factor : ms, ...rest),
  );
}

/** Implements `prevent-addEventListener`: listeners with a matching type and source are not added. */
export function preventAddEventListener(type = '', search = ''): void {
  if (type === '' && search === '') return;
  const fitsType = /^[\w-]+$/.test(type) ? (name: string) => name === type : patternTest(type);
  const fits = patternTest(search);
  wrap(EventTarget.prototype, 'addEventListener', (call, [name, listener, ...rest]) => {
    const source = sourceOf((listener as Partial<EventListenerObject> | null)?.handleEvent ?? listener);
    return fitsType(sourceOf(name)) && fits(source) ? undefined : call(name, listener, ...rest);
  });
}

/** Implements `prevent-window-open`: matching URLs are not opened, and the page gets a window that does nothing. */
export function preventWindowOpen(...given: string[]): void {
  // AdGuard's older form begins with 0 for URLs that do not match, and 1 for those that do.
  const [first = '', second = ''] = given;
  const fits = patternTest(/^[01]$/.test(first) ? `${first === '0' ? '!' : ''}${second}` : first);
  const opened = { closed: false, opener: null, blur() {}, close() {}, focus() {}, postMessage() {} };
  wrap(window, 'open', (call, [url, ...rest]) => (fits(sourceOf(url)) ? opened : call(url, ...rest)));
}

/** Replaces a function by one that receives the original. The replacement looks native to the page. */
export function wrap(
  owner: object,
  name: string,
  replacement: (call: (...given: unknown[]) => unknown, given: unknown[]) => unknown,
): void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') return;
  const apply = (_: unknown, self: unknown, given: unknown[]) => replacement((...changed) => Reflect.apply(original, self, changed), given);
  Object.defineProperty(owner, name, { value: new Proxy(original, { apply }), writable: true, configurable: true, enumerable: true });
}
