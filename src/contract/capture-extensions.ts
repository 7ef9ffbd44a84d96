import { z } from 'zod';
import { cookieDomainProblem } from './cookie-domain.js';
import { hasControlCharacter } from './field-rules.js';
import { lengthToInches } from './lengths.js';
import * as limits from './limits.js';
import { normalizeTargetUrl } from './target-url.js';

/**
 * The fields of a capture request that interface.md does not have (extensions.md): schemas, defaults, and their form inside.
 * What is not used leaves no trace in the identity of a request (`EXTENSION_DEFAULTS`).
 */

/** Marks fields and operations in the OpenAPI document. */
export const EXTENSION = { 'x-stillframe-extension': true } as const;

const SAME_SITE = { strict: 'Strict', lax: 'Lax', none: 'None' } as const;
export type SameSite = (typeof SAME_SITE)[keyof typeof SAME_SITE];

const sameSite = z.preprocess(
  (value) => (typeof value === 'string' ? (SAME_SITE[value.toLowerCase() as keyof typeof SAME_SITE] ?? value) : value),
  z.enum(['Strict', 'Lax', 'None']),
);
const EXPIRES_MAX_S = 253_402_300_799;
const cookieText = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !hasControlCharacter(value) && !value.includes(';'), 'must not contain semicolons or control characters');
const cookieName = () =>
  cookieText(limits.COOKIE_NAME_MAX_CHARS)
    .min(1)
    .refine((name) => !/[\s=,]/.test(name), 'must not contain spaces, commas or equals signs');
const cookiePath = () => cookieText(limits.COOKIE_NAME_MAX_CHARS).refine((path) => path.startsWith('/'), 'must begin with a slash');

const cookie = z.strictObject({
  name: cookieName().meta({ description: 'Cookie name.', example: 'session' }),
  value: cookieText(limits.COOKIE_VALUE_MAX_CHARS).meta({ description: 'Cookie value; write-only.', example: 'abc123', writeOnly: true }),
  domain: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .meta({ description: "The target's host or a parent domain of it. Default: the target's host alone.", example: 'example.com' }),
  path: cookiePath().default('/').meta({ description: 'Path prefix the cookie is sent to.', example: '/' }),
  secure: z.boolean().default(false).meta({ description: 'Send over https only.', example: true }),
  http_only: z.boolean().default(false).meta({ description: 'Hide the cookie from scripts.', example: true }),
  same_site: sameSite.optional().meta({ description: 'SameSite attribute; case does not matter.', example: 'Lax' }),
  expires: z
    .number()
    .min(-1)
    .max(EXPIRES_MAX_S)
    .optional()
    .meta({ description: 'Unix seconds; -1 or absent for a session cookie.', example: 1_893_456_000 }),
});

/** Playwright's own file. Members this service has no use for (`indexedDB`, `credentials`) are ignored, as newer versions add some. */
const storageState = z
  .object({
    cookies: z
      .array(
        z.object({
          name: cookieName(),
          value: cookieText(limits.COOKIE_VALUE_MAX_CHARS),
          domain: z.string().min(1).max(253),
          path: cookiePath().default('/'),
          expires: z.number().min(-1).max(EXPIRES_MAX_S).default(-1),
          httpOnly: z.boolean().default(false),
          secure: z.boolean().default(false),
          sameSite: sameSite.default('Lax'),
        }),
      )
      .default([]),
    origins: z
      .array(
        z.object({
          origin: z
            .string()
            .refine(isWebOrigin, 'must be an http or https origin, such as https://example.com')
            .transform((value) => new URL(value).origin),
          localStorage: z.array(z.strictObject({ name: z.string(), value: z.string() })).default([]),
        }),
      )
      .default([]),
  })
  .superRefine((state, context) => {
    if (Buffer.byteLength(JSON.stringify(state)) > limits.STORAGE_STATE_MAX_BYTES) {
      context.addIssue({ code: 'custom', message: `must be at most ${limits.STORAGE_STATE_MAX_BYTES} bytes of JSON` });
    }
    state.cookies.forEach(({ domain }, index) => {
      const problem = cookieDomainProblem(domain, null);
      if (problem !== null) context.addIssue({ code: 'custom', path: ['cookies', index, 'domain'], message: problem });
    });
  });

