import { z } from 'zod';
import { limited } from './limited.js';
import * as limits from './limits.js';
import { cookieSchema, storageStateSchema } from './login-schema.js';
import { pdfSchema } from './pdf-schema.js';
import { targetUrlSchema } from './target-url-schema.js';

/** The fields that extensions.md adds to a capture request, on the wire. */

/** Marks fields and operations in the OpenAPI document. */
export const EXTENSION = { 'x-stillframe-extension': true } as const;

const clipEdge = z.number().min(0).max(limits.CLIP_MAX_PX);
const clipSide = z.number().min(1).max(limits.CLIP_MAX_PX);

/** Codes that `tolerate` turns from failures into warnings. */
export const TOLERATED_CODES = ['target_error', 'blocked_by_target', 'render_incomplete'] as const;
export type ToleratedCode = (typeof TOLERATED_CODES)[number];

export const extensionFields = {
  html: limited(limits.HTML_MAX_BYTES)
    .min(1)
    .refine((html) => Buffer.byteLength(html) <= limits.HTML_MAX_BYTES, `must be at most ${limits.HTML_MAX_BYTES} bytes of UTF-8`)
    .optional()
    .meta({ description: 'HTML document to capture instead of `url`', example: '<h1>Invoice 4711</h1>', ...EXTENSION }),
  base_url: targetUrlSchema.optional().meta({
    description: 'URL that `html` is loaded at: its origin and the base of its relative links. Default: an origin without a server',
    example: 'https://example.com/',
    ...EXTENSION,
  }),
  cookies: z
    .array(cookieSchema)
    .max(limits.COOKIES_MAX_ITEMS)
    .optional()
    .meta({ description: 'cookies set before the navigation', example: [{ name: 'session', value: 'abc123' }], ...EXTENSION }),
  storage_state: storageStateSchema.optional().meta({
    description: "Playwright's storage state: cookies and local storage of a saved login",
    example: { cookies: [], origins: [] },
    ...EXTENSION,
  }),
  pdf: pdfSchema
    .optional()
    .meta({ description: 'paged printing; format pdf only', example: { paper: 'a4', margin: { top: '10mm' } }, ...EXTENSION }),
  clip: z
    .strictObject({
      x: clipEdge.meta({ description: 'left edge, CSS px of the page', example: 0 }),
      y: clipEdge.meta({ description: 'top edge, CSS px of the page', example: 0 }),
      width: clipSide.meta({ description: 'width, CSS px', example: 640 }),
      height: clipSide.meta({ description: 'height, CSS px', example: 480 }),
    })
    .optional()
    .meta({ description: 'capture only this part of the page', example: { x: 0, y: 0, width: 640, height: 480 }, ...EXTENSION }),
  padding: z
    .int()
    .min(0)
    .max(limits.PADDING_MAX_PX)
    .optional()
    .meta({ description: 'CSS px kept around the element of `selector`, within the page', example: 16, ...EXTENSION }),
  full_width: z
    .boolean()
    .optional()
    .meta({
      description: `full page also in width: what lies beside the viewport is in the picture too, up to ${limits.FULL_WIDTH_MAX_PX.toLocaleString('en-US')} CSS px; needs \`full_page\``,
      example: true,
      ...EXTENSION,
    }),
  max_height: z
    .int()
    .min(1)
    .max(limits.CLIP_MAX_PX)
    .optional()
    .meta({
      description: 'greatest height of a full page in CSS px; what lies below is left out, and `truncated` is true; needs `full_page`',
      example: 4_000,
      ...EXTENSION,
    }),
  omit_background: z
    .boolean()
    .optional()
    .meta({ description: 'transparent background where the page paints nothing; png and webp only', example: true, ...EXTENSION }),
  real_time: z
    .boolean()
    .optional()
    .meta({
      description: "leave the page's clock at the real time instead of running it ahead to the end of its animations",
      example: true,
      ...EXTENSION,
    }),
  resize: z
    .strictObject({
      width: z.int().min(1).max(limits.RESIZE_MAX_PX).optional().meta({ description: 'output px', example: 640 }),
      height: z.int().min(1).max(limits.RESIZE_MAX_PX).optional().meta({ description: 'output px', example: 480 }),
      fit: z.enum(['inside', 'cover', 'contain']).default('inside').meta({
        description: 'how the image is fitted into `width` and `height`; if only one of them is given, the other follows from it',
        example: 'inside',
      }),
    })
    .refine(({ width, height }) => width !== undefined || height !== undefined, 'needs `width`, `height` or both')
    .optional()
    .meta({ description: 'scale the finished image down, never up', example: { width: 640 }, ...EXTENSION }),
  tolerate: z
    .array(z.enum(TOLERATED_CODES))
    .max(limits.TOLERATE_MAX_ITEMS)
    .optional()
    .meta({
      description: 'error codes to tolerate: the page is captured anyway, and the failure becomes a warning',
      example: ['target_error'],
      ...EXTENSION,
    }),
};

const extensionsSchema = z.strictObject(extensionFields);
export type WireExtensions = z.output<typeof extensionsSchema>;
