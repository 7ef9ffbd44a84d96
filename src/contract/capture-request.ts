import { z } from 'zod';
import { bareDomain } from './cookie-domain.js';
import { DEVICE_PRESETS, type DeviceName } from './device-presets.js';
import { canonicalTimezone } from './field-rules.js';
import { lengthToInches } from './lengths.js';
import type { SameSite } from './login-schema.js';
import { lowerCaseNames } from './lower-case-names.js';
import { PAPER_INCHES, type WirePdf } from './pdf-schema.js';
import { REGIONS, type RegionName } from './regions.js';
import { requestFields, TOLERATED_CODES, type ToleratedCode } from './request-fields.js';

/** CaptureRequest of interface.md as one schema: unknown fields are rejected (decisions.md, Envelope). */
export const captureRequestSchema = z.strictObject(requestFields).meta({ id: 'CaptureRequest' });

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

/** A cookie as the browser accepts it. */
export interface CookieOption {
  name: string;
  value: string;
  /** A leading dot includes all subdomains; null: the target's host only. */
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

/** Lengths in inches, with `landscape` applied. */
export interface PdfOption {
  paper: { width: number; height: number };
  margin: { top: number; right: number; bottom: number; left: number };
  scale: number;
  printBackground: boolean;
  pageRanges: string | null;
  headerTemplate: string | null;
  footerTemplate: string | null;
  firstPageHeader: boolean;
  fitWidth: boolean;
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

/** The options of a capture, internally: defaults filled in, camelCase. Times are ms. */
export interface CaptureOptions {
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
  html: string | null;
  /** Normalised, absolute; null if not given. */
  baseUrl: string | null;
  cookies: CookieOption[];
  storageState: StorageStateOption | null;
  pdf: PdfOption | null;
  clip: ClipOption | null;
  /** CSS px. */
  padding: number;
  fullWidth: boolean;
  /** CSS px. */
  maxHeight: number | null;
  omitBackground: boolean;
  /** The page's clock is not run ahead. */
  realTime: boolean;
  resize: ResizeOption | null;
  /** Sorted, without duplicates. */
  tolerate: ToleratedCode[];
  /** Whether the result tells what was done to the page: `explain=1` of the query, or `inspect_page`. */
  explain: boolean;
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
    fullWidth: wire.full_width ?? false,
    maxHeight: wire.max_height ?? null,
    omitBackground: wire.omit_background ?? false,
    realTime: wire.real_time ?? false,
    resize:
      wire.resize === undefined ? null : { width: wire.resize.width ?? null, height: wire.resize.height ?? null, fit: wire.resize.fit },
    tolerate: TOLERATED_CODES.filter((code) => wire.tolerate?.includes(code)),
    explain: false,
  };
}

let defaults: CaptureOptions | undefined;

/** The options of a request without any field. Not to be changed. */
export function defaultOptions(): CaptureOptions {
  defaults ??= toCaptureOptions(captureRequestSchema.parse({}));
  return defaults;
}

function toPdfOption(wire: WirePdf): PdfOption {
  const { width, height } = paperOf(wire);
  const { margin: all } = wire;
  const { top, right, bottom, left } = typeof all === 'object' ? all : { top: all, right: all, bottom: all, left: all };
  return {
    paper: wire.landscape ? { width: height, height: width } : { width, height },
    margin: { top: inches(top), right: inches(right), bottom: inches(bottom), left: inches(left) },
    scale: wire.scale,
    printBackground: wire.print_background,
    pageRanges: wire.page_ranges ?? null,
    headerTemplate: wire.header_template ?? null,
    footerTemplate: wire.footer_template ?? null,
    firstPageHeader: wire.first_page_header,
    fitWidth: wire.fit_width,
    preferCssPageSize: wire.prefer_css_page_size,
    media: wire.media,
    outline: wire.outline,
    tagged: wire.tagged,
  };
}

/** In portrait orientation. */
function paperOf({ paper }: WirePdf): PdfOption['paper'] {
  return typeof paper === 'string' ? PAPER_INCHES[paper] : { width: inches(paper.width), height: inches(paper.height) };
}

function inches(length: number | string): number {
  return lengthToInches(length) ?? 0;
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
