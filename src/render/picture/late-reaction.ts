import { awaitGrowth, awaitLateChange } from './in-page-late.js';
import type { Loads } from './loads.js';
import type { PageHand } from './page-hand.js';

/** From the end of a step, itself some 60 ms, to what a page does once the scrolling pauses; 100 to 150 ms are usual. */
const PAUSE_MS = 150;
/** The same where nothing is scrolled to any more: at the end of the page, which it may make longer, and at an element. */
const END_PAUSE_MS = 300;
/** Stops at which nothing came: then the page is taken to do nothing late. */
const PATIENCE = 3;

/** What a page that listens to scrolling does only when the scrolling has paused. */
export class LateReaction {
  #patience = PATIENCE;

  constructor(
    private readonly hand: PageHand,
    private readonly loads: Loads,
  ) {}

  /**
   * Waits for it, and for what it loads; a page that has never done anything late is soon waited for only where images are missing.
   *
   * @param how.since Unix ms, when the step ended
   * @param how.atMostMs from then on
   */
  async done({ since, atMostMs }: { since: number; atMostMs: number }): Promise<void> {
    const waitMs = Math.min(PAUSE_MS, atMostMs) - (Date.now() - since);
    if (waitMs > 0) await this.#look(waitMs);
    await this.loads.done(atMostMs - (Date.now() - since));
  }

  /** The same for the one stop that is to be pictured: images in view that still wait for their source are given longer. */
  async doneHere(how: { since: number; atMostMs: number }): Promise<void> {
    await this.done(how);
    const waitMs = END_PAUSE_MS - (Date.now() - how.since);
    if (waitMs > 0 && this.#patience > 0) await this.#look(waitMs, true);
    await this.loads.done(how.atMostMs);
  }

  /** At the end of the page: waits until the page is longer than it was, or nothing more is to be expected. */
  async growth({ since, pageHeight }: { since: number; pageHeight: number }): Promise<void> {
    await this.hand.run(awaitGrowth, { pageHeight, waitMs: END_PAUSE_MS - (Date.now() - since) });
  }

  async #look(waitMs: number, onlyLazy = this.#patience === 0): Promise<void> {
    const { begun } = this.loads;
    const changed = await this.hand.run(awaitLateChange, { waitMs, onlyLazy });
    this.#patience = changed || this.loads.begun > begun ? PATIENCE : Math.max(0, this.#patience - 1);
  }
}
