/** POST /v1/compare: its request, and the result (extensions.md, Comparing pictures). */
import { z } from 'zod';
import { captureRequestSchema } from './capture-request.js';
import { flag, number, text } from './described.js';
import { limited } from './field-rules.js';
import { isId } from './ids.js';
import { URL_MAX_BYTES } from './limits.js';
import { EXTENSION } from './request-fields.js';
import {
  inField,
  invalidField,
  parseFields,
  parseSubmission,
  type Submission,
  type SubmissionRules,
} from './submission.js';

/** An area of a picture, in px from its top left corner. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const DIFFERENCE_PICTURES = ['overlay', 'side_by_side', 'none'] as const;

export interface ComparisonOptions {
  /** Color distance, 0 to 1, from which a pixel counts as changed. */
  threshold: number;
  ignoreAntialiasing: boolean;
  /** Areas that are not compared. */
  mask: readonly Box[];
  picture: (typeof DIFFERENCE_PICTURES)[number];
}

/** The result of a comparison. */
export interface Comparison {
  same: boolean;
  /** Changed pixels as a share of all, 0 to 1. */
  share: number;
  pixels: number;
  /** Boxes of what has changed, largest first. */
  regions: Box[];
  before: { width: number; height: number };
  after: { width: number; height: number };
}

/** Bytes of a picture in a request, before base64. */
export const GIVEN_PICTURE_MAX_BYTES = 8_000_000;
/** Two pictures in base64, with room for the rest of the request. */
export const COMPARE_BODY_MAX_BYTES = 2 * Math.ceil((GIVEN_PICTURE_MAX_BYTES * 4) / 3) + 600_000;
const MASKS_MAX = 100;
const PX_MAX = 200_000;

const px = (min: number) => z.int().min(min).max(PX_MAX);
const boxSchema = z.strictObject({
  x: px(0).meta({ description: 'distance from the left edge', example: 32 }),
  y: px(0).meta({ description: 'distance from the top edge', example: 380 }),
  width: px(1).meta({ description: 'width', example: 200 }),
  height: px(1).meta({ description: 'height', example: 48 }),
});
const EXAMPLE_BOX = { x: 32, y: 380, width: 200, height: 48 };

const base64Picture = () => limited(Math.ceil((GIVEN_PICTURE_MAX_BYTES * 4) / 3) + 100).min(1);
const pictureSchema = (subject: string) =>
  z.union([base64Picture(), captureRequestSchema]).meta({
    description: `${subject}: the id of a job, the \`cdn_url\` of a picture of this server, a picture in base64 (also as \`data:\` URL, at most 8 MB), or a capture request, which is charged as usual`,
    example: 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8',
  });

export const comparisonThreshold = z
  .number()
  .min(0)
  .max(1)
  .default(0.1)
  .meta({ description: 'how different the colors of a pixel must be, from 0 (any difference) to 1', example: 0.1 });

export const compareRequestSchema = z
  .strictObject({
    before: pictureSchema('the earlier picture'),
    after: pictureSchema('the later picture'),
    threshold: comparisonThreshold,
    ignore_antialiasing: z
      .boolean()
      .default(true)
      .meta({ description: 'pixels that differ only by antialiasing do not count', example: true }),
    mask: z
      .array(boxSchema)
      .max(MASKS_MAX)
      .default([])
      .meta({ description: 'areas in px of the pictures that are not compared', example: [EXAMPLE_BOX] }),
    fail_above: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .meta({ description: 'share of changed pixels above which `passed` is false', example: 0.001 }),
    picture: z
      .enum(DIFFERENCE_PICTURES)
      .default('overlay')
      .meta({ description: 'the picture of the differences', example: 'overlay' }),
  })
  .meta({ id: 'CompareRequest', ...EXTENSION });

const sizeSchema = z.object({
  width: number('width in px', 1280),
  height: number('height in px', 8000),
});
const EXAMPLE_SIZE = { width: 1280, height: 8000 };

export const comparisonSchema = z
  .object({
    same: flag('whether no pixel has changed and both have the same size', false),
    passed: flag('whether `share` is at most `fail_above`', false),
    share: number('changed pixels as a share of all, from 0 to 1', 0.0162),
    pixels: number('number of changed pixels; those that only one of the pictures has count', 9047),
    regions: z.array(boxSchema).meta({
      description: 'boxes of what has changed, in px, the largest first, at most 102',
      example: [EXAMPLE_BOX],
    }),
    before: sizeSchema.meta({ description: 'size of the earlier picture in px', example: EXAMPLE_SIZE }),
    after: sizeSchema.meta({ description: 'size of the later picture in px', example: EXAMPLE_SIZE }),
    picture_url: text(
      'picture of the differences (webp); null if nothing has changed, or none was asked for',
      'https://shots.example.com/artifacts/abcdefghijklmnopqrstuvwxyz234567.webp',
    ).nullable(),
  })
  .meta({ id: 'Comparison', ...EXTENSION });

