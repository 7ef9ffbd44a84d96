/** The text of a stopped page's document, in place of a picture. */

import { CaptureError } from '../../contract/capture-error.js';
import { DOCUMENT_MAX_CHARS } from '../../contract/limits.js';
import type { Picture, PictureOrder } from './region-picture.js';

/** A part of up to 6 bytes for each character is shorter than the longest answer of a page. */
const PART_CHARS = 500_000;

/** @throws CaptureError `render_incomplete` for a document longer than DOCUMENT_MAX_CHARS; as BoundedPage */
export async function takeMarkup({ page, options, begun }: PictureOrder): Promise<Picture> {
  const parts: string[] = [];
  for (let from = 0, part = ''; from === 0 || part !== ''; from += part.length) {
    part = await page.call('markup.part', from, PART_CHARS);
    if (from + part.length > DOCUMENT_MAX_CHARS) throw tooLong();
    parts.push(part);
    if (part.length < PART_CHARS - 1) break;
  }
  const { width, height, deviceScaleFactor } = options.view;
  return {
    content: Buffer.from(parts.join('')),
    width,
    height,
    diagnostics: {
      algorithm: 'native',
      sections: 0,
      deviceScaleFactor,
      scrollHeight: height,
      stoppedReason: 'end_of_page',
      truncated: false,
    },
    timings: { begun, shoot: performance.now() - begun, encode: 0 },
  };
}

function tooLong(): CaptureError {
  return new CaptureError({
    code: 'render_incomplete',
    message: `The document has more than ${DOCUMENT_MAX_CHARS} characters.`,
    retriable: false,
    details: { check: 'document', required: DOCUMENT_MAX_CHARS },
  });
}
