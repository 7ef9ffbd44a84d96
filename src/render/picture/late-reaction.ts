import { monotonicNow } from '../monotonic-now.js';
import { hasListener } from '../page/main-world.js';
import type { PageSession } from '../page-session.js';
import { type BoundedPage, within } from './bounded-page.js';
import type { Loads } from './loads.js';

/** From the end of a step, itself some 60 ms, to what a page does once the scrolling pauses; 100 to 150 ms are usual. */
const PAUSE_MS = 150;
/** The same where images in view still wait for their source, and at the end of the page, which it may make longer. */
const LONG_PAUSE_MS = 300;
/** Stops at which nothing came: then the page is taken to do nothing late. */
const PATIENCE = 3;

/** What a page that listens to scrolling does only when the scrolling has paused. */
export class LateReaction {
  #patience = PATIENCE;
  #expected = false;
  #found = false;

  constructor(
    private readonly page: BoundedPage,
    private readonly loads: Loads,
  ) {}

  /** Whether content has changed at the end of the page while the scrolling paused: it may do so at each stop. */
  get isFound(): boolean {
    return this.#found;
  }

  /** Waits for it at the next stops, whether or not it has come before. */
  expect(): this {
    this.#patience = PATIENCE;
    this.#expected = true;
    return this;
  }

  /**
   * Waits for it, and for what it loads, longer where images in view wait for their source; a page that has not done anything late, or not
   * at the last stops, is waited for only there.
   *
   * @param how.since ms by `monotonicNow`, when the step ended
   * @param how.atMostMs from then on
   */
  async done({ since, atMostMs }: { since: number; atMostMs: number }): Promise<void> {
    const waitMs = Math.min(PAUSE_MS, atMostMs) - (monotonicNow() - since);
    if (waitMs > 0) await this.#look(waitMs);
    await this.loads.done(atMostMs - (monotonicNow() - since));
    const longerMs = LONG_PAUSE_MS - (monotonicNow() - since);
    if (longerMs <= 0 || this.#patience === 0 || !(await this.#comes(longerMs, true))) return;
    this.#patience = PATIENCE;
    await this.loads.done(atMostMs);
  }

  /** At the end of the page: waits until the page is longer than it was, or nothing more is to be expected. */
  async growth({ since, pageHeight }: { since: number; pageHeight: number }): Promise<void> {
    this.#found = await this.page.call('late.growth', { pageHeight, waitMs: LONG_PAUSE_MS - (monotonicNow() - since) });
  }

  async #look(waitMs: number): Promise<void> {
    const comes = await this.#comes(waitMs, !this.#expected || this.#patience === 0);
    if (comes) this.expect();
    else this.#patience = Math.max(0, this.#patience - 1);
  }

  async #comes(waitMs: number, onlyLazy: boolean): Promise<boolean> {
    const { begun } = this.loads;
    const changed = await this.page.call('late.change', { waitMs, onlyLazy });
    return changed || this.loads.begun > begun;
  }
}

/**
 * Whether a script of the page is told when its document is scrolled.
 *
 * @param deadline ms by `monotonicNow`
 * @throws CaptureError `render_timeout`, `render_crashed`, `navigation_failed`
 */
export async function listensToScroll(session: PageSession, deadline: number): Promise<boolean> {
  const listens = (target: 'window' | 'document') =>
    within(session, deadline, () => hasListener(session.cdp, target, ['scroll', 'scrollend']));
  return (await Promise.all([listens('window'), listens('document')])).includes(true);
}
