import { TOLERATED_CODES, type ToleratedCode, type WireExtensions } from './capture-extensions.js';
import { bareDomain } from './cookie-domain.js';
import { lengthToInches } from './lengths.js';
import type { SameSite } from './login-schema.js';
import { PAPER_INCHES, type WirePdf } from './pdf-schema.js';

/** The extensions of a capture request, internally: defaults filled in, camelCase. */

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

export interface CaptureExtensions {
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

export const EXTENSION_DEFAULTS: CaptureExtensions = {
  html: null,
  baseUrl: null,
  cookies: [],
  storageState: null,
  pdf: null,
  clip: null,
  padding: 0,
  fullWidth: false,
  maxHeight: null,
  omitBackground: false,
  realTime: false,
  resize: null,
  tolerate: [],
  explain: false,
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
