import { setTimeout as sleep } from 'node:timers/promises';
import type { Frame, Page } from 'playwright-core';
import type { Look } from '../in-page/consent/look.js';
import type { PlatformAnswer } from '../in-page/consent/platforms.js';
import { CONSENT_FRAME } from '../in-page/consent/words.js';
import { callOnce, type World } from '../page/world.js';

/** What was done about consent banners, for the log. */
export interface BannerReport {
  /** `rejected` when a refusal was clicked, `hidden` when a banner was only hidden, `failed` when the page did not let us. */
  outcome: 'none' | 'rejected' | 'hidden' | 'failed';
  /** autoconsent's name of the consent platform, when it knew it. */
  platform: string | null;
  scrollFreed: boolean;
  ms: number;
}

export interface BannerTools {
  page: Page;
  world: World;
  /** Source of consent-page.js. */
  consentBundle: string;
  /** Rules that hide banners in this page and are not laid yet; may be empty. */
  css: string;
  /** As the first look had it. */
  seen: Pick<Look, 'banner' | 'framed' | 'hasFrameOnTop' | 'hidden'>;
  /** Whether the picture is taken next: what comes after is held back. */
  last: boolean;
  /** Whether requests of consent platforms were refused: such a page may wait behind a lock for an answer that cannot come. */
  refusedPlatform: boolean;
}

/** A page whose consent script has run may take this long to show a banner, once. */
const EXPECTED_PATIENCE_MS = 600;
/** A known platform's banner is in view already; its answer may take several clicks. */
const PLATFORM_PATIENCE_MS = { popup: 900, answer: 4_000 };
const FRAMES_MAX = 6;
/** A frame that does not let itself be read by then is none of ours. */
const FRAME_READ_MS = 500;

/**
 * Refuses by the platform's own way if it is known, else by a button that says so, hides what is left, by the rules for
 * banners too, and frees the scroll only if any of that found a banner (decisions.md, Blocking). Never accepts.
 */
export async function answerBanners(tools: BannerTools): Promise<Omit<BannerReport, 'ms'>> {
  const { world, css, seen } = tools;
  const frames = seen.hasFrameOnTop ? await readFrames(tools) : [];
  const inView =
    seen.banner === 'seen' ||
    frames.length > 0 ||
    (seen.banner === 'expected' && (await world.call('consent.awaitBanner', { patience: EXPECTED_PATIENCE_MS })));
  const answer = inView ? await askPlatforms(tools, seen.framed || frames.length > 0) : NOTHING;
  // What is hidden first can no longer be refused.
  const rest = inView
    ? await world.call('consent.dismiss', { whole: false, click: answer.outcome !== 'rejected' })
    : { refused: 0, hidden: 0 };
  const laid = css === '' ? 0 : await world.call('consent.lay', { css, count: true });
  const rejected = answer.outcome === 'rejected' || rest.refused > 0;
  const hidden = answer.outcome === 'hidden' || seen.hidden > 0 || laid > 0 || rest.hidden > 0;
  const scrollFreed = (rejected || hidden || tools.refusedPlatform) && (await world.call('consent.freeScroll'));
  if (tools.last && (seen.banner !== 'none' || seen.hasFrameOnTop)) await world.call('consent.holdBack');
  return { outcome: rejected ? 'rejected' : hidden ? 'hidden' : answer.outcome, platform: answer.platform, scrollFreed };
}

const NOTHING: PlatformAnswer = { platform: null, outcome: 'none' };

/** @returns addresses of the frames that are banners by what they hold; the page is told of them */
async function readFrames({ page, world }: BannerTools): Promise<string[]> {
  const read = framesOf(page).map(async (frame) => {
    const answer = frame.evaluate(callOnce('consent.isBanner')).catch(() => false);
    const isBanner = await Promise.race([answer, sleep(FRAME_READ_MS, false, { ref: false })]);
    return isBanner === true ? [frame.url()] : [];
  });
  const urls = (await Promise.all(read)).flat();
  if (urls.length > 0) await world.call('consent.tellFrames', { urls });
  return urls;
}

function framesOf(page: Page, wanted = (_: Frame) => true): Frame[] {
  const main = page.mainFrame();
  return page
    .frames()
    .filter((frame) => frame !== main && /^https?:|^about:srcdoc/.test(frame.url()) && wanted(frame))
    .slice(0, FRAMES_MAX);
}

/**
 * In the page and in those frames where a banner may live; the first that was answered counts.
 *
 * @param framed whether any frame may be it
 */
async function askPlatforms({ page, consentBundle }: BannerTools, framed: boolean): Promise<PlatformAnswer> {
  const main = page.mainFrame();
  const inFrames = framesOf(page, (frame) => framed || CONSENT_FRAME.test(frame.url()));
  const answers = await Promise.all([main, ...inFrames].map((frame) => askPlatform(frame, consentBundle)));
  const answered = answers.find(({ outcome }) => outcome === 'rejected') ?? answers.find(({ outcome }) => outcome === 'hidden');
  if (answered !== undefined) return answered;
  const refusals = await Promise.all(inFrames.map((frame) => refuseInFrame(frame)));
  if (refusals.some((refused) => refused)) return { platform: null, outcome: 'rejected' };
  return answers.find(({ outcome }) => outcome === 'failed') ?? NOTHING;
}

async function askPlatform(frame: Frame, bundle: string): Promise<PlatformAnswer> {
  try {
    return await frame.evaluate(`(() => { ${bundle}\nreturn stillframe.answerPlatform(${JSON.stringify(PLATFORM_PATIENCE_MS)}); })()`);
  } catch {
    // The frame went away, often because it was answered by another's click.
    return NOTHING;
  }
}

async function refuseInFrame(frame: Frame): Promise<boolean> {
  try {
    const { refused } = (await frame.evaluate(callOnce('consent.dismiss', { whole: true, click: true }))) as { refused: number };
    return refused > 0;
  } catch {
    return false;
  }
}