export const PAPER_INCHES = {
  a0: { width: 33.1, height: 46.8 },
  a1: { width: 23.4, height: 33.1 },
  a2: { width: 16.54, height: 23.4 },
  a3: { width: 11.7, height: 16.54 },
  a4: { width: 8.27, height: 11.7 },
  a5: { width: 5.83, height: 8.27 },
  a6: { width: 4.13, height: 5.83 },
  letter: { width: 8.5, height: 11 },
  legal: { width: 8.5, height: 14 },
  tabloid: { width: 11, height: 17 },
  ledger: { width: 17, height: 11 },
} as const;
const PAPER_NAMES = Object.keys(PAPER_INCHES) as (keyof typeof PAPER_INCHES)[];

const length = (description: string, example: string, range = { min: 0, max: 200 }) =>
  z
    .union([z.number(), z.string()], { error: 'must be a length such as 10mm, or a number of CSS px' })
    .refine((value) => lengthToInches(value) !== null, 'must be a length such as 10mm, 1cm, 0.4in, 12px or 9pt')
    .refine((value) => {
      const inches = lengthToInches(value) ?? range.min;
      return inches >= range.min && inches <= range.max;
    }, `must be between ${range.min} and ${range.max} inches`)
    .meta({ description, example });

const template = (what: string) =>
  z
    .string()
    .max(limits.PDF_TEMPLATE_MAX_CHARS)
    .optional()
    .meta({
      description: `HTML of the ${what} on each page. Elements of the classes date, title, url, pageNumber and totalPages are filled in. Needs a margin to show in.`,
      example: '<span style="font-size:9px">Page <span class="pageNumber"></span></span>',
    });

const pdf = z.strictObject({
  paper: z
    .union(
      [
        z.enum(PAPER_NAMES),
        z.strictObject({
          width: length('Paper width.', '210mm', limits.PDF_PAPER_INCHES),
          height: length('Paper height.', '297mm', limits.PDF_PAPER_INCHES),
        }),
      ],
      { error: `must be one of ${PAPER_NAMES.join(', ')}, or an object of \`width\` and \`height\` between 0.3 and 200 inches` },
    )
    .default('letter')
    .meta({ description: `Paper size: ${PAPER_NAMES.join(', ')}, or width and height.`, example: 'a4' }),
  landscape: z.boolean().default(false).meta({ description: 'Turn the paper by 90 degrees.', example: false }),
  margin: z
    .strictObject({
      top: length('Top margin.', '10mm').default(0),
      right: length('Right margin.', '10mm').default(0),
      bottom: length('Bottom margin.', '10mm').default(0),
      left: length('Left margin.', '10mm').default(0),
    })
    .prefault({})
    .meta({ description: 'Page margins; a number is CSS px. Default: none.', example: { top: '10mm', bottom: '10mm' } }),
  scale: z.number().min(0.1).max(2).default(1).meta({ description: 'Scale of the rendering.', example: 1 }),
  print_background: z.boolean().default(true).meta({ description: 'Print background colors and images.', example: true }),
  page_ranges: z
    .string()
    .max(256)
    .refine(isPageRanges, 'must be page numbers and ranges from 1 up, such as 1-3,5')
    .optional()
    .meta({ description: 'Pages to keep. Default: all.', example: '1-3,5' }),
  header_template: template('header'),
  footer_template: template('footer'),
  prefer_css_page_size: z.boolean().default(false).meta({ description: "Let the page's own @page size win over `paper`.", example: false }),
  media: z.enum(['print', 'screen']).default('print').meta({ description: 'CSS media type.', example: 'print' }),
  outline: z.boolean().default(false).meta({ description: 'Embed an outline made from the headings.', example: true }),
  tagged: z.boolean().default(false).meta({ description: 'Make a tagged (accessible) PDF.', example: true }),
});

const clipEdge = z.number().min(0).max(limits.CLIP_MAX_PX);
const clipSide = z.number().min(1).max(limits.CLIP_MAX_PX);

/** Codes that `tolerate` turns from failures into warnings. */
export const TOLERATED_CODES = ['target_error', 'blocked_by_target', 'render_incomplete'] as const;
export type ToleratedCode = (typeof TOLERATED_CODES)[number];

