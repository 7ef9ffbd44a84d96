import type { CDPSession } from 'playwright-core';
import type { DocumentState } from './main-document.js';
import type { OpenPage } from './open-page.js';

type Watched = Pick<OpenPage, 'session' | 'world' | 'main' | 'network'>;

/** Kinds that a page shows something new for as soon as they are answered. */
const SHOWN_WHEN_THERE = new Set(['image', 'font', 'stylesheet', 'frame']);

/** Whether a page's view is still what it was, told by its requests, documents, scrolling, and Chromium's own counts of style and layout. */
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

  /** @returns null when the view holds what may change without being noticed, or still waits for something. @throws PageMoved */
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

  /** Nothing that shows has changed since. May say that something has when nothing did, never the other way round. @throws PageMoved */
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

/** NaN, which is equal to nothing, for what this browser does not count. */
async function countsOf(cdp: CDPSession): Promise<Counts> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  const count = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN;
  return { layouts: count('LayoutCount'), styles: count('RecalcStyleCount') };
}
