import { z } from 'zod';
import { extensionFields } from './capture-extensions.js';
import { DEVICE_NAMES, DEVICE_PRESETS, type DeviceName } from './device-presets.js';
import { type CaptureExtensions, toCaptureExtensions } from './extension-options.js';
import { canonicalTimezone, forbiddenHeader, hasLineBreak, isLocale, isTimezone } from './field-rules.js';
import { limited } from './limited.js';
import * as limits from './limits.js';
import { lowerCaseNames } from './lower-case-names.js';
import { REGION_NAMES, REGIONS, type RegionName } from './regions.js';
import { targetUrlSchema } from './target-url-schema.js';

/**
 * CaptureRequest of interface.md as one schema, the source of validation, defaults, documentation and types.
 * Unknown fields are rejected (decisions.md, Envelope).
 */

const line = (maxChars: number) => limited(maxChars).refine((text) => !hasLineBreak(text), 'must not contain CR, LF or NUL');
const selector = () => limited(4_096).trim().min(1);
const DEEP = '`>>>` leads into open shadow trees and into frames of the same origin, as in `#frame >>> main`';
const markers = () => z.array(limited(limits.MARKER_MAX_CHARS).trim().min(1)).max(limits.MARKERS_MAX_ITEMS).default([]);

const viewport = z
  .strictObject({
    width: z
      .int()
      .min(limits.VIEWPORT_WIDTH_PX.min)
      .max(limits.VIEWPORT_WIDTH_PX.max)
      .default(limits.VIEWPORT_WIDTH_PX.default)
      .meta({ description: 'viewport width in CSS px' }),
    height: z
      .int()
      .min(limits.VIEWPORT_HEIGHT_PX.min)
      .max(limits.VIEWPORT_HEIGHT_PX.max)
      .default(limits.VIEWPORT_HEIGHT_PX.default)
      .meta({ description: 'viewport height in CSS px' }),
    deviceScaleFactor: z
      .number()
      .min(limits.DEVICE_SCALE_FACTOR.min)
      .max(limits.DEVICE_SCALE_FACTOR.max)
      .default(limits.DEVICE_SCALE_FACTOR.default)
      .meta({ description: 'output pixels per CSS px' }),
    isMobile: z.boolean().default(false).meta({ description: 'emulate a mobile browser: the viewport meta tag is honoured' }),
    hasTouch: z.boolean().default(false).meta({ description: 'emulate a touch screen' }),
  })
  .prefault({})
  .meta({ description: 'CSS-pixel viewport and output density; `device` takes precedence' });

const proxy = z.strictObject({
  server: line(2_048)
    .min(1)
    .meta({ description: 'http, https or socks5 proxy on a public address, such as http://proxy.example.com:3128' }),
  bypass: line(4_096).optional().meta({ description: 'comma-separated hosts that are reached without the proxy' }),
  username: line(1_024).optional().meta({ description: 'user name for the proxy' }),
  password: line(1_024).optional().meta({ description: 'write-only', writeOnly: true }),
});

const webhook = z.strictObject({
  url: limited(limits.WEBHOOK_URL_MAX_CHARS).min(1).meta({ description: 'public HTTPS on port 443, no credentials, no fragment' }),
  secret: limited(limits.WEBHOOK_SECRET_CHARS.max)
    .min(limits.WEBHOOK_SECRET_CHARS.min)
    .meta({ description: 'signing secret; write-only', writeOnly: true }),
});

const headers = z.record(limited(limits.HEADER_NAME_MAX_CHARS), line(limits.HEADER_VALUE_MAX_CHARS)).superRefine((value, context) => {
  for (const name of Object.keys(value)) {
    const problem = forbiddenHeader(name);
    if (problem !== null) context.addIssue({ code: 'custom', path: [name], message: problem });
  }
});

