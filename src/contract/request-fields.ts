/**
 * Every field of a capture request (interface.md, extensions.md): type, default, description, group, price, and which of signed links,
 * MCP, the command line and the console have it. Validation, the OpenAPI document, help texts, forms and docs/options.md come from it.
 */
import { z } from 'zod';
import { isOpaqueColor } from './css-color.js';
import { DEVICE_NAMES, PRESET_NAMES, readDeviceName } from './device-presets.js';
import { withDocumentRules } from './document-schema.js';
import { extractSchema } from './extract.js';
import { forbiddenHeader, hasLineBreak, isLocale, isTimezone, limited, readTemplateReference } from './field-rules.js';
import * as limits from './limits.js';
import { cookieSchema, storageStateSchema } from './login-schema.js';
import { PAGE_RANGES_RULE, readPageRanges } from './page-ranges.js';
import { paletteSchema } from './palette.js';
import { pdfFields, pdfLayoutSchema } from './pdf-schema.js';
import { POPUP_KINDS } from './popups.js';
import { normalizeTargetUrl } from './read-url.js';
import { REGION_NAMES } from './regions.js';
import { stepSchema } from './step-schema.js';

/** Headings under which fields are shown, in this order. */
export const FIELD_GROUPS = [
  'Output',
  'HTML',
  'What to capture',
  'Several pictures',
  'Motion',
  'PDF',
  'Login',
  'Steps',
  'Viewport and device',
  'Waiting',
  'Checks (the capture fails if they do not hold)',
  'Blocking and editing the page',
  'Emulation',
  'Network',
  'Result and callback',
] as const;

/** The entries of `.meta()` that only this program reads. JSON Schema documents are made without them. */
export interface FieldMeta {
  group: (typeof FIELD_GROUPS)[number];
  /** Credits of a capture by the value of the field; a capture costs the largest price of its fields, at least 1 (interface.md, Limits). */
  price: Readonly<Record<string, number>>;
  /** Signed links must not have it, because it is secret, too long, or of no use to them. */
  links: false;
  /** The capture tool for language models has it; a text replaces the description there. False: a member that it does not have. */
  mcp: boolean | string;
  /** False: no flag. `members`: a flag for each member that is not secret. */
  cli: false | 'members' | FlagMeta;
  /** In the console's form, it stands beside the URL (`first`) or takes several lines (`long`). */
  form: 'first' | 'long';
  /** It is a file that another program writes: forms and help texts do not name its members. */
  opaque: true;
  /** Values that a form offers for a text. */
  suggested: readonly string[];
}

interface FlagMeta {
  short?: `-${string}`;
  /** Replaces the flag that the name makes. */
  long?: `--${string}`;
  /** The flag stands for one entry of a list, and is repeated. */
  each?: `--${string}`;
  /** Replaces the description; of a switch that is on by default, it describes `--no-…`. */
  help?: string;
  /** Flags without effect, which the help of the command does not list. */
  hidden?: 'always' | 'without server';
}

const OWN_META = {
  group: 0,
  price: 0,
  links: 0,
  mcp: 0,
  cli: 0,
  form: 0,
  opaque: 0,
  suggested: 0,
} satisfies Record<keyof FieldMeta, 0>;
/** The names of FieldMeta, which JSON Schema documents must not have. */
export const OWN_META_NAMES = Object.keys(OWN_META);

/** Marks extensions of interface.md in the OpenAPI document. Requests that do not use such a field keep their identity. */
export const EXTENSION = { 'x-stillframe-extension': true } as const;

/** Codes that `tolerate` turns from failures into warnings. */
export const TOLERATED_CODES = ['target_error', 'blocked_by_target', 'render_incomplete'] as const;
export type ToleratedCode = (typeof TOLERATED_CODES)[number];

/** A host name, or an address, without a port. */
const HOST_NAME = /^[a-z0-9._[\]:-]+$/;

/** Types of requests that `block_resources` blocks; a frame is the document of an iframe. */
export const RESOURCE_TYPES = [
  'stylesheet',
  'image',
  'media',
  'font',
  'script',
  'texttrack',
  'xhr',
  'fetch',
  'eventsource',
  'manifest',
  'frame',
  'other',
] as const;
export type ResourceKind = (typeof RESOURCE_TYPES)[number];

const whole = ({ min, max }: { min: number; max?: number }) =>
  max === undefined ? z.int().min(min) : z.int().min(min).max(max);
const line = (maxChars: number) =>
  limited(maxChars).refine((text) => !hasLineBreak(text), 'must not contain CR, LF or NUL');
const code = () => limited(limits.CUSTOM_CODE_MAX_CHARS).optional();
const selector = () => limited(4_096).trim().min(1);
const elementCode = () => limited(limits.CUSTOM_CODE_MAX_CHARS).trim().min(1);
const selectors = () => z.array(selector()).max(256).default([]);
const DEEP = '`>>>` leads into open shadow trees and into frames of the same origin, as in `#frame >>> main`';
const markers = () => z.array(limited(limits.MARKER_MAX_CHARS).trim().min(1)).max(limits.MARKERS_MAX_ITEMS).default([]);
const clipEdge = () => z.number().min(0).max(limits.CLIP_MAX_PX);
const clipSide = () => z.number().min(1).max(limits.CLIP_MAX_PX);
const resizeSide = () => whole({ min: 1, max: limits.RESIZE_MAX_PX }).optional();

