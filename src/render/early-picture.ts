/**
 * A picture of the viewport that is taken while waiting for the page to settle, and used if nothing has changed by then: it is identical to
 * the one that would be taken.
 */

import type { CaptureOptions } from '../contract/capture-request.js';
import { ChangeWatch } from './page/change-watch.js';
import { checkPage } from './page/check-page.js';
import { TIMED_OUT } from './page/deadline.js';
import { LONG_POLL_AFTER_MS } from './page/network.js';
import type { OpenPage } from './page/open-page.js';
import type { Meanwhile } from './page/settle.js';
import { Tolerance } from './page/tolerance.js';
import type { Picture } from './picture/picture.js';
import { setViewDensity } from './picture/view-picture.js';

export interface EarlyParts {
  page: OpenPage;
  guard: { glance(): Promise<boolean> };
  /** ms by `monotonicNow`. */
  deadline: number;
  /** Takes the picture of the page in its current state. */
  take(): Promise<Picture>;
}

/**
 * After this long without requests the network is probably idle: most pages that continue loading do so within a few milliseconds. Any
 * longer, and the picture would not be encoded when the wait ends.
 */
const RESTS_AFTER_MS = 15;
/** How many pictures of one page may be discarded. */
const SHOTS_MAX = 2;
/** What hides something has changed the page, which is looked at once more. */
const LOOKS = 2;
const LOOK_MAX_MS = 1_500;
const FRAMES_MAX_MS = 200;

/** Whether these options capture the viewport of a page that only has to settle. */
export function isEarly(options: CaptureOptions): boolean {
  const { waitForIdle, waitForContent, delay, selector, clip, fullPage, format, omitBackground } = options;
  const onlySettles = waitForIdle && !waitForContent && delay === 0;
  return onlySettles && selector === null && clip === null && !fullPage && format !== 'pdf' && !omitBackground;
}

export class EarlyPicture implements Meanwhile {
  readonly #parts: EarlyParts;
  readonly #options: CaptureOptions;
  #stop = new AbortController();
  #running: Promise<void> | null = null;
  #shots = 0;
  #taken: { watch: ChangeWatch; picture: Promise<Picture> } | null = null;
  #kept: Picture | null = null;
  #isUnderWay = false;

  constructor(parts: EarlyParts, options: CaptureOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  begin({ rests }: { rests: boolean }): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#isUnderWay = rests;
    this.#running = this.#takeAfter(this.#running, this.#stop.signal, rests).catch(() => undefined);
  }

  async holds(): Promise<boolean> {
    this.#isUnderWay = false;
    this.#stop.abort();
    await this.#running;
    const taken = this.#taken;
    if (taken === null || !(await isStill(taken.watch))) return false;
    const picture = await taken.picture.catch(() => null);
    this.#kept = picture !== null && (await isStill(taken.watch)) ? picture : null;
    return this.#kept !== null;
  }

  /** Whether a picture is under way that nobody has asked for yet. */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** The picture that is still current, awaited if it is under way; null if there is none. */
  async kept(): Promise<Picture | null> {
    if (this.#isUnderWay) await this.holds();
    return this.#kept;
  }

  async #takeAfter(earlier: Promise<void> | null, over: AbortSignal, rests: boolean): Promise<void> {
    await earlier;
    this.#taken = null;
    await this.#takeWhileWaiting(over, rests);
  }

  /** Until the wait is over; what is under way then is ended, as it is further than whatever would be begun. */
  async #takeWhileWaiting(over: AbortSignal, rests: boolean): Promise<void> {
    const { network, deadlines } = this.#parts.page;
    // Whoever waits for a page that rests lets frames pass meanwhile.
    for (let isResting = rests; this.#shots < SHOTS_MAX; isResting = false) {
      if (!isResting) await this.#rest(over);
      const { activity } = network;
      if (over.aborted) return;
      const watch = await deadlines.within(this.#readyToShoot(), LOOK_MAX_MS);
      if (watch !== TIMED_OUT && watch !== null) {
        this.#shots++;
        const picture = this.#parts.take();
        picture.catch(() => undefined);
        this.#taken = { watch, picture };
      }
      await network.active(activity, over);
      if (over.aborted) return;
      this.#taken = null;
    }
  }

  /** Until the network is probably idle, and the page has drawn what it loaded. */
  async #rest(over: AbortSignal): Promise<void> {
    const { network, world, deadlines } = this.#parts.page;
    await network.quiet(0, over, LONG_POLL_AFTER_MS);
    const frames = deadlines.within(world.call('frames.passFrames', 2, FRAMES_MAX_MS), LOOK_MAX_MS);
    await Promise.all([frames, network.quiet(RESTS_AFTER_MS, over, LONG_POLL_AFTER_MS)]);
  }

  /** @returns null if the page cannot be captured in this state, which is handled later */
  async #readyToShoot(): Promise<ChangeWatch | null> {
    const { page, guard, deadline } = this.#parts;
    const { session, world, main } = page;
    await world.call('hold.still', { motion: this.#options.reduceMotion });
    await setViewDensity(session, { view: this.#options.view, deadline });
    for (let look = 0; look < LOOKS; look++) {
      const watch = await ChangeWatch.begin(page);
      const { current: shown } = main;
      if (watch === null || shown === null) return null;
      const [{ sight }, bannerless] = await Promise.all([world.call('blank.look'), guard.glance()]);
      // An empty page gets more time later.
      if (sight !== 'something' || !bannerless) return null;
      await checkPage({ ...page, tolerance: new Tolerance([]) }, shown, this.#options);
      if (await watch.unchanged()) return watch;
    }
    return null;
  }
}

function isStill(watch: ChangeWatch): Promise<boolean> {
  return watch.unchanged().catch(() => false);
}