export const extensionFields = {
  html: z
    .string()
    .min(1)
    .refine((html) => Buffer.byteLength(html) <= limits.HTML_MAX_BYTES, `must be at most ${limits.HTML_MAX_BYTES} bytes of UTF-8`)
    .optional()
    .meta({ description: 'HTML document to capture instead of `url`.', example: '<h1>Invoice 4711</h1>', ...EXTENSION }),
  base_url: z
    .string()
    .min(1)
    .transform((text, context) => {
      const target = normalizeTargetUrl(text);
      if ('url' in target) return target.url;
      context.addIssue({ code: 'custom', message: target.problem });
      return z.NEVER;
    })
    .optional()
    .meta({
      description: 'Address that `html` is loaded at, for its relative links and its origin. Default: an origin that reaches nothing.',
      example: 'https://example.com/',
      ...EXTENSION,
    }),
  cookies: z
    .array(cookie)
    .max(limits.COOKIES_MAX_ITEMS)
    .optional()
    .meta({ description: 'Cookies set before the navigation.', example: [{ name: 'session', value: 'abc123' }], ...EXTENSION }),
  storage_state: storageState.optional().meta({
    description: "Playwright's storage state: cookies and local storage of a saved login.",
    example: { cookies: [], origins: [] },
    ...EXTENSION,
  }),
  pdf: pdf
    .optional()
    .meta({ description: 'Paged printing; format pdf only.', example: { paper: 'a4', margin: { top: '10mm' } }, ...EXTENSION }),
  clip: z
    .strictObject({
      x: clipEdge.meta({ description: 'Left edge, CSS px of the page.', example: 0 }),
      y: clipEdge.meta({ description: 'Top edge, CSS px of the page.', example: 0 }),
      width: clipSide.meta({ description: 'Width, CSS px.', example: 640 }),
      height: clipSide.meta({ description: 'Height, CSS px.', example: 480 }),
    })
    .optional()
    .meta({ description: 'Capture only this part of the page.', example: { x: 0, y: 0, width: 640, height: 480 }, ...EXTENSION }),
  padding: z
    .int()
    .min(0)
    .max(limits.PADDING_MAX_PX)
    .optional()
    .meta({ description: 'CSS px kept around the element of `selector`, within the page.', example: 16, ...EXTENSION }),
  omit_background: z
    .boolean()
    .optional()
    .meta({ description: 'Transparent where the page paints nothing; png and webp.', example: true, ...EXTENSION }),
  resize: z
    .strictObject({
      width: z.int().min(1).max(limits.RESIZE_MAX_PX).optional().meta({ description: 'Output px.', example: 640 }),
      height: z.int().min(1).max(limits.RESIZE_MAX_PX).optional().meta({ description: 'Output px.', example: 480 }),
      fit: z
        .enum(['inside', 'cover', 'contain'])
        .default('inside')
        .meta({ description: 'How the image fits both sides.', example: 'inside' }),
    })
    .refine(({ width, height }) => width !== undefined || height !== undefined, 'needs `width`, `height` or both')
    .refine(
      ({ width, height, fit }) => fit === 'inside' || (width !== undefined && height !== undefined),
      'needs both `width` and `height` with this `fit`',
    )
    .optional()
    .meta({ description: 'Scale the finished image down, never up.', example: { width: 640 }, ...EXTENSION }),
  tolerate: z
    .array(z.enum(TOLERATED_CODES))
    .max(TOLERATED_CODES.length)
    .optional()
    .meta({ description: 'Codes that become warnings: the picture is taken as it stands.', example: ['target_error'], ...EXTENSION }),
};

const extensionsSchema = z.strictObject(extensionFields);
export type WireExtensions = z.output<typeof extensionsSchema>;

/** A cookie as the browser takes it. */
export interface CookieOption {
  name: string;
  value: string;
  /** With a leading dot for all subdomains as well; null: the target's host alone. */
  domain: string | null;
  path: string;
  secure: boolean;
  httpOnly: boolean;
  sameSite: SameSite | null;
  /** Unix seconds, -1 for a session cookie. */
  expires: number;
}