const clip = () =>
  z.strictObject({
    x: clipEdge().meta({ description: 'left edge, CSS px of the page', example: 0 }),
    y: clipEdge().meta({ description: 'top edge, CSS px of the page', example: 0 }),
    width: clipSide().meta({ description: 'width, CSS px', example: 640 }),
    height: clipSide().meta({ description: 'height, CSS px', example: 480 }),
  });
const resize = () =>
  z
    .strictObject({
      width: resizeSide().meta({ description: 'output px', example: 640 }),
      height: resizeSide().meta({ description: 'output px', example: 480 }),
      fit: z.enum(['inside', 'cover', 'contain']).default('inside').meta({
        description:
          'how the image is fitted into `width` and `height`; if only one of them is given, the other follows from it',
        example: 'inside',
      }),
    })
    .refine(({ width, height }) => width !== undefined || height !== undefined, 'needs `width`, `height` or both');
const viewportMembers = () => ({
  width: whole(limits.VIEWPORT_WIDTH_PX)
    .default(limits.VIEWPORT_WIDTH_PX.default)
    .meta({ description: 'viewport width in CSS px', cli: { short: '-w' } }),
  height: whole(limits.VIEWPORT_HEIGHT_PX)
    .default(limits.VIEWPORT_HEIGHT_PX.default)
    .meta({ description: 'viewport height in CSS px' }),
  deviceScaleFactor: z
    .number()
    .min(limits.DEVICE_SCALE_FACTOR.min)
    .max(limits.DEVICE_SCALE_FACTOR.max)
    .default(limits.DEVICE_SCALE_FACTOR.default)
    .meta({ description: 'output pixels per CSS px' }),
  isMobile: z
    .boolean()
    .default(false)
    .meta({ description: 'emulate a mobile browser: the viewport meta tag is honored' }),
  hasTouch: z.boolean().default(false).meta({ description: 'emulate a touch screen' }),
});
const DEVICE = `device: ${PRESET_NAMES.join(', ')}, or a device of Playwright by its name in any case, such as Galaxy S24 or Galaxy S24 landscape`;
const deviceName = () =>
  limited(limits.DEVICE_NAME_MAX_CHARS)
    .transform((text, context) => {
      const device = readDeviceName(text);
      if ('name' in device) return device.name;
      context.addIssue({ code: 'custom', message: device.problem });
      return z.NEVER;
    })
    .optional();
const rotate = () => z.union([z.literal(90), z.literal(180), z.literal(270)], { error: 'must be 90, 180 or 270' });
const pictureName = () =>
  limited(limits.PICTURE_NAME_CHARS)
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$/,
      'must be letters and digits, with hyphens and underscores in between',
    )
    .optional()
    .meta({ description: 'name of its pictures among `data.captures`', example: 'hero' });

/** An entry of `captures`. */
export const pictureEntrySchema = z.strictObject({
  name: pictureName(),
  selector: selector().optional().meta({ description: 'as `selector` of the request', example: 'header' }),
  selector_all: selector()
    .optional()
    .meta({ description: 'a picture of each visible element that matches, named name-1, name-2, …', example: '.card' }),
  limit: whole({ min: 1, max: limits.PICTURES_MAX }).optional().meta({
    description: 'greatest number of pictures of `selector_all`; default: as many as the request may still have',
    example: 5,
  }),
  selector_union: selector()
    .optional()
    .meta({ description: 'as `selector_union` of the request', example: 'h1, .summary' }),
  selector_function: elementCode().optional().meta({
    description: 'as `selector_function` of the request',
    example: 'document.querySelector("h2").parentElement',
  }),
  clip: clip().optional().meta({ description: 'as `clip` of the request' }),
  full_page: z.boolean().optional().meta({ description: 'as `full_page` of the request', example: true }),
  full_width: z.boolean().optional().meta({ description: 'as `full_width` of the request', example: true }),
  max_height: whole({ min: 1, max: limits.CLIP_MAX_PX })
    .optional()
    .meta({ description: 'as `max_height` of the request', example: 4_000 }),
  padding: whole({ min: 0, max: limits.PADDING_MAX_PX })
    .optional()
    .meta({ description: 'as `padding` of the request; also for `selector_all`', example: 16 }),
  format: z
    .enum(['png', 'jpeg', 'webp', 'avif', 'bmp', 'pdf'])
    .optional()
    .meta({ description: "`jpg` is jpeg; default: the request's" }),
  quality: whole(limits.QUALITY).optional().meta({ description: "default: the request's", example: 80 }),
  resize: resize()
    .optional()
    .meta({ description: "default: the request's", example: { width: 640 } }),
  omit_background: z.boolean().optional().meta({ description: "default: the request's", example: true }),
  rotate: rotate().optional().meta({ description: "default: the request's", example: 90 }),
  palette: paletteSchema.optional().meta({ description: "default: the request's", example: { colors: 2 } }),
});

const targetUrl = () =>
  limited(limits.URL_MAX_BYTES)
    .min(1)
    .transform((text, context) => {
      const target = normalizeTargetUrl(text);
      if ('url' in target) return target.url;
      context.addIssue({ code: 'custom', message: target.problem });
      return z.NEVER;
    })
    .optional();

