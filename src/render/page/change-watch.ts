import type { CdpSession } from '../launch/pipe-session.js';
import type { DocumentState } from './main-document.js';
import type { OpenPage } from './open-page.js';

type Watched = Pick<OpenPage, 'session' | 'world' | 'main' | 'network'>;

/** Resource types that change what a page shows as soon as they are loaded. */
const SHOWN_WHEN_THERE = new Set(['image', 'font', 'stylesheet', 'frame']);

/** Detects whether a viewport has changed, by requests, documents, scrolling, and Chromium's counts of style and layout. */
export class ChangeWatch {
  readonly #page: Watched;
  readonly #shown: DocumentState | null;
  readonly #activity: number;
  readonly #counts: Counts;

  private constructor(page: Watched, before: { shown: DocumentState | null; activity: number; counts: Counts }) {
    this.#page = page;
    this.#shown = before.shown;
    this.#activity = before.activity;
    this.#counts = before.counts;
  }

  /** @returns null if the viewport contains anything that may change unnoticed, or still waits for something. @throws PageMoved */
  static async begin(page: Watched): Promise<ChangeWatch | null> {
    const { main, network, world, session } = page;
    const { current: shown } = main;
    const { activity } = network;
    if (shown?.loaded !== true || network.pending().some(({ kind }) => SHOWN_WHEN_THERE.has(kind))) return null;
    if (!(await world.call('stillness.begin'))) return null;
    await session.cdp.send('Performance.enable');
    const watch = new ChangeWatch(page, { shown, activity, counts: await countsOf(session.cdp) });
    return watch.#isQuiet() ? watch : null;
  }

  /** Whether nothing visible has changed since. May report a change without one, but never misses one. @throws PageMoved */
  async unchanged(): Promise<boolean> {
    const { world, session } = this.#page;
    if (!this.#isQuiet() || !(await world.call('stillness.held'))) return false;
    const { layouts, styles } = await countsOf(session.cdp);
    return layouts === this.#counts.layouts && styles === this.#counts.styles && this.#isQuiet();
  }

  #isQuiet(): boolean {
    const { main, network } = this.#page;
    return main.current === this.#shown && !main.navigating && network.activity === this.#activity;
  }
}

interface Counts {
  layouts: number;
  styles: number;
}

/** NaN, which equals nothing, for metrics that this browser lacks. */
async function countsOf(cdp: CdpSession): Promise<Counts> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  const count = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return { layouts: count('LayoutCount'), styles: count('RecalcStyleCount') };
}
