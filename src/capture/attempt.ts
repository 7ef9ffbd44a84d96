import { animationGraceMs } from '../contract/animation.js';
import { type CaptureData, type CaptureNotes, keepFinalUrl, type NamedCapture } from '../contract/capture-data.js';
import { CaptureError } from '../contract/capture-error.js';
import { type CaptureOptions, shownUrl } from '../contract/capture-request.js';
import { CAPTURE_GRACE_MS, TIMEOUT_MS } from '../contract/limits.js';
import { timesOf } from '../contract/page-loads.js';
import type { NamedPicture, Rendering } from '../render/capture.js';

/** Delay before a second attempt. */
export const RETRY_DELAY_MS = 500;

/**
 * Returns whether a failed capture gets a retry within the same time budget (decisions.md, Jobs).
 * @param leftMs of the budget, at the second attempt
 */
export function shouldRetry(error: unknown, leftMs: number): boolean {
  if (!(error instanceof CaptureError) || !error.retriable || error.details?.own_browser === true) return false;
  const again =
    error.code === 'render_crashed' || error.code === 'navigation_failed' || error.code === 'egress_unavailable';
  return again && leftMs >= TIMEOUT_MS.min;
}

/** A limit that ends a capture by force (decisions.md, Jobs). Dispose of it when the capture has ended. */
export interface ForcedEnd extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Starts the countdown, or restarts it. */
  begin(): void;
}

/** Creates a limit that aborts with `render_timeout`. */
export function forcedEnd(options: CaptureOptions): ForcedEnd {
  const { timeout, delay } = timesOf(options);
  const limit = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const exceed = () =>
    limit.abort(
      new CaptureError({
        code: 'render_timeout',
        message: `The capture exceeded its time limit (timeout ${timeout} ms, delay ${delay} ms) and was stopped.`,
      }),
    );
  return {
    signal: limit.signal,
    abort: (reason) => limit.abort(reason),
    begin: () => {
      clearTimeout(timer);
      timer = setTimeout(exceed, timeout + delay + CAPTURE_GRACE_MS + animationGraceMs(options));
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

export interface StoredRendering {
  options: CaptureOptions;
  /** Name of the stored picture. */
  artifact: string;
  /** Names of several pictures, the first included, in the order of the rendering's. */
  artifacts?: readonly string[];
  /** Name of the stored HTML of the document, if it was asked for. */
  html?: string | undefined;
  durationMs: number;
}

/** Builds the result of a capture that was rendered rather than found in the cache. */
export function toCaptureData(
  rendering: Rendering,
  { options, artifact, artifacts, html, durationMs }: StoredRendering,
): CaptureData {
  return {
    url: shownUrl(options),
    ...withNotes(keepFinalUrl(rendering.finalUrl), rendering),
    format: rendering.format,
    width: rendering.width,
    height: rendering.height,
    bytes: rendering.content.length,
    durationMs,
    cached: false,
    blockedRequests: rendering.blockedRequests,
    artifact,
    region: options.region,
    egressCountry: rendering.egressCountry,
    diagnostics: rendering.diagnostics,
    ...(rendering.captures === null
      ? {}
      : { captures: rendering.captures.map((one, index) => toNamed(one, artifacts?.[index] ?? '')) }),
    inspection: rendering.inspection,
    ...(rendering.extraction === undefined ? {} : { extraction: rendering.extraction }),
    ...(html === undefined ? {} : { htmlArtifact: html }),
    ...(rendering.response === undefined ? {} : { response: rendering.response }),
  };
}

function toNamed({ content, warnings, ...facts }: NamedPicture, artifact: string): NamedCapture {
  return { ...facts, bytes: content.length, artifact, ...(warnings.length === 0 ? {} : { warnings }) };
}

function withNotes({ finalUrl, notes }: Pick<CaptureData, 'finalUrl' | 'notes'>, { warnings, changed }: Rendering) {
  const all: CaptureNotes = {
    ...notes,
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(changed === null ? {} : { changed }),
  };
  return { finalUrl, ...(Object.keys(all).length === 0 ? {} : { notes: all }) };
}
