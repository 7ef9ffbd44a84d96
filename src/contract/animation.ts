import type { AnimateOption, CaptureOptions } from './capture-request.js';
import { broken, type Issue } from './combinations.js';
import { ANIMATION_FRAME_MAX_MS, ANIMATION_GRACE_MS, ANIMATION_MAX_PIXELS } from './limits.js';

/** The consequences of `animate`: the number of frames, and the time that they may take. */

/** The frames of an animated picture, at least one. */
export function frameCount({ duration, fps }: AnimateOption): number {
  return Math.max(1, Math.round((duration * fps) / 1_000));
}

/** The additional time of a capture with `animate`, in ms; 0 for any other. */
export function animationGraceMs({ animate }: Pick<CaptureOptions, 'animate'>): number {
  return animate === null ? 0 : ANIMATION_GRACE_MS + frameCount(animate) * ANIMATION_FRAME_MAX_MS;
}

/**
 * @param rules.mp4 whether the operator has named an ffmpeg
 * @returns why `animate` cannot be as it is requested; empty if it can
 */
export function animationProblems({ animate, view, clip }: CaptureOptions, rules: { mp4: boolean }): Issue[] {
  if (animate === null) return [];
  const size = clip ?? view;
  const isBeyondView = clip !== null && (clip.width > view.width || clip.height > view.height);
  const pixels = Math.round(frameCount(animate) * size.width * size.height * view.deviceScaleFactor ** 2);
  const tooMany = `has ${frameCount(animate)} frames with ${pixels} pixels together; at most ${ANIMATION_MAX_PIXELS} are possible. Lower \`animate.duration\`, \`animate.fps\` or the size of the viewport, or set \`animate.scale\` to css.`;
  return broken([
    [
      'animate.format',
      animate.format === 'mp4' && !rules.mp4,
      'mp4 is not available here: the operator has not set STILLFRAME_FFMPEG.',
    ],
    ['clip', isBeyondView, 'with `animate` must not be larger than the viewport.'],
    ['animate', pixels > ANIMATION_MAX_PIXELS, tooMany],
  ]);
}
