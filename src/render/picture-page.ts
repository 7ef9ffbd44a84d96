/**
 * From a page that has been navigated to its picture: settled, cleared of banners, scrolled through, checked and taken, as one list of steps.
 */

import type { CaptureOptions } from '../contract/capture-request.js';
import { monotonicNow } from './monotonic-now.js';
import { checkPage } from './page/check-page.js';
import { contentReady } from './page/content-ready.js';
import { type Deadlines, TIMED_OUT } from './page/deadline.js';
import { dropStalledStyleSheets } from './page/drop-stalled-style-sheets.js';
import type { DocumentState } from './page/main-document.js';
import type { OpenPage } from './page/open-page.js';
import { passTime } from './page/page-clock.js';
import { PageMoved } from './page/page-moved.js';
import { RUN_AGAIN_MS, settle } from './page/settle.js';
import type { StageTimes } from './page/stage-times.js';
import { resumePage, stopPage } from './page/stop-page.js';
import { follow, waitUntil } from './page/wait-until.js';
import type { EncodeQueue } from './picture/encode-queue.js';
import type { Picture } from './picture/picture.js';
import { type ScrollReport, scrollThrough, scrollToElement } from './picture/scroll-through.js';
import { takePicture } from './picture/take-picture.js';
import { neverStays } from './render-failure.js';

/** What removes consent banners from a page. */
export interface BannerGuard {
  answerBanners(signal: AbortSignal, last: boolean): Promise<{ outcome: string }>;
}

export interface Shooting {
  page: OpenPage;
  guard: BannerGuard;
  times: StageTimes;
  /** The process's one queue for big pictures. */
  encodes: EncodeQueue;
}

/** Times that a page may go elsewhere under our hands before it is given up. */
const MOVES_FOLLOWED = 3;
const SCROLL_MAX_MS = 20_000;
/** Kept for what comes after the scrolling. */
const AFTER_SCROLL_MS = 8_000;
const MOTION_MAX_MS = 1_000;
const DECODED_AFTER_MS = 500;
const FRAMES_MAX_MS = 200;
/** A picture of the view may take this long past the budget. */
const PICTURE_GRACE_MS = 4_000;

/** The picture of a page that was ready, checked, and still the same one when it had been taken; begun anew when the page went elsewhere. */
export async function picturePage(shooting: Shooting, options: CaptureOptions): Promise<{ picture: Picture; shown: DocumentState }> {
  const { main } = shooting.page;
  for (let moves = 0; moves <= MOVES_FOLLOWED; moves++) {
    const shown = await waitUntil(shooting.page, options.waitUntil === 'networkidle' ? 'load' : options.waitUntil);
    try {
      const picture = await shoot({ ...shooting, shown }, options);
      if (main.current === shown) return { picture, shown };
    } catch (error) {
      if (main.current === shown && !(error instanceof PageMoved)) throw error;
    }
    await resumePage(shooting.page.session);
  }
  throw neverStays();
}

async function shoot(shooting: Shooting & { shown: DocumentState }, options: CaptureOptions): Promise<Picture> {
  const { page, guard, times, encodes } = shooting;
  const { session, deadlines } = page;
  times.enter('settle', 40);
  if (options.waitForIdle) await settle(page);
  const scrolls = options.selector === null && (options.fullPage || options.format === 'pdf' || clipsBelowView(options));
  const waits = options.waitForContent || options.delay > 0;
  await clearBanners(page, options, { guard, last: !waits && !scrolls });
  if (options.waitForContent) await contentReady(page);
  if (options.delay > 0) await deadlines.outside(() => passDelay(page, options.delay));
  if (waits) await clearBanners(page, options, { guard, last: !scrolls });
  await dropStalledStyleSheets(page, shooting.shown);
  times.enter('scroll', 60);
  if (options.selector !== null) await reach(page, options.selector, options);
  const scroll = scrolls ? await deadlines.outside(() => scrolled(page, guard, options)) : null;
  times.enter('settle', 70);
  const shown = await follow(page, shooting.shown, options.waitUntil);
  if (shown !== shooting.shown) throw new PageMoved('the page navigated away while it was being prepared');
  await checkPage(page, shown, options);
  times.enter('picture', 80);
  const deadline = scroll === null ? viewDeadline(deadlines) : deadlines.endsAt;
  const motionMs = () => Math.min(MOTION_MAX_MS, deadline - monotonicNow());
  if (options.clip !== null && !scrolls) await deadlines.within(page.world.call('scrollers.expandAll'), motionMs());
  if (options.reduceMotion) await deadlines.within(page.world.call('motion.end'), motionMs());
  await deadlines.within(stopPage(session, options), motionMs());
  // A background that has just come is decoded while it is drawn for the first time.
  if (page.network.hasLoadedImages(DECODED_AFTER_MS))
    await deadlines.within(page.world.call('frames.passFrames', 2, FRAMES_MAX_MS), motionMs());
  const how = { deadline, scroll, encodes };
  const taking = () =>
    takePicture(session, options, how).catch((error: unknown) => {
      // An element or a part of the page that is not there: the view is what stands.
      page.tolerance.orThrow(error);
      return takePicture(session, { ...options, selector: null, clip: null }, { ...how, scroll: options.fullPage ? scroll : null });
    });
  // A view's picture is begun anew when the page moves: its time counts, so that the whole ends in time.
  return scroll === null ? await deadlines.orEnd(taking()) : await deadlines.outside(taking);
}

async function passDelay(page: OpenPage, delay: number): Promise<void> {
  await passTime(page, delay, { realMs: delay });
}

/** When a picture of the view must be there, ms by `monotonicNow`. */
function viewDeadline({ endsAt, budgetEndsAt }: Deadlines): number {
  return Math.min(endsAt, budgetEndsAt + PICTURE_GRACE_MS);
}

/** Again after whatever gave a page the time to show another one. */
async function clearBanners(
  page: OpenPage,
  options: CaptureOptions,
  { guard, last }: { guard: BannerGuard; last: boolean },
): Promise<void> {
  const { deadlines } = page;
  const banner = await deadlines.within(guard.answerBanners(deadlines.signal, last), deadlines.leftMs());
  if (banner !== TIMED_OUT && banner.outcome !== 'none' && options.waitForIdle) await settle(page, RUN_AGAIN_MS);
}

async function scrolled(page: OpenPage, guard: BannerGuard, options: CaptureOptions): Promise<ScrollReport> {
  const deadline = Math.min(monotonicNow() + SCROLL_MAX_MS, page.deadlines.endsAt - AFTER_SCROLL_MS);
  const quiet = async () => {
    if (options.waitForIdle) await settle(page, RUN_AGAIN_MS);
    await clearBanners(page, options, { guard, last: true });
  };
  return await scrollThrough(page, options, { deadline, settle: quiet });
}

/** Within the budget: what is late is pictured as it stands. */
async function reach(page: OpenPage, selector: string, options: CaptureOptions): Promise<void> {
  const { deadlines } = page;
  const leftMs = deadlines.leftMs();
  const quiet = options.waitForIdle ? () => settle(page, RUN_AGAIN_MS) : async () => {};
  await deadlines.within(scrollToElement(page, selector, { deadline: monotonicNow() + leftMs, settle: quiet }), leftMs);
}

/** What lies there may load only once it is scrolled to. */
function clipsBelowView({ clip, view }: CaptureOptions): boolean {
  return clip !== null && clip.y + clip.height > view.height;
}