const httpHeaders = () =>
  z
    .record(limited(limits.HEADER_NAME_MAX_CHARS), line(limits.HEADER_VALUE_MAX_CHARS))
    .superRefine((value, context) => {
      for (const name of Object.keys(value)) {
        const problem = forbiddenHeader(name);
        if (problem !== null) context.addIssue({ code: 'custom', path: [name], message: problem });
      }
    })
    .optional();
const htmlDocument = () =>
  limited(limits.HTML_MAX_BYTES)
    .min(1)
    .refine(
      (html) => Buffer.byteLength(html) <= limits.HTML_MAX_BYTES,
      `must be at most ${limits.HTML_MAX_BYTES} bytes of UTF-8`,
    )
    .optional();
const cookies = () => z.array(cookieSchema).max(limits.COOKIES_MAX_ITEMS).optional();
const httpCredentials = () =>
  z
    .strictObject({
      username: line(limits.CREDENTIAL_MAX_CHARS).min(1).meta({ description: 'user name', example: 'ada' }),
      password: line(limits.CREDENTIAL_MAX_CHARS).meta({
        description: 'write-only',
        example: 'secret',
        writeOnly: true,
      }),
    })
    .optional();

/** A document of `pdf.pages`. What it does not say is as in the request. */
const pdfDocumentSchema = z.strictObject({
  url: targetUrl().meta({ description: 'address of the document', example: 'https://example.com/chapter-1' }),
  html: htmlDocument().meta({ description: 'the document itself, instead of `url`', example: '<h1>Preface</h1>' }),
  base_url: targetUrl().meta({
    description: 'as `base_url` of the request, for `html`',
    example: 'https://example.com/preface',
  }),
  title: line(limits.PDF_TITLE_MAX_CHARS)
    .min(1)
    .optional()
    .meta({ description: "its bookmark; default: the document's title", example: 'Preface' }),
  headers: httpHeaders().meta({ description: 'as `headers` of the request', example: { 'Accept-Language': 'en' } }),
  cookies: cookies().meta({ description: 'as `cookies` of the request' }),
  http_credentials: httpCredentials().meta({ description: 'as `http_credentials` of the request' }),
  delay: whole(limits.DELAY_MS).optional().meta({ description: "default: the request's", example: 500 }),
  wait_for_selector: selector().optional().meta({ description: "default: the request's", example: '#content' }),
  wait_for_function: limited(limits.CUSTOM_CODE_MAX_CHARS)
    .trim()
    .min(1)
    .optional()
    .meta({ description: "default: the request's", example: 'window.chartReady === true' }),
  hide_selectors: z.array(selector()).max(256).optional().meta({ description: "default: the request's" }),
  remove_selectors: z.array(selector()).max(256).optional().meta({ description: "default: the request's" }),
  custom_css: code().meta({ description: "default: the request's", example: 'nav { display: none }' }),
  custom_js: code().meta({ description: "default: the request's", example: 'document.body.className = "print"' }),
  steps: z.array(stepSchema).max(limits.STEPS_MAX_ITEMS).optional().meta({ description: "default: the request's" }),
  pdf: pdfLayoutSchema.optional().meta({
    description:
      'layout of the document; default: that of the request. Its `headers` count the pages of the document alone',
    example: { landscape: true },
    opaque: true,
  }),
});

/** Playwright's. */
export const MASK_COLOR_DEFAULT = '#FF00FF';