export type WireComparison = z.output<typeof comparisonSchema>;

/** The source of one of the pictures. */
export type PictureSource =
  | { kind: 'job'; jobId: string }
  | { kind: 'artifact'; name: string }
  | { kind: 'given'; content: Buffer }
  | { kind: 'capture'; submission: Submission };

export interface ComparisonRequest {
  before: PictureSource;
  after: PictureSource;
  options: ComparisonOptions;
  failAbove: number;
}

const pictureSource = z.union([z.instanceof(Uint8Array), base64Picture(), z.record(z.string(), z.unknown())]);
/** Capture requests are parsed by `parseSubmission`, which names their problems. */
const parsedSchema = compareRequestSchema.extend({
  before: pictureSource,
  after: pictureSource,
});

/**
 * Reads the body of a comparison. A picture may be its bytes, if a thread has read its base64.
 * @throws CaptureError `invalid_request`, with every problem in `details.issues`; `unsupported_option` as parseSubmission
 */
export function parseComparison(
  body: unknown,
  rules: Omit<SubmissionRules, 'forceAsync' | 'explain'>,
): ComparisonRequest {
  const { before, after, threshold, ignore_antialiasing, mask, fail_above, picture } = parseFields(parsedSchema, body);
  return {
    before: readSource('before', before, rules),
    after: readSource('after', after, rules),
    options: { threshold, ignoreAntialiasing: ignore_antialiasing, mask, picture },
    failAbove: fail_above,
  };
}

const ARTIFACT_PATH = /^(?:https?:\/\/[^\s/?#]+)?(?:\/[^\s?#]*)?\/artifacts\/([\w-]+\.\w+)$/;
const DATA_URL = /^data:image\/[\w.+-]+;base64,/;
const DATA_URL_START_CHARS = 200;

/** The base64 of a text or a data URL. No expression with a loop matches all of it: millions of characters would overflow its stack. */
function base64Of(written: string): string | null {
  const text = written.slice(DATA_URL.exec(written.slice(0, DATA_URL_START_CHARS))?.[0].length ?? 0);
  const end = text.indexOf('=');
  const [data, padding] = end === -1 ? [text, ''] : [text.slice(0, end), text.slice(end)];
  return data !== '' && !/[^A-Za-z0-9+/_-]/.test(data) && ['', '=', '=='].includes(padding) ? text : null;
}

function readSource(
  side: 'before' | 'after',
  value: Uint8Array | string | Record<string, unknown>,
  rules: Omit<SubmissionRules, 'forceAsync'>,
): PictureSource {
  if (value instanceof Uint8Array)
    return { kind: 'given', content: Buffer.from(value.buffer, value.byteOffset, value.byteLength) };
  return typeof value === 'string'
    ? readText(side, value)
    : { kind: 'capture', submission: readCapture(side, value, rules) };
}

/** The name of the artifact that an address of this server leads to; null for another text. */
export function readArtifactName(text: string): string | null {
  return text.length > URL_MAX_BYTES ? null : (ARTIFACT_PATH.exec(text)?.[1] ?? null);
}

/** Reads a text that names a picture or contains one. @throws CaptureError `invalid_request` */
export function readText(side: string, text: string): Exclude<PictureSource, { kind: 'capture' }> {
  if (isId('job', text)) return { kind: 'job', jobId: text };
  const name = readArtifactName(text);
  if (name !== null) return { kind: 'artifact', name };
  const base64 = base64Of(text);
  if (base64 === null || /^https?:/.test(text)) throw invalidField(side, SOURCES);
  const content = Buffer.from(base64, 'base64');
  if (content.length > GIVEN_PICTURE_MAX_BYTES)
    throw invalidField(side, `must have at most ${GIVEN_PICTURE_MAX_BYTES / 1e6} MB`);
  return { kind: 'given', content };
}

const SOURCES =
  'must be the id of a job, the `cdn_url` of a picture of this server, a picture in base64, or a capture request';

/** A capture for a comparison is a png unless the request says otherwise, since lossy formats differ where the page does not. */
function readCapture(
  side: 'before' | 'after',
  fields: Record<string, unknown>,
  rules: Omit<SubmissionRules, 'forceAsync'>,
): Submission {
  return inField(side, () => {
    if (fields.animate !== undefined) throw invalidField('animate', 'is not possible in a comparison');
    const submission = parseSubmission(
      { format: 'png', cache_ttl: 0, ...fields, sync: true },
      { ...rules, forceAsync: false },
    );
    if (/^(pdf|bmp)$/.test(submission.options.format))
      throw invalidField('format', 'must be png, jpeg, webp or avif in a comparison');
    return submission;
  });
}

/** A share in percent, such as `3.1 %`; one that is not zero is never said to be. */
export function formatShare(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.01) return 'less than 0.01 %';
  return `${percent.toFixed(percent < 1 ? 2 : 1)} %`;
}