export const captureRequestSchema = z
  .strictObject({
    // Required unless `html` is given: see combinations.ts.
    url: targetUrlSchema.optional().meta({
      description: 'Public HTTP or HTTPS target. A bare hostname is normalized to HTTPS. Required unless `html` is given.',
      example: 'https://example.com/',
    }),
    viewport,
    device: z.enum(DEVICE_NAMES).optional().meta({ description: 'device preset; takes precedence over `viewport`' }),
    full_page: z.boolean().default(false).meta({ description: 'capture the whole scrollable page' }),
    full_page_algorithm: z.enum(['by_sections', 'native']).default('by_sections').meta({
      description: 'how a full page is captured: section by section and stitched, or in one capture beyond the viewport',
    }),
    full_page_scroll_delay: z
      .int()
      .min(limits.SCROLL_DELAY_MS.min)
      .max(limits.SCROLL_DELAY_MS.max)
      .optional()
      .meta({ description: 'ms between scroll steps of a full-page capture; by default, each step waits for what it started loading' }),
    full_page_scroll_by: z
      .int()
      .min(limits.SCROLL_BY_PX.min)
      .max(limits.SCROLL_BY_PX.max)
      .optional()
      .meta({ description: 'scroll step of a full-page capture in CSS px; by default, the viewport height' }),
    reduce_motion: z
      .boolean()
      .default(true)
      .meta({ description: 'emulate prefers-reduced-motion: reduce, finish animations, and stop endless ones at their start' }),
    format: z.enum(['png', 'jpeg', 'webp', 'pdf']).default('webp').meta({ description: 'format of the picture' }),
    quality: z
      .int()
      .min(limits.QUALITY.min)
      .max(limits.QUALITY.max)
      .default(limits.QUALITY.default)
      .meta({ description: 'encoding quality; jpeg and webp only' }),
    delay: z
      .int()
      .min(limits.DELAY_MS.min)
      .max(limits.DELAY_MS.max)
      .default(limits.DELAY_MS.default)
      .meta({ description: 'ms to wait after the page has settled' }),
    timeout: z
      .int()
      .min(limits.TIMEOUT_MS.min)
      .max(limits.TIMEOUT_MS.max)
      .default(limits.TIMEOUT_MS.default)
      .meta({ description: 'ms for navigation, waits and checks together' }),
    wait_for_selector: selector()
      .optional()
      .meta({ description: `CSS selector of an element to wait for before the capture; ${DEEP}` }),
    wait_for_content: z
      .boolean()
      .default(false)
      .meta({ description: 'wait while the page looks like a loading shell: spinners, skeletons, hardly any text' }),
    wait_for_idle: z
      .boolean()
      .default(true)
      .meta({ description: 'wait up to 5 s for the network, fonts and layout to settle; never fails the capture' }),
    wait_until: z.enum(['load', 'domcontentloaded', 'networkidle']).default('load').meta({
      description: 'event that the navigation waits for',
    }),
    fail_if_incomplete: z.boolean().default(false).meta({ description: 'fail if the page is still loading or looks like a loading shell' }),
    fail_if_content_missing: markers().meta({ description: 'fail if the visible page lacks this text' }),
    fail_if_content_contains: markers().meta({ description: 'fail if the visible page contains this text' }),
    min_capture_height: z.int().min(1).optional().meta({ description: 'fail if the height of the picture is below this, in output px' }),
    min_capture_bytes: z.int().min(1).optional().meta({ description: 'fail if the encoded picture is smaller than this, in bytes' }),
    dark_mode: z.boolean().default(false).meta({ description: 'prefers-color-scheme: dark, unless `color_scheme` is set' }),
    color_scheme: z.enum(['light', 'dark', 'no-preference']).optional().meta({ description: 'prefers-color-scheme of the browser' }),
    locale: line(limits.LOCALE_MAX_CHARS)
      .refine(isLocale, 'must be a BCP 47 language tag, such as en-US')
      .optional()
      .meta({ description: "browser locale, such as en-US; overrides the region's" }),
    timezone: line(limits.TIMEZONE_MAX_CHARS)
      .refine(isTimezone, 'must be an IANA time zone, such as Europe/Berlin')
      .optional()
      .meta({ description: "IANA time zone, such as Europe/Berlin; overrides the region's" }),
    user_agent: line(1_024).min(1).optional().meta({ description: 'User-Agent of the browser' }),
    region: z
      .enum(REGION_NAMES)
      .optional()
      .meta({ description: 'country whose locale and time zone are emulated, and where the egress address is expected to be' }),
    proxy: proxy.optional().meta({ description: 'caller-supplied public proxy' }),
    verify_egress: z.boolean().default(true).meta({ description: 'check that the egress country is that of `region`' }),
    block_ads: z.boolean().default(true).meta({ description: 'block ads' }),
    block_cookie_banners: z.boolean().default(true).meta({ description: 'decline or hide cookie banners' }),
    block_chats: z.boolean().default(true).meta({ description: 'block chat widgets' }),
    block_trackers: z.boolean().default(true).meta({ description: 'block trackers' }),
    selector: selector()
      .optional()
      .meta({
        description: `capture only the first visible element that matches this CSS selector; ${DEEP}, and here also into those of other origins; not with format pdf`,
      }),
    hide_selectors: z
      .array(selector())
      .max(256)
      .default([])
      .meta({ description: `hide elements that match this CSS selector, keeping their space; ${DEEP}` }),
    remove_selectors: z
      .array(selector())
      .max(256)
      .default([])
      .meta({ description: `remove elements that match this CSS selector; ${DEEP}` }),
    custom_css: limited(limits.CUSTOM_CODE_MAX_CHARS).optional().meta({ description: 'CSS injected into the page from the first paint' }),
    custom_js: limited(limits.CUSTOM_CODE_MAX_CHARS)
      .optional()
      .meta({ description: 'JavaScript run in the page once `wait_until` is reached' }),
    headers: headers.optional().meta({ description: "headers sent to the target's origin only" }),
    sync: z.boolean().default(true).meta({ description: 'wait for completion; a slow capture still returns 202' }),
    cache_ttl: z.int().min(0).default(limits.CACHE_TTL_DEFAULT_S).meta({ description: 'seconds; 0 requests a fresh capture' }),
    store: z.boolean().default(false),
    inspect_page: z.boolean().default(false).meta({ description: 'extract Markdown and the accessibility tree of the page' }),
    webhook: webhook.optional().meta({ description: 'completion callback' }),
    ...extensionFields,
  })
  .meta({ id: 'CaptureRequest' });

