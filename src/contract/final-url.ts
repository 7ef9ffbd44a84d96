import type { CaptureData } from './capture-data.js';
import { URL_MAX_BYTES } from './limits.js';

/** Limits the length of a page's final URL, which a script can make megabytes long with one `history.replaceState`. */
export function keepFinalUrl(finalUrl: string): Pick<CaptureData, 'finalUrl' | 'notes'> {
  // Browsers serialise URLs as ASCII; anything else is cut between characters.
  const bytes = Buffer.from(finalUrl.slice(0, URL_MAX_BYTES + 1));
  if (bytes.length <= URL_MAX_BYTES) return { finalUrl };
  let end = URL_MAX_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { finalUrl: bytes.subarray(0, end).toString(), notes: { finalUrlCut: true } };
}
