/** Declines cookie banners, by the rule of their consent platform or by their buttons, or hides them. */
import type { Frame, Page } from 'playwright-core';
import { z } from 'zod';
import type { BannerInspection } from '../in-page/consent/inspect.js';
import type { PlatformAnswer } from '../in-page/consent/platforms.js';
import { CONSENT_FRAME } from '../in-page/consent/words.js';
import { callIn } from '../launch/frame-scripts.js';
import { callMainWorld } from '../page/main-world.js';
import { callOnce, type PageSession, type World } from '../page-session.js';

/** The outcome of declining consent banners, as it is logged. */
export interface BannerReport {
  /** `rejected`: a button was clicked; `hidden`: a banner was only hidden; `failed`: the page prevented both. */
  outcome: 'none' | 'rejected' | 'hidden' | 'failed';
  /** autoconsent's name of the consent platform; null if unknown. */
  platform: string | null;
  scrollFreed: boolean;
  ms: number;
}

interface BannerTools {
  page: Page;
  allowEvaluation: PageSession['allowEvaluation'];
  world: World;
  /** The source of consent-page.js. */
  consentBundle: string;
  /** CSS rules that hide banners in this page and have not been applied yet. May be empty. */
  css: string;
  /**
   * Hides banners by rules that no style sheet can express.
   * @returns the number of visible elements that it hid
   */
  hideMore(): Promise<number>;
  /** The result of the first inspection. */
  inspection: BannerInspection;
  /** Whether requests to consent platforms were blocked. Such a page may lock its scrolling while it waits for them. */
  refusedPlatform: boolean;
}

/** The time limit for declining a visible banner of a known platform, which may need several clicks. */
const PLATFORM_WAIT_MS = { popup: 900, answer: 4_000 };
const PLATFORM_MAX_MS = PLATFORM_WAIT_MS.popup + PLATFORM_WAIT_MS.answer + 1_000;
const FRAMES_MAX = 6;
/** A frame that cannot be read within this time is ignored. */
const FRAME_READ_MS = 500;
const FRAME_REFUSES_MS = 2_000;

const platformAnswerSchema: z.ZodType<PlatformAnswer> = z.object({
  platform: z.string().max(100).nullable(),
  outcome: z.enum(['none', 'rejected', 'hidden', 'failed']),
});

/**
 * Declines by the API of a known platform, else by a button labelled so. Hides the remaining banners, and unlocks scrolling
 * only if a banner was found (decisions.md, Blocking). Never accepts.
 */
export async function answerBanners(tools: BannerTools): Promise<Omit<BannerReport, 'ms'>> {
  const { world, css, inspection } = tools;
  if (inspection.hasFrameOnTop || inspection.hasBanner) await tools.allowEvaluation();
  const frames = inspection.hasFrameOnTop ? await readFrames(tools) : [];
  const inView = inspection.hasBanner || frames.length > 0;
  const answer = inView ? await answerByPlatforms(tools, inspection.framed || frames.length > 0) : NOTHING;
  // A banner must be declined before it is hidden.
  const rest = inView
    ? await world.call('banners.dismiss', { whole: false, click: answer.outcome !== 'rejected' })
    : { refused: 0, hidden: 0 };
  const laid =
    (css === '' ? 0 : await world.call('consent.applyHidingRules', { css, banners: true })) + (await tools.hideMore());
  const rejected = answer.outcome === 'rejected' || rest.refused > 0;
  const hidden = answer.outcome === 'hidden' || inspection.hidden > 0 || laid > 0 || rest.hidden > 0;
  const scrollFreed = (rejected || hidden || tools.refusedPlatform) && (await world.call('banners.restorePage'));
  return {
    outcome: rejected ? 'rejected' : hidden ? 'hidden' : answer.outcome,
    platform: answer.platform,
    scrollFreed,
  };
}

const NOTHING: PlatformAnswer = { platform: null, outcome: 'none' };

/**
 * Marks the frames whose content is a consent banner in the page.
 * @returns their URLs
 */
async function readFrames({ page, world }: BannerTools): Promise<string[]> {
  const read = framesOf(page)
    .slice(0, FRAMES_MAX)
    .map(async (frame) => {
      const isBanner = await answerOf(frame, callOnce('consent.isBanner'), {
        schema: z.boolean(),
        timeoutMs: FRAME_READ_MS,
      });
      return isBanner === true ? [frame.url()] : [];
    });
  const urls = (await Promise.all(read)).flat();
  if (urls.length > 0) await world.call('consent.setBannerFrames', { urls });
  return urls;
}

function framesOf(page: Page): Frame[] {
  return page.frames().filter((frame) => frame !== page.mainFrame() && /^https?:|^about:srcdoc/.test(frame.url()));
}

/**
 * Asks the page and the frames that may contain a banner; the first one that was declined counts.
 * @param framed whether any frame may be a banner
 */
async function answerByPlatforms({ page, consentBundle }: BannerTools, framed: boolean): Promise<PlatformAnswer> {
  const inFrames = framesOf(page)
    .filter((frame) => framed || CONSENT_FRAME.test(frame.url()))
    .slice(0, FRAMES_MAX);
  const script = callIn(consentBundle, 'answerPlatform', PLATFORM_WAIT_MS);
  const inFrame = [page.mainFrame(), ...inFrames].map((frame) =>
    answerOf(frame, script, { schema: platformAnswerSchema, timeoutMs: PLATFORM_MAX_MS }),
  );
  const answers = (await Promise.all(inFrame)).map((answer) => answer ?? NOTHING);
  const first = (wanted: PlatformAnswer['outcome']) => answers.find(({ outcome }) => outcome === wanted);
  const answered = first('rejected') ?? first('hidden');
  if (answered !== undefined) return answered;
  const refusals = inFrames.map((frame) =>
    answerOf(frame, callOnce('banners.dismiss', { whole: true, click: true }), REFUSAL),
  );
  if ((await Promise.all(refusals)).some((answer) => answer !== null && answer.refused > 0))
    return { platform: null, outcome: 'rejected' };
  return first('failed') ?? NOTHING;
}

const REFUSAL = { schema: z.object({ refused: z.number() }), timeoutMs: FRAME_REFUSES_MS };

/**
 * A frame's answer; null if it is invalid or late, or the frame was removed, often because a click elsewhere declined its
 * banner.
 */
function answerOf<Answer>(
  frame: Frame,
  expression: string,
  limits: Parameters<typeof callMainWorld<Answer>>[2],
): Promise<Answer | null> {
  return callMainWorld(frame, expression, limits).catch(() => null);
}