/** CaptureRequest on the wire, every default filled in. */
export type WireCaptureRequest = z.output<typeof captureRequestSchema>;

export type ImageFormat = 'png' | 'jpeg' | 'webp';
export type CaptureFormat = ImageFormat | 'pdf';
export type ColorScheme = 'light' | 'dark' | 'no-preference';
export type FullPageAlgorithm = 'by_sections' | 'native';
export type WaitUntil = 'load' | 'domcontentloaded' | 'networkidle';
export type ExecutionMode = 'sync' | 'async';

/** The effective viewport: that of the device preset, or of the request. */
export interface View {
  /** CSS px. */
  width: number;
  /** CSS px. */
  height: number;
  deviceScaleFactor: number;
  isMobile: boolean;
  hasTouch: boolean;
}

export interface ProxyOptions {
  server: string;
  bypass: string | null;
  username: string | null;
  password: string | null;
}

export interface WebhookOptions {
  url: string;
  secret: string;
}

/** The options of a capture, internally: defaults filled in, camelCase. Times are ms. */
export interface CaptureOptions extends CaptureExtensions {
  /** Normalised, absolute. HTML_DOCUMENT_URL for `html` without a `base_url`. */
  url: string;
  view: View;
  device: DeviceName | null;
  fullPage: boolean;
  fullPageAlgorithm: FullPageAlgorithm;
  /** ms; null: wait for what the scroll step started loading. */
  fullPageScrollDelay: number | null;
  /** CSS px; null: the viewport's height. */
  fullPageScrollBy: number | null;
  reduceMotion: boolean;
  format: CaptureFormat;
  quality: number;
  delay: number;
  timeout: number;
  waitForSelector: string | null;
  waitForContent: boolean;
  waitForIdle: boolean;
  waitUntil: WaitUntil;
  failIfIncomplete: boolean;
  failIfContentMissing: string[];
  failIfContentContains: string[];
  minCaptureHeight: number | null;
  minCaptureBytes: number | null;
  colorScheme: ColorScheme | null;
  /** With the region applied; null: the browser's own. */
  locale: string | null;
  timezone: string | null;
  userAgent: string | null;
  region: RegionName | null;
  proxy: ProxyOptions | null;
  verifyEgress: boolean;
  blockAds: boolean;
  blockCookieBanners: boolean;
  blockChats: boolean;
  blockTrackers: boolean;
  selector: string | null;
  hideSelectors: string[];
  removeSelectors: string[];
  customCss: string | null;
  customJs: string | null;
  /** Lower-case names. */
  headers: Record<string, string>;
  inspectPage: boolean;
}