export const requestFields = {
  // Required unless `html` or `template` is given: see combinations.ts.
  url: targetUrl().meta({
    group: 'What to capture',
    description:
      'Public HTTP or HTTPS target. A bare hostname is normalized to HTTPS. Required unless `html`, `template` or `pdf.pages` is given.',
    example: 'https://example.com/',
    mcp: true,
    cli: false,
    form: 'first',
  }),
  viewport: z
    .strictObject({
      ...viewportMembers(),
    })
    .prefault({})
    .meta({
      group: 'Viewport and device',
      description: 'CSS-pixel viewport and output density; `device` takes precedence',
      cli: 'members',
    }),
  device: deviceName().meta({
    group: 'Viewport and device',
    description: `${DEVICE}; takes precedence over \`viewport\``,
    example: 'Galaxy S24 landscape',
    mcp: `${DEVICE}; takes precedence over \`width\` and \`height\``,
    cli: { short: '-d' },
    form: 'first',
    suggested: DEVICE_NAMES,
  }),
  full_page: z
    .boolean()
    .default(false)
    .meta({
      group: 'What to capture',
      description: 'capture the whole scrollable page',
      price: { true: 2 },
      mcp: true,
      cli: { short: '-F' },
      form: 'first',
    }),
  full_page_algorithm: z.enum(['by_sections', 'native']).default('by_sections').meta({
    group: 'What to capture',
    description:
      'how a full page is captured: with pinned elements moved to where they belong, or as the view at the top of the page shows them',
  }),
  full_page_scroll_delay: whole(limits.SCROLL_DELAY_MS).optional().meta({
    group: 'What to capture',
    description:
      'ms between scroll steps of a full-page capture; by default, each step waits for what it started loading',
    example: 200,
  }),
  full_page_scroll_by: whole(limits.SCROLL_BY_PX).optional().meta({
    group: 'What to capture',
    description:
      "scroll step of a full-page capture in CSS px; by default, the viewport's height, and half of it once the page reacts to scrolling",
    example: 720,
  }),
  reduce_motion: z
    .boolean()
    .default(true)
    .meta({
      group: 'Waiting',
      description: 'emulate prefers-reduced-motion: reduce, finish animations, and stop endless ones at their start',
      cli: { help: 'let animations and transitions run' },
    }),
  format: z
    .enum(['png', 'jpeg', 'webp', 'avif', 'bmp', 'pdf'])
    .default('webp')
    .meta({
      group: 'Output',
      description: 'format of the picture; `jpg` is jpeg',
      price: { pdf: 3 },
      cli: { short: '-f' },
      form: 'first',
    }),
  quality: whole(limits.QUALITY)
    .default(limits.QUALITY.default)
    .meta({ group: 'Output', description: 'encoding quality; jpeg, webp and avif only', cli: { short: '-q' } }),
  delay: whole(limits.DELAY_MS)
    .default(limits.DELAY_MS.default)
    .meta({ group: 'Waiting', description: 'ms to wait after the page has settled', mcp: true }),
  timeout: whole(limits.TIMEOUT_MS)
    .default(limits.TIMEOUT_MS.default)
    .meta({ group: 'Waiting', description: 'ms for navigation, waits and checks together', mcp: true }),
  wait_for_selector: selector()
    .optional()
    .meta({
      group: 'Waiting',
      description: `CSS selector of an element to wait for before the capture; ${DEEP}`,
      example: '#content',
      mcp: true,
    }),
  wait_for_content: z.boolean().default(false).meta({
    group: 'Waiting',
    description: 'wait while the page looks like a loading shell: spinners, skeletons, hardly any text',
    mcp: true,
  }),
  wait_for_idle: z
    .boolean()
    .default(true)
    .meta({
      group: 'Waiting',
      description: 'wait up to 5 s for the network, fonts and layout to settle; never fails the capture',
      cli: { help: 'do not wait for the network, fonts and layout to settle' },
    }),
  wait_until: z
    .enum(['load', 'domcontentloaded', 'networkidle'])
    .default('load')
    .meta({ group: 'Waiting', description: 'event that the navigation waits for' }),
  fail_if_incomplete: z.boolean().default(false).meta({
    group: 'Checks (the capture fails if they do not hold)',
    description: 'fail if the page is still loading or looks like a loading shell',
  }),
  fail_if_content_missing: markers().meta({
    group: 'Checks (the capture fails if they do not hold)',
    description: 'fail if the visible page lacks this text',
    example: ['Checkout'],
  }),
  fail_if_content_contains: markers().meta({
    group: 'Checks (the capture fails if they do not hold)',
    description: 'fail if the visible page contains this text',
    example: ['Access denied'],
  }),
  fail_if_font_missing: z
    .boolean()
    .default(false)
    .meta({
      group: 'Checks (the capture fails if they do not hold)',
      description:
        'fail if text is not shown in the font that the page asks for, or as boxes, which is otherwise the warning `font_substituted`',
      ...EXTENSION,
    }),
  fail_if_resources_fail: z
    .union([
      z.boolean(),
      z.strictObject({
        kinds: z
          .array(z.enum(RESOURCE_TYPES))
          .min(1)
          .max(limits.TOLERATE_MAX_ITEMS)
          .optional()
          .meta({
            description: 'types of requests that count, as in `block_resources`; default: all',
            example: ['image', 'font'],
          }),
        hosts: z
          .array(
            limited(limits.HOST_MAX_CHARS)
              .trim()
              .toLowerCase()
              .regex(HOST_NAME, 'must be a host name, such as cdn.example.com'),
          )
          .min(1)
          .max(limits.HOSTS_MAX_ITEMS)
          .optional()
          .meta({
            description: 'hosts that count, each with its subdomains; default: all',
            example: ['cdn.example.com'],
          }),
      }),
    ])
    .default(false)
    .meta({
      group: 'Checks (the capture fails if they do not hold)',
      description:
        'fail if a request of the page fails, or is answered with a status from 400 on; `true` for all, or those of some `kinds` and `hosts`. Requests that are blocked or that the page cancels do not count',
      example: { kinds: ['image', 'font'] },
      ...EXTENSION,
    }),
  fail_if_console_errors: z
    .boolean()
    .default(false)
    .meta({
      group: 'Checks (the capture fails if they do not hold)',
      description: 'fail if the page logs an error with `console.error`, or a script throws one that nothing catches',
      ...EXTENSION,
    }),
  min_capture_height: whole({ min: 1 }).optional().meta({
    group: 'Checks (the capture fails if they do not hold)',
    description: 'fail if the height of the picture is below this, in output px',
    example: 400,
  }),
  min_capture_bytes: whole({ min: 1 }).optional().meta({
    group: 'Checks (the capture fails if they do not hold)',
    description: 'fail if the encoded picture is smaller than this, in bytes',
    example: 5_000,
  }),
  dark_mode: z.boolean().default(false).meta({
    group: 'Emulation',
    description: 'prefers-color-scheme: dark, unless `color_scheme` is set',
    mcp: 'prefers-color-scheme: dark',
    form: 'first',
  }),
  color_scheme: z
    .enum(['light', 'dark', 'no-preference'])
    .optional()
    .meta({ group: 'Emulation', description: 'prefers-color-scheme of the browser' }),
  locale: line(limits.LOCALE_MAX_CHARS)
    .refine(isLocale, 'must be a BCP 47 language tag, such as en-US')
    .optional()
    .meta({
      group: 'Emulation',
      description: "browser locale, such as en-US; overrides the region's",
      example: 'en-GB',
      mcp: true,
    }),
  timezone: line(limits.TIMEZONE_MAX_CHARS)
    .refine(isTimezone, 'must be an IANA time zone, such as Europe/Berlin')
    .optional()
    .meta({
      group: 'Emulation',
      description: "IANA time zone, such as Europe/Berlin; overrides the region's",
      example: 'Europe/London',
      mcp: true,
    }),
  user_agent: line(1_024)
    .min(1)
    .optional()
    .meta({
      group: 'Emulation',
      description: 'User-Agent of the browser',
      example: 'ExampleBot/1.0',
      cli: { short: '-A' },
    }),
  region: z.enum(REGION_NAMES).optional().meta({
    group: 'Emulation',
    description: 'country whose locale and time zone are emulated, and where the egress address is expected to be',
    mcp: true,
  }),
  proxy: z
    .strictObject({
      server: line(2_048).min(1).meta({
        description: 'http, https or socks5 proxy on a public address, such as http://proxy.example.com:3128',
        example: 'http://proxy.example.com:3128',
      }),
      bypass: line(4_096).optional().meta({
        description: 'comma-separated hosts that are reached without the proxy',
        example: 'cdn.example.com,.static.example.com',
      }),
      username: line(1_024)
        .optional()
        .meta({
          description: 'user name for the proxy',
          example: 'user',
          cli: { help: 'user name for the proxy; its password is taken from STILLFRAME_PROXY_PASSWORD' },
        }),
      password: line(1_024).optional().meta({ description: 'write-only', example: 'secret', writeOnly: true }),
    })
    .optional()
    .meta({
      group: 'Network',
      description: 'caller-supplied public proxy',
      example: { server: 'http://proxy.example.com:3128' },
      links: false,
      cli: 'members',
    }),
  verify_egress: z
    .boolean()
    .default(true)
    .meta({
      group: 'Emulation',
      description: 'check that the egress country is that of `region`',
      cli: { help: 'do not check that the egress country is that of --region' },
    }),
  block_ads: z
    .boolean()
    .default(true)
    .meta({ group: 'Blocking and editing the page', description: 'block ads', cli: { help: 'keep ads' } }),
  block_cookie_banners: z
    .boolean()
    .default(true)
    .meta({
      group: 'Blocking and editing the page',
      description: 'decline or hide cookie banners',
      cli: { help: 'keep cookie banners' },
    }),
  block_chats: z
    .boolean()
    .default(true)
    .meta({
      group: 'Blocking and editing the page',
      description: 'block chat widgets',
      cli: { help: 'keep chat widgets' },
    }),
  block_trackers: z
    .boolean()
    .default(true)
    .meta({ group: 'Blocking and editing the page', description: 'block trackers', cli: { help: 'keep trackers' } }),
  selector: selector()
    .optional()
    .meta({
      group: 'What to capture',
      description: `capture only the first visible element that matches this CSS selector; ${DEEP}, and here also into those of other origins; not with format pdf`,
      example: 'main',
      mcp: 'picture only the first visible element that matches this CSS selector; `>>>` leads into shadow trees and frames',
      cli: { short: '-s' },
    }),
  hide_selectors: selectors().meta({
    group: 'Blocking and editing the page',
    description: `hide elements that match this CSS selector, keeping their space; ${DEEP}`,
    example: ['.newsletter'],
    mcp: 'CSS selectors of elements to hide, keeping their space',
  }),
  remove_selectors: selectors().meta({
    group: 'Blocking and editing the page',
    description: `remove elements that match this CSS selector; ${DEEP}`,
    example: ['.newsletter'],
    mcp: 'CSS selectors of elements to remove',
  }),
  custom_css: code().meta({
    group: 'Blocking and editing the page',
    description: 'CSS injected into the page from the first paint',
    example: 'header { position: static }',
    form: 'long',
  }),
  custom_js: code().meta({
    group: 'Blocking and editing the page',
    description: 'JavaScript run in the page once `wait_until` is reached',
    example: "document.querySelector('details').open = true",
    links: false,
    form: 'long',
  }),
  headers: httpHeaders().meta({
    group: 'Network',
    description: "headers sent to the target's origin only",
    example: { 'Accept-Language': 'en' },
    links: false,
    cli: { short: '-H', help: "HTTP header sent to the target's origin only; repeat for more" },
  }),
  sync: z
    .boolean()
    .default(true)
    .meta({
      group: 'Result and callback',
      description: 'wait for completion; a slow capture still returns 202',
      links: false,
      cli: { hidden: 'without server' },
    }),
  cache_ttl: whole({ min: 0 })
    .default(limits.CACHE_TTL_DEFAULT_S)
    .meta({
      group: 'Result and callback',
      description: 'seconds; 0 requests a fresh capture',
      mcp: true,
      cli: { hidden: 'without server' },
    }),
  store: z
    .boolean()
    .default(false)
    .meta({
      group: 'Result and callback',
      description: 'accepted for compatibility; every artifact is stored for download',
      cli: { hidden: 'always' },
    }),
  inspect_page: z.boolean().default(false).meta({
    group: 'Output',
    description:
      'extract Markdown and the accessibility tree of the page, facts about it, and the elements that can be acted on',
  }),
  webhook: z
    .strictObject({
      url: limited(limits.WEBHOOK_URL_MAX_CHARS).min(1).meta({
        description: 'public HTTPS on port 443, no credentials, no fragment',
        example: 'https://hooks.example.com/done',
      }),
      secret: limited(limits.WEBHOOK_SECRET_CHARS.max)
        .min(limits.WEBHOOK_SECRET_CHARS.min)
        .meta({ description: 'signing secret; write-only', example: 'at least sixteen characters', writeOnly: true }),
    })
    .optional()
    .meta({
      group: 'Result and callback',
      description: 'completion callback',
      example: { url: 'https://hooks.example.com/done', secret: 'at least sixteen characters' },
      links: false,
      cli: false,
    }),
  html: htmlDocument().meta({
    group: 'HTML',
    description: 'HTML document to capture instead of `url`',
    example: '<h1>Invoice 4711</h1>',
    links: false,
    mcp: true,
    form: 'long',
    ...EXTENSION,
  }),
  base_url: targetUrl().meta({
    group: 'HTML',
    description:
      'URL that `html` is loaded at: its origin and the base of its relative links. Default: an origin without a server',
    example: 'https://example.com/',
    links: false,
    ...EXTENSION,
  }),
  template: limited(80)
    .refine(
      (value) => readTemplateReference(value) !== null,
      'must be the name of a template, such as og-card, or of one of its versions, such as og-card@3',
    )
    .optional()
    .meta({
      group: 'HTML',
      description: 'stored template to capture instead of `url`: `og-card` for its newest version, or `og-card@3`',
      example: 'og-card',
      mcp: true,
      cli: { help: 'with --server: stored template to capture, such as og-card, or og-card@3 for one version' },
      ...EXTENSION,
    }),
  data: z
    .record(limited(limits.TEMPLATE_PARAMETER_MAX_CHARS), z.unknown())
    .optional()
    .meta({
      group: 'HTML',
      description: 'values of the parameters of `template`, by name',
      example: { title: 'Release notes' },
      mcp: true,
      cli: {
        help: 'value of a parameter of --template, as name=value; repeat for more; or values as JSON, or @file',
      },
      ...EXTENSION,
    }),
  cookies: cookies().meta({
    group: 'Login',
    description: 'cookies set before the navigation',
    example: [{ name: 'session', value: 'abc123' }],
    links: false,
    ...EXTENSION,
  }),
  storage_state: storageStateSchema.optional().meta({
    group: 'Login',
    description: "Playwright's storage state: cookies and local storage of a saved login",
    example: { cookies: [], origins: [] },
    links: false,
    opaque: true,
    ...EXTENSION,
  }),
  pdf: withDocumentRules(
    pdfFields.extend({
      pages: z
        .array(pdfDocumentSchema)
        .min(1)
        .max(limits.PDF_DOCUMENTS_MAX)
        .optional()
        .meta({
          description: `documents that become one PDF, at most ${limits.PDF_DOCUMENTS_MAX}, instead of \`url\`: each with a bookmark, page numbers that run through, and links between them`,
          example: [{ url: 'https://example.com/chapter-1' }, { html: '<h1>Appendix</h1>', title: 'Appendix' }],
          links: false,
        }),
      blank_pages_to_odd: z.boolean().default(false).meta({
        description:
          'let each of `pages` begin on an odd page, after a blank one if necessary, for printing on both sides',
        example: true,
        links: false,
      }),
    }),
  )
    .optional()
    .meta({
      group: 'PDF',
      description: 'paged printing; format pdf only',
      example: { paper: 'a4', margin: { top: '10mm' } },
      ...EXTENSION,
    }),
  clip: clip()
    .optional()
    .meta({
      group: 'What to capture',
      description: 'capture only this part of the page',
      example: { x: 0, y: 0, width: 640, height: 480 },
      ...EXTENSION,
    }),
  selector_union: selector()
    .optional()
    .meta({
      group: 'What to capture',
      description: `capture the smallest part of the page that has all visible elements that match this CSS selector; ${DEEP}; not with format pdf`,
      example: 'h1, .summary',
      ...EXTENSION,
    }),
  selector_function: elementCode()
    .optional()
    .meta({
      group: 'What to capture',
      description:
        'capture only the element that this JavaScript expression, or the function that it is, returns in the page, or its promise; not with format pdf',
      example:
        '[...document.querySelectorAll("h2")].find((title) => title.textContent.includes("Pricing"))?.parentElement',
      links: false,
      ...EXTENSION,
    }),
  file_pages: limited(limits.FILE_PAGES_MAX_CHARS)
    .refine((text) => readPageRanges(text) !== null, PAGE_RANGES_RULE)
    .optional()
    .meta({
      group: 'What to capture',
      description: 'pages of a target that is a PDF, in this order; by default, all. The first of them is the view',
      example: '1-3',
      mcp: true,
      ...EXTENSION,
    }),
  padding: whole({ min: 0, max: limits.PADDING_MAX_PX })
    .optional()
    .meta({
      group: 'What to capture',
      description:
        'CSS px kept around the element of `selector`, `selector_union` or `selector_function`, within the page',
      example: 16,
      cli: { short: '-p' },
      ...EXTENSION,
    }),
  full_width: z
    .boolean()
    .default(false)
    .meta({
      group: 'What to capture',
      description: `full page also in width: what lies beside the viewport is in the picture too, up to ${limits.FULL_WIDTH_MAX_PX.toLocaleString('en-US')} CSS px; needs \`full_page\``,
      mcp: true,
      ...EXTENSION,
    }),
  max_height: whole({ min: 1, max: limits.CLIP_MAX_PX })
    .optional()
    .meta({
      group: 'What to capture',
      description:
        'greatest height of a full page in CSS px; what lies below is left out, and `truncated` is true; needs `full_page`',
      example: 4_000,
      mcp: true,
      ...EXTENSION,
    }),
  mask: z
    .array(selector())
    .max(limits.MASK_MAX_ITEMS)
    .optional()
    .meta({
      group: 'What to capture',
      description: `paint over the boxes of all elements that match this CSS selector, above everything else in the picture; ${DEEP}; not with printed PDFs`,
      example: ['.account-number'],
      mcp: 'CSS selectors of elements to paint over in the picture; text views of the page still have their text',
      ...EXTENSION,
    }),
  mask_color: limited(limits.MASK_COLOR_MAX_CHARS)
    .refine(isOpaqueColor, 'must be an opaque CSS color: #rgb, #rrggbb, rgb(r, g, b), or a name such as black')
    .optional()
    .meta({
      group: 'What to capture',
      description: `color of the boxes of \`mask\`, as #rrggbb, rgb(r, g, b) or a CSS name; by default ${MASK_COLOR_DEFAULT}`,
      example: 'black',
      ...EXTENSION,
    }),
  omit_background: z
    .boolean()
    .default(false)
    .meta({
      group: 'What to capture',
      description: 'transparent background where the page paints nothing; png, webp and avif only',
      ...EXTENSION,
    }),
  real_time: z
    .boolean()
    .default(false)
    .meta({
      group: 'Waiting',
      description: "leave the page's clock at the real time instead of running it ahead to the end of its animations",
      ...EXTENSION,
    }),
  annotate: z
    .boolean()
    .default(false)
    .meta({
      group: 'Output',
      description:
        'draw numbered boxes around the elements that can be acted on; needs `inspect_page`, whose `elements` have the same numbers',
      links: false,
      mcp: 'draw numbered boxes around the elements that can be acted on, and list them with refs, roles, names and boxes',
      ...EXTENSION,
    }),
  extract: extractSchema.optional().meta({
    group: 'Output',
    description:
      'values to read from the page at the moment of the picture, by names of your own: each with the `selector` of an element and the `type` of the value',
    example: { price: { selector: '.price', type: 'number' } },
    links: false,
    mcp: true,
    ...EXTENSION,
  }),
  save_html: z
    .boolean()
    .default(false)
    .meta({
      group: 'Output',
      description:
        'also store the HTML of the document at the moment of the picture, as the text file `data.html_url`; `html: true` is the same',
      links: false,
      ...EXTENSION,
    }),
  resize: resize()
    .optional()
    .meta({
      group: 'What to capture',
      description: 'scale the finished image down, never up',
      example: { width: 640 },
      ...EXTENSION,
    }),
  rotate: rotate()
    .optional()
    .meta({
      group: 'Output',
      description: 'turn the finished picture clockwise, in degrees',
      example: 90,
      ...EXTENSION,
    }),
  palette: paletteSchema.optional().meta({
    group: 'Output',
    description: 'reduce the finished picture to these colors, for e-paper and other small screens; png and bmp only',
    example: { colors: 2 },
    cli: 'members',
    ...EXTENSION,
  }),
  animate: z
    .strictObject({
      duration: whole(limits.ANIMATION_MS)
        .default(limits.ANIMATION_MS.default)
        .meta({ description: "ms of the page's time that the animated picture shows" }),
      fps: whole(limits.ANIMATION_FPS).default(limits.ANIMATION_FPS.default).meta({ description: 'frames a second' }),
      scroll: z.boolean().default(false).meta({ description: 'scroll from the top of the page to its end' }),
      format: z
        .enum(['webp', 'gif', 'mp4'])
        .default('webp')
        .meta({
          description: "format of the animated picture; mp4 needs the operator's STILLFRAME_FFMPEG",
          price: { webp: 5, gif: 5, mp4: 5 },
        }),
      scale: z
        .enum(['css', 'device'])
        .default('css')
        .meta({ description: 'one pixel per CSS px, or as many as `viewport` or `device` say' }),
    })
    .optional()
    .meta({
      group: 'Motion',
      description: 'an animated picture of the view: of what moves in it, or of the page as it scrolls',
      example: { duration: 3_000, fps: 10 },
      cli: 'members',
      ...EXTENSION,
    }),
  tolerate: z
    .array(z.enum(TOLERATED_CODES))
    .max(limits.TOLERATE_MAX_ITEMS)
    .optional()
    .meta({
      group: 'Checks (the capture fails if they do not hold)',
      description: 'error codes to tolerate: the page is captured anyway, and the failure becomes a warning',
      example: ['target_error'],
      mcp: true,
      ...EXTENSION,
    }),
  upload: z
    .strictObject({
      url: limited(limits.URL_MAX_BYTES).min(1).meta({
        description: 'receives the picture by PUT, such as a presigned URL; judged like `webhook.url`; write-only',
        example: 'https://bucket.example.com/home.webp?X-Amz-Signature=f00d',
        writeOnly: true,
      }),
    })
    .optional()
    .meta({
      group: 'Result and callback',
      description: 'upload the picture, too; `upload` of the result says what became of it',
      example: { url: 'https://bucket.example.com/home.webp?X-Amz-Signature=f00d' },
      links: false,
      cli: false,
      ...EXTENSION,
    }),
  steps: z
    .array(stepSchema)
    .max(limits.STEPS_MAX_ITEMS)
    .optional()
    .meta({
      group: 'Steps',
      description: 'what is done to the page before its picture, in this order',
      example: [{ action: 'click', selector: 'text=Menu' }],
      links: false,
      mcp: true,
      cli: {
        each: '--step',
        help: 'action=argument, such as click="text=Menu" or type="#q=words", or a step as JSON or @file; repeat for more',
      },
      ...EXTENSION,
    }),
  wait_for_function: limited(limits.CUSTOM_CODE_MAX_CHARS)
    .trim()
    .min(1)
    .optional()
    .meta({
      group: 'Waiting',
      description:
        'JavaScript expression that must become true before the capture; if it throws, the capture fails at once',
      example: 'window.chartReady === true',
      links: false,
      ...EXTENSION,
    }),
  block_popups: z
    .union([z.boolean(), z.array(z.enum(POPUP_KINDS)).min(1)], {
      error: `must be true, false, or a list of ${POPUP_KINDS.join(', ')}`,
    })
    .default(false)
    .meta({
      group: 'Blocking and editing the page',
      description:
        'close windows that stand before a page that a visitor may read: all kinds, or a list of them. A page with little text, and a window of other words, stay as they are',
      example: ['newsletter', 'app_install'],
      mcp: true,
      ...EXTENSION,
    }),
  block_requests: z
    .array(limited(limits.BLOCK_PATTERN_MAX_CHARS).trim().min(1))
    .max(limits.BLOCK_REQUESTS_MAX_ITEMS)
    .optional()
    .meta({
      group: 'Blocking and editing the page',
      description:
        "block requests whose URL contains this, where `*` is any text; the page's own document is never blocked",
      example: ['*/live-feed/*.json'],
      ...EXTENSION,
    }),
  block_resources: z
    .array(z.enum(RESOURCE_TYPES))
    .max(limits.TOLERATE_MAX_ITEMS)
    .optional()
    .meta({
      group: 'Blocking and editing the page',
      description: 'block requests of this type',
      example: ['font', 'media'],
      ...EXTENSION,
    }),
  http_credentials: httpCredentials().meta({
    group: 'Login',
    description: "user name and password for HTTP authentication, sent only when the target's own origin asks for them",
    example: { username: 'ada', password: 'secret' },
    links: false,
    ...EXTENSION,
  }),
  geolocation: z
    .strictObject({
      latitude: z.number().min(-90).max(90).meta({ description: 'degrees north', example: 52.52 }),
      longitude: z.number().min(-180).max(180).meta({ description: 'degrees east', example: 13.4 }),
      accuracy: z.number().min(0).max(1_000_000).default(0).meta({ description: 'meters', example: 10 }),
    })
    .optional()
    .meta({
      group: 'Emulation',
      description: 'position that the page gets; the permission to read it is granted',
      example: { latitude: 52.52, longitude: 13.4 },
      ...EXTENSION,
    }),
  referer: targetUrl().meta({
    group: 'Network',
    description:
      'address of the page that the navigation comes from: the `Referer` of its first request, and `document.referrer`',
    example: 'https://www.example.com/',
    ...EXTENSION,
  }),
  ignore_https_errors: z
    .boolean()
    .default(false)
    .meta({
      group: 'Network',
      description: 'accept invalid TLS certificates; only where STILLFRAME_ALLOW_INSECURE_TLS allows it',
      ...EXTENSION,
    }),
  captures: z
    .array(pictureEntrySchema)
    .min(1)
    .max(limits.PICTURES_MAX)
    .optional()
    .meta({
      group: 'Several pictures',
      description: `pictures of one load of the page, at most ${limits.PICTURES_MAX}: the view, or what an entry says`,
      example: [
        { name: 'view' },
        { name: 'cards', selector_all: '.card', limit: 3 },
        { name: 'page', full_page: true, format: 'jpeg' },
      ],
      links: false,
      mcp: true,
      ...EXTENSION,
    }),
  viewports: z
    .array(
      z.strictObject({
        name: pictureName(),
        device: deviceName().meta({
          description: 'as `device` of the request; takes precedence over the other members',
          example: 'iphone_15_pro',
        }),
        ...viewportMembers(),
      }),
    )
    .min(1)
    .max(limits.PICTURES_MAX)
    .optional()
    .meta({
      group: 'Several pictures',
      description:
        'viewports or devices in which the page is loaded and captured one after another, instead of `viewport` and `device`',
      example: [
        { name: 'phone', device: 'iphone_15_pro' },
        { name: 'desktop', width: 1_440, height: 900 },
      ],
      links: false,
      ...EXTENSION,
    }),
  color_schemes: z
    .array(z.enum(['light', 'dark', 'no-preference']))
    .min(1)
    .max(limits.COLOR_SCHEMES_MAX)
    .optional()
    .meta({
      group: 'Several pictures',
      description:
        'color schemes in which the page is loaded and captured one after another, instead of `color_scheme`',
      example: ['light', 'dark'],
      links: false,
      ...EXTENSION,
    }),
};
