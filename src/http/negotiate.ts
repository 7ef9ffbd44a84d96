import { parseAccept } from 'hono/utils/accept';
import { contentTypeOf } from '../contract/capture-data.js';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureFormat } from '../contract/capture-request.js';

const ACCEPT_MAX_CHARS = 1_024;

/**
 * Decides how a finished capture is returned: as JSON, or as the picture itself (extensions.md, Answers). JSON is the default, also for a
 * wildcard; the picture is returned if `Accept` prefers its media type, or `image/*`, to JSON or equally.
 *
 * @throws CaptureError `invalid_request` (406) for an `Accept` that names pictures of other formats only
 */
export function negotiate(accept: string | undefined, format: CaptureFormat): 'json' | 'bytes' {
  const ranges = readRanges(accept ?? '');
  // The most specific range that is named decides, as in RFC 9110, 12.5.1.
  const weightOf = (...types: string[]) => {
    const named = types.find((type) => ranges.some((range) => range.type === type));
    return Math.max(0, ...ranges.filter(({ type }) => type === named).map(({ weight }) => weight));
  };
  const mediaType = contentTypeOf(format);
  const bytes = weightOf(mediaType, ...(mediaType.startsWith('image/') ? ['image/*'] : []));
  const json = weightOf('application/json', 'application/*', '*/*');
  if (bytes > 0 && bytes >= weightOf('application/json', 'application/*')) return 'bytes';
  const wantsPicture = ranges.some(
    ({ type, weight }) => weight > 0 && (/^(image|video)\//.test(type) || type === 'application/pdf'),
  );
  if (json > 0 || !wantsPicture) return 'json';
  throw new CaptureError({
    code: 'invalid_request',
    status: 406,
    message: `The capture would be ${mediaType}, which the \`Accept\` header does not allow. Set \`format\`, or \`animate.format\`, (now ${format}) to a type that you accept.`,
  });
}

const FORMATS = new Map(
  (['png', 'jpeg', 'webp', 'avif', 'bmp', 'pdf'] as const).map((format) => [contentTypeOf(format), format]),
);

/** With these, JSON or the default format is as good as a picture's own media type. */
const WIDE_TYPES = new Set(['image/*', '*/*', 'application/json', 'application/*']);

/**
 * The format that `Accept` chooses for a request without `format`: of the media types of answers with the greatest weight, the first that is a format.
 *
 * @returns null if there is none
 */
export function formatOfAccept(accept = ''): CaptureFormat | null {
  const ranges = readRanges(accept).filter(
    ({ type, weight }) => weight > 0 && (FORMATS.has(type) || WIDE_TYPES.has(type)),
  );
  const weightMax = Math.max(...ranges.map(({ weight }) => weight));
  const chosen = ranges.flatMap(({ type, weight }) => (weight === weightMax ? (FORMATS.get(type) ?? []) : []));
  // Browsers name avif first among the types of images, and it takes longest to make.
  return chosen.find((format) => format !== 'avif') ?? chosen[0] ?? null;
}

/** The package `negotiator` returns an order only, in which equal weights look like a preference. */
function readRanges(accept: string): { type: string; weight: number }[] {
  return parseAccept(accept.slice(0, ACCEPT_MAX_CHARS)).map(({ type, q }) => ({
    type: namedType(type.toLowerCase()),
    weight: q,
  }));
}

/** The registered name of a media type: many programs write image/jpg. */
function namedType(type: string): string {
  return type === 'image/jpg' ? 'image/jpeg' : type;
}