export function toCaptureOptions(wire: WireCaptureRequest): CaptureOptions {
  const preset = wire.device === undefined ? null : DEVICE_PRESETS[wire.device];
  const region = wire.region === undefined ? null : REGIONS[wire.region];
  const view = preset ?? wire.viewport;
  return {
    url: wire.url ?? wire.base_url ?? HTML_DOCUMENT_URL,
    view: {
      width: view.width,
      height: view.height,
      deviceScaleFactor: view.deviceScaleFactor,
      isMobile: view.isMobile,
      hasTouch: view.hasTouch,
    },
    device: wire.device ?? null,
    fullPage: wire.full_page,
    fullPageAlgorithm: wire.full_page_algorithm,
    fullPageScrollDelay: wire.full_page_scroll_delay ?? null,
    fullPageScrollBy: wire.full_page_scroll_by ?? null,
    reduceMotion: wire.reduce_motion,
    format: wire.format,
    quality: wire.quality,
    delay: wire.delay,
    timeout: wire.timeout,
    waitForSelector: wire.wait_for_selector ?? null,
    waitForContent: wire.wait_for_content,
    waitForIdle: wire.wait_for_idle,
    waitUntil: wire.wait_until,
    failIfIncomplete: wire.fail_if_incomplete,
    failIfContentMissing: wire.fail_if_content_missing,
    failIfContentContains: wire.fail_if_content_contains,
    minCaptureHeight: wire.min_capture_height ?? null,
    minCaptureBytes: wire.min_capture_bytes ?? null,
    colorScheme: wire.color_scheme ?? (wire.dark_mode ? 'dark' : null),
    locale: wire.locale ?? region?.locale ?? null,
    timezone: wire.timezone === undefined ? (region?.timezone ?? null) : canonicalTimezone(wire.timezone),
    userAgent: wire.user_agent ?? null,
    region: wire.region ?? null,
    proxy:
      wire.proxy === undefined
        ? null
        : {
            server: wire.proxy.server,
            bypass: wire.proxy.bypass ?? null,
            username: wire.proxy.username ?? null,
            password: wire.proxy.password ?? null,
          },
    verifyEgress: wire.verify_egress,
    blockAds: wire.block_ads,
    blockCookieBanners: wire.block_cookie_banners,
    blockChats: wire.block_chats,
    blockTrackers: wire.block_trackers,
    selector: wire.selector ?? null,
    hideSelectors: wire.hide_selectors,
    removeSelectors: wire.remove_selectors,
    customCss: wire.custom_css ?? null,
    customJs: wire.custom_js ?? null,
    headers: lowerCaseNames(wire.headers ?? {}),
    inspectPage: wire.inspect_page,
    ...toCaptureExtensions(wire),
  };
}

/** URL of `html` without a `base_url`: the host cannot exist (RFC 2606), so its origin reaches nothing. */
export const HTML_DOCUMENT_URL = 'http://html.invalid/';

/** Stands for the URL of an HTML document. */
export const HTML_JOB_URL = 'about:html';

/** `url` of a job: without its query and fragment, which may hold secrets. */
export function jobUrl({ url, html }: Pick<CaptureOptions, 'url' | 'html'>): string {
  return html === null ? (url.split(/[?#]/, 1)[0] ?? '') : HTML_JOB_URL;
}

/** `url` of CaptureData. */
export function shownUrl({ url, html, baseUrl }: Pick<CaptureOptions, 'url' | 'html' | 'baseUrl'>): string {
  return html !== null && baseUrl === null ? HTML_JOB_URL : url;
}
