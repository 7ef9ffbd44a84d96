import { succeedsWithin } from '../deadlines.js';
import type { CdpSession } from './pipe-session.js';

/** The name of the function by which our program in a page asks for frames. Its argument is their number, as text. */
export const WANT_FRAMES = 'stillframeWantsFrames';

/** The pace of an ordinary screen. */
const PACE_MS = 1_000 / 60;
/** The wait after the last frame that our program asked for: it asks again if it needs more. */
const WANTED_PACE_MS = 100;
/** A screenshot ends after a few frames. Further ones are needed only if the page has changed meanwhile. */
const SHOT_FRAMES = 4;
const SHOT_PACE_MS = 33;
/** The time limit for the frame in flight once no more are sent. */
const LAST_FRAME_MAX_MS = 100;
/** A frame that has not ended after as many of these, while the page has answered each time, never will. */
const LOST_AFTER_MS = 1_000;
const LOST_AFTER_ANSWERS = 2;
/** More frames than our program ever waits for at once. */
const WANTED_MAX = 10;

/**
 * Gives a page its frames, in a browser that draws only on demand (chromium-flags.ts). Without them, the page gets no animation
 * frames and no reports of observers, and no screenshot ends. Only one frame of a browser may be in flight: with two, of different
 * pages, both can hang for good (Chromium 156).
 */
export class FrameSource {
  /** Whether the page gets frames at the pace of a screen. */
  #isPaced = false;
  /** The number of screenshots that are being taken. */
  #shots = 0;
  /** The number of frames that are due at once. */
  #owed = 0;
  #isDrawing = false;
  #frame: Promise<unknown> = Promise.resolve();
  #wake: () => void = () => {};

  /**
   * @param page a session on the page's target
   * @param onLost called if a frame does not end although the page answers, so that the browser can draw nothing any more
   */
  constructor(
    private readonly page: CdpSession,
    private readonly onLost: () => void = () => {},
  ) {
    page.on('Runtime.bindingCalled', ({ name, payload }) => {
      if (name === WANT_FRAMES) this.#want(Number(payload));
    });
  }

  /** The session, on which screenshots get the frames that they wait for. */
  get session(): CdpSession {
    const { page } = this;
    const send: CdpSession['send'] = (method, params) => {
      const answer = page.send(method, params);
      return method === 'Page.captureScreenshot' ? this.#during(answer) : answer;
    };
    return { send, on: page.on.bind(page), off: page.off.bind(page) };
  }

  /** Begins to give frames. */
  start(): void {
    this.#isPaced = true;
    void this.#draw();
  }

  /**
   * Gives no more frames.
   * @returns whether the last one has ended: otherwise, the browser may be unable to draw another page
   */
  async stop(): Promise<boolean> {
    this.#isPaced = false;
    this.#shots = 0;
    this.#wake();
    return await succeedsWithin(this.#frame, { ms: LAST_FRAME_MAX_MS });
  }

  #want(count: number): void {
    this.#owed = Math.max(this.#owed, count > 0 ? Math.min(count, WANTED_MAX) : 0);
    this.#wake();
  }

  async #during<T>(screenshot: Promise<T>): Promise<T> {
    this.#shots += 1;
    this.#want(SHOT_FRAMES);
    void this.#draw();
    try {
      return await screenshot;
    } finally {
      this.#shots = Math.max(0, this.#shots - 1);
    }
  }

  async #draw(): Promise<void> {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    while (this.#isPaced || this.#shots > 0) {
      const began = performance.now();
      const isWanted = this.#owed > 0;
      this.#owed -= 1;
      // The page may have been closed, or have crashed.
      this.#frame = this.page.send('HeadlessExperimental.beginFrame').catch(() => {});
      await this.#frameEnds();
      this.#owed = Math.max(0, this.#owed);
      const pace = this.#shots > 0 ? SHOT_PACE_MS : isWanted ? WANTED_PACE_MS : PACE_MS;
      if (this.#owed === 0) await this.#sleep(pace - (performance.now() - began));
    }
    this.#isDrawing = false;
  }

  /** A canvas that a worker draws can hold up a frame for good. A page that computes holds it up until it answers. */
  async #frameEnds(): Promise<void> {
    let isOver = false;
    const ends = this.#frame.then(() => {
      isOver = true;
    });
    for (let answers = 0; !isOver && answers < LOST_AFTER_ANSWERS; answers++) {
      if (await succeedsWithin(ends, { ms: LOST_AFTER_MS, isPatient: true })) return;
      await Promise.race([ends, this.page.send('Page.getFrameTree').catch(() => ends)]);
    }
    if (!isOver) this.onLost();
    await ends;
  }

  /** Sleeps until frames are wanted. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, ms));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
