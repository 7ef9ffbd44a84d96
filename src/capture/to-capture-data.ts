import { type CaptureData, type CaptureNotes, keepFinalUrl, type NamedCapture } from '../contract/capture-data.js';
import { type CaptureOptions, shownUrl } from '../contract/capture-request.js';
import type { NamedPicture, Rendering } from '../render/capture.js';

export interface Kept {
  options: CaptureOptions;
  /** Name of the stored picture. */
  artifact: string;
  /** Names of several pictures, the first included, in the order of the rendering's. */
  artifacts?: readonly string[];
  durationMs: number;
}

/** Builds the result of a capture that was rendered rather than found in the cache. */
export function toCaptureData(rendering: Rendering, { options, artifact, artifacts, durationMs }: Kept): CaptureData {
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
    ...(rendering.captures === null ? {} : { captures: rendering.captures.map((one, index) => toNamed(one, artifacts?.[index] ?? '')) }),
    inspection: rendering.inspection,
    ...(rendering.response === undefined ? {} : { response: rendering.response }),
  };
}

function toNamed({ content, warnings, ...facts }: NamedPicture, artifact: string): NamedCapture {
  return { ...facts, bytes: content.length, artifact, ...(warnings.length === 0 ? {} : { warnings }) };
}

function withNotes({ finalUrl, notes }: Pick<CaptureData, 'finalUrl' | 'notes'>, { warnings, changed }: Rendering) {
  const all: CaptureNotes = { ...notes, ...(warnings.length === 0 ? {} : { warnings }), ...(changed === null ? {} : { changed }) };
  return { finalUrl, ...(Object.keys(all).length === 0 ? {} : { notes: all }) };
}