export interface StorageStateOption {
  cookies: (CookieOption & { domain: string })[];
  origins: { origin: string; localStorage: { name: string; value: string }[] }[];
}

/** Lengths are inches, landscape is applied. */
export interface PdfOption {
  paper: { width: number; height: number };
  margin: { top: number; right: number; bottom: number; left: number };
  scale: number;
  printBackground: boolean;
  pageRanges: string | null;
  headerTemplate: string | null;
  footerTemplate: string | null;
  preferCssPageSize: boolean;
  media: 'print' | 'screen';
  outline: boolean;
  tagged: boolean;
}

/** CSS px of the page. */
export interface ClipOption {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Output px. */
export interface ResizeOption {
  width: number | null;
  height: number | null;
  fit: 'inside' | 'cover' | 'contain';
}

export interface CaptureExtensions {
  html: string | null;
  /** Normalised, absolute; null also where `html` has none. */
  baseUrl: string | null;
  cookies: CookieOption[];
  storageState: StorageStateOption | null;
  pdf: PdfOption | null;
  clip: ClipOption | null;
  /** CSS px. */
  padding: number;
  omitBackground: boolean;
  resize: ResizeOption | null;
  /** Sorted, each once. */
  tolerate: ToleratedCode[];
}

export const EXTENSION_DEFAULTS: CaptureExtensions = {
  html: null,
  baseUrl: null,
  cookies: [],
  storageState: null,
  pdf: null,
  clip: null,
  padding: 0,
  omitBackground: false,
  resize: null,
  tolerate: [],
};

export function toCaptureExtensions(wire: WireExtensions): CaptureExtensions {
  return {
    html: wire.html ?? null,
    baseUrl: wire.base_url ?? null,
    cookies: (wire.cookies ?? []).map((one) => ({
      name: one.name,
      value: one.value,
      domain: one.domain === undefined ? null : `.${bareDomain(one.domain)}`,
      path: one.path,
      secure: one.secure,
      httpOnly: one.http_only,
      sameSite: one.same_site ?? null,
      expires: one.expires ?? -1,
    })),
    storageState: wire.storage_state ?? null,
    pdf: wire.pdf === undefined ? null : toPdfOption(wire.pdf),
    clip: wire.clip ?? null,
    padding: wire.padding ?? 0,
    omitBackground: wire.omit_background ?? false,
    resize:
      wire.resize === undefined ? null : { width: wire.resize.width ?? null, height: wire.resize.height ?? null, fit: wire.resize.fit },
    tolerate: TOLERATED_CODES.filter((code) => wire.tolerate?.includes(code)),
  };
}

function toPdfOption(wire: z.output<typeof pdf>): PdfOption {
  const named = typeof wire.paper === 'string' ? PAPER_INCHES[wire.paper] : wire.paper;
  const [width, height] = [inches(named.width, typeof wire.paper === 'string'), inches(named.height, typeof wire.paper === 'string')];
  const { top, right, bottom, left } = wire.margin;
  return {
    paper: wire.landscape ? { width: height, height: width } : { width, height },
    margin: { top: inches(top), right: inches(right), bottom: inches(bottom), left: inches(left) },
    scale: wire.scale,
    printBackground: wire.print_background,
    pageRanges: wire.page_ranges ?? null,
    headerTemplate: wire.header_template ?? null,
    footerTemplate: wire.footer_template ?? null,
    preferCssPageSize: wire.prefer_css_page_size,
    media: wire.media,
    outline: wire.outline,
    tagged: wire.tagged,
  };
}

function inches(length: number | string, already = false): number {
  return already ? Number(length) : (lengthToInches(length) ?? 0);
}

function bareDomain(domain: string): string {
  return domain.replace(/^\./, '').toLowerCase();
}

function isWebOrigin(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === '';
}

/** As printToPDF reads them: `1-3,5`, each range upwards. */
function isPageRanges(text: string): boolean {
  return text.split(',').every((part) => {
    const [, from, to] = /^\s*([1-9]\d{0,5})(?:\s*-\s*([1-9]\d{0,5}))?\s*$/.exec(part) ?? [];
    return from !== undefined && (to === undefined || Number(to) >= Number(from));
  });
}
