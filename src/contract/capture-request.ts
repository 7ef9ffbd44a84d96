import { z } from 'zod';
import { deviceOf } from './device-presets.js';
import { documentFields } from './document-schema.js';
import { type CamelNames, camelName, canonicalTimezone, lowerCaseNames } from './field-rules.js';
import { bareDomain, type SameSite } from './login-schema.js';
import type { PageFilesOption } from './page-files.js';
import { lengthToInches, PAPER_INCHES, pdfSchema, type WirePdf } from './pdf-schema.js';
import { POPUP_KINDS, type PopupKind } from './popups.js';
import { REGIONS } from './regions.js';
import {
  MASK_COLOR_DEFAULT,
  pictureEntrySchema,
  RESOURCE_TYPES,
  type ResourceKind,
  requestFields,
  TOLERATED_CODES,
  type ToleratedCode,
} from './request-fields.js';
import { normalizedStep, type Step } from './step-schema.js';

/** CaptureRequest of interface.md as one schema: unknown fields are rejected (decisions.md, Envelope). */
export const captureRequestSchema = z.strictObject(requestFields).meta({ id: 'CaptureRequest' });

/** CaptureRequest on the wire, every default filled in. */
export type WireCaptureRequest = z.output<typeof captureRequestSchema>;

type StillFormat = WireCaptureRequest['format'];
/** A format of `animate`; webp is also one of a still picture. */
export type AnimationFormat = AnimateOption['format'];
/** The format of an artifact that a request can name. */
export type CaptureFormat = StillFormat | AnimationFormat;
/** The format of an artifact; html is that of the option `document`. */
export type ArtifactFormat = CaptureFormat | 'html';
export type ImageFormat = Exclude<StillFormat, 'pdf'>;

export function isImageFormat(format: CaptureFormat): format is ImageFormat {
  return format !== 'pdf' && format !== 'gif' && format !== 'mp4';
}
/** `networkidle0` and `networkidle2`, which only compatible APIs set, are Puppeteer's: at most 0 or 2 requests in flight, whether or not the page has loaded. */
export type WaitUntil = WireCaptureRequest['wait_until'] | 'networkidle0' | 'networkidle2';
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

type DocumentField = keyof typeof documentFields;

/** Lengths in inches, with `landscape` applied. */
export interface PdfOption
  extends Omit<CamelNames<WirePdf>, 'paper' | 'margin' | 'landscape' | 'singlePage' | 'headers' | DocumentField> {
  paper: { width: number; height: number };
  margin: { top: number; right: number; bottom: number; left: number };
  /** Absent unless they are used: a request without them keeps its identity. */
  singlePage?: true;
  headers?: NonNullable<WirePdf['headers']>;
  /** Metadata, conformance, attachments, an invoice and passwords. */
  document?: Pick<WirePdf, DocumentField>;
  pages?: PdfDocument[];
  blankPagesToOdd?: true;
  /** The place of the document in the PDF that it becomes a part of. No request has it. */
  place?: PlaceInPdf;
}

export interface PlaceInPdf {
  /** The number of pages before the document. */
  before: number;
  /** The pages of parts of other documents, by address, as far as they are known. */
  pages: Readonly<Record<string, number>>;
}

/** One of several documents that become one PDF: what differs from the request. */
export interface PdfDocument {
  /** Null for the document's own. */
  title: string | null;
  options: Pick<CaptureOptions, 'url' | 'html' | 'baseUrl'> & Partial<CaptureOptions>;
  layout: Partial<PdfOption>;
}

/** CSS px of the page. */
export type ClipOption = NonNullable<WireCaptureRequest['clip']>;

/** Times in ms. */
export type AnimateOption = NonNullable<WireCaptureRequest['animate']>;

/** Output px. */
export interface ResizeOption {
  width: number | null;
  height: number | null;
  fit: 'inside' | 'cover' | 'contain';
}

/** The destination of the picture. */
export interface UploadOption {
  url: string;
  /** Name of the stored picture that is uploaded instead of a new one; null in a request. */
  artifact: string | null;
  /** The method and headers. Absent: PUT. No request has it; compatible APIs set it. */
  sending?: Sending;
}

/** A callback that receives the file itself. Secret. */
export interface Sending {
  method: CallbackMethod;
  headers: Record<string, string>;
  /** Receives `{status, message}` of a capture that fails, or of a file that cannot be sent; `problems` are those of `gotenbergError`. */
  failure: {
    url: string;
    method: CallbackMethod;
    headers: Record<string, string>;
    problems?: Readonly<Record<string, string>>;
  };
}

export const CALLBACK_METHODS = ['POST', 'PUT', 'PATCH'] as const;
export type CallbackMethod = (typeof CALLBACK_METHODS)[number];

type WireEntry = NonNullable<WireCaptureRequest['captures']>[number];

/** One of `captures`; null stands for what an entry does not say. */
export type PictureEntry = {
  [Name in keyof Required<CamelNames<PlainEntry>>]: CamelNames<PlainEntry>[Name] extends infer Value
    ? Exclude<Value, undefined> | null
    : never;
} & { resize: ResizeOption | null } & Pick<WireEntry, 'rotate' | 'palette'> & {
    selectorUnion?: string | undefined;
    selectorFunction?: string | undefined;
  };

type PlainEntry = Omit<WireEntry, 'resize' | (typeof LATER_ENTRY_FIELDS)[number]>;

/** One of `viewports`. */
export interface ViewportEntry {
  name: string | null;
  device: CaptureOptions['device'];
  view: View;
}

/** Fields that do not reach the renderer: the submission consumes them, or another option replaces them. */
const NO_OPTIONS = ['viewport', 'dark_mode', 'sync', 'cache_ttl', 'store', 'webhook', 'template', 'data'] as const;
const OPTION_FIELDS = Object.keys(requestFields).filter((name) => !NO_OPTIONS.some((other) => other === name));

/** The fields under names in camelCase; null stands for what has no default. */
type PlainOptions = CamelNames<Omit<WireCaptureRequest, (typeof NO_OPTIONS)[number]>>;

/** The fields that have another form among the options. */
interface ConvertedOptions {
  /** Normalized, absolute. HTML_DOCUMENT_URL for files, and for `html` without a `base_url`. */
  url: string;
  view: View;
  /** The format of `animate` if it is given, otherwise the request's. */
  format: CaptureFormat;
  proxy: ProxyOptions | null;
  /** Lower-case names. */
  headers: Record<string, string>;
  cookies: CookieOption[];
  pdf: PdfOption | null;
  /** Also that of `selector_union`, and the code of `selector_function`. */
  selector: string | null;
  padding: number;
  mask: string[];
  /** An opaque CSS color, in lower case. */
  maskColor: string;
  resize: ResizeOption | null;
  captures: PictureEntry[] | null;
  waitUntil: WaitUntil;
  viewports: ViewportEntry[] | null;
  /** Null unless the request brought files along. */
  files: PageFilesOption | null;
  /** Sorted, without duplicates. */
  tolerate: ToleratedCode[];
  upload: UploadOption | null;
  steps: Step[];
  /** Sorted, without duplicates. */
  blockPopups: PopupKind[];
  blockRequests: string[];
  /** Sorted, without duplicates. */
  blockResources: ResourceKind[];
  /** Whether the result reports what was done to the page: `explain=1` of the query, or `inspect_page`. */
  explain: boolean;
  /**
   * Whether the result has the response of the page's document; with `html`, the artifact is the text of the document in place of a picture.
   * Null but for requests of compatible APIs.
   */
  document: DocumentOption | null;
  /** Absent unless the caller's `url` had no scheme. */
  schemeAdded?: true;
}

export type DocumentOption = 'response' | 'html';

/** The options of a capture, internally: defaults filled in, `dark_mode` and `region` applied. request-fields.ts describes them. */
export interface CaptureOptions extends Omit<PlainOptions, keyof ConvertedOptions>, ConvertedOptions {}

export function toCaptureOptions(wire: WireCaptureRequest): CaptureOptions {
  const documents = wire.pdf?.pages?.map((entry) => toPdfDocument(wire, entry));
  const { url, html, baseUrl } = documents?.[0]?.options ?? {};
  const region = wire.region === undefined ? null : REGIONS[wire.region];
  const view = viewOf(wire.device === undefined ? wire.viewport : deviceOf(wire.device));
  return {
    ...(renamed(wire, OPTION_FIELDS) as unknown as PlainOptions),
    url: url ?? wire.url ?? wire.base_url ?? HTML_DOCUMENT_URL,
    html: html ?? wire.html ?? null,
    baseUrl: baseUrl ?? wire.base_url ?? null,
    view: wire.animate?.scale === 'css' ? { ...view, deviceScaleFactor: 1 } : view,
    format: wire.animate?.format ?? wire.format,
    // Otherwise the page would be asked not to move.
    reduceMotion: wire.reduce_motion && wire.animate === undefined,
    colorScheme: wire.color_scheme ?? (wire.dark_mode ? 'dark' : null),
    locale: wire.locale ?? region?.locale ?? null,
    timezone: wire.timezone === undefined ? (region?.timezone ?? null) : canonicalTimezone(wire.timezone),
    proxy: wire.proxy === undefined ? null : { bypass: null, username: null, password: null, ...wire.proxy },
    headers: lowerCaseNames(wire.headers ?? {}),
    cookies: (wire.cookies ?? []).map(
      ({ http_only: httpOnly, same_site: sameSite = null, domain, expires = -1, ...cookie }) => ({
        ...cookie,
        domain: domain === undefined ? null : `.${bareDomain(domain)}`,
        httpOnly,
        sameSite,
        expires,
      }),
    ),
    pdf:
      wire.pdf === undefined
        ? null
        : { ...toPdfOption(wire.pdf), ...(documents === undefined ? {} : { pages: documents }) },
    selector: wire.selector ?? wire.selector_union ?? wire.selector_function ?? null,
    padding: wire.padding ?? 0,
    mask: wire.mask ?? [],
    maskColor: (wire.mask_color ?? MASK_COLOR_DEFAULT).toLowerCase(),
    resize: toResizeOption(wire.resize),
    captures: wire.captures?.map(toPictureEntry) ?? null,
    viewports: wire.viewports?.map(toViewportEntry) ?? null,
    files: null,
    tolerate: TOLERATED_CODES.filter((code) => wire.tolerate?.includes(code)),
    upload: wire.upload === undefined ? null : { url: wire.upload.url, artifact: null },
    steps: (wire.steps ?? []).map(normalizedStep),
    blockPopups: POPUP_KINDS.filter((kind) =>
      Array.isArray(wire.block_popups) ? wire.block_popups.includes(kind) : wire.block_popups,
    ),
    blockRequests: wire.block_requests ?? [],
    blockResources: RESOURCE_TYPES.filter((type) => wire.block_resources?.includes(type)),
    explain: false,
    document: null,
  };
}

function viewOf({ width, height, deviceScaleFactor, isMobile, hasTouch }: View): View {
  return { width, height, deviceScaleFactor, isMobile, hasTouch };
}

function toResizeOption(wire: WireCaptureRequest['resize']): ResizeOption | null {
  return wire === undefined ? null : { width: null, height: null, ...wire };
}

/** Left undefined unless they are used, so that entries without them keep the identity that they had before. */
const LATER_ENTRY_FIELDS = ['rotate', 'palette', 'selector_union', 'selector_function'] as const;
const ENTRY_FIELDS = Object.keys(pictureEntrySchema.shape).filter(
  (name) => !LATER_ENTRY_FIELDS.some((later) => later === name),
);

function toPictureEntry(wire: WireEntry): PictureEntry {
  const { rotate, palette, selector_union: selectorUnion, selector_function: selectorFunction } = wire;
  const later = { rotate, palette, selectorUnion, selectorFunction };
  return { ...(renamed(wire, ENTRY_FIELDS) as PictureEntry), resize: toResizeOption(wire.resize), ...later };
}

function toViewportEntry({
  name,
  device,
  ...view
}: NonNullable<WireCaptureRequest['viewports']>[number]): ViewportEntry {
  return {
    name: name ?? null,
    device: device ?? null,
    view: viewOf(device === undefined ? view : deviceOf(device)),
  };
}

let defaults: CaptureOptions | undefined;

/** The options of a request without any field. Not to be changed. */
export function defaultOptions(): CaptureOptions {
  defaults ??= toCaptureOptions(captureRequestSchema.parse({}));
  return defaults;
}

const DOCUMENT_FIELDS = Object.keys(documentFields) as DocumentField[];
const PDF_FIELDS = Object.keys(pdfSchema.shape).filter(
  (name) => !['landscape', 'single_page', 'headers', ...DOCUMENT_FIELDS].includes(name),
);

function toPdfOption(wire: WirePdf & { blank_pages_to_odd?: boolean }): PdfOption {
  const { paper, margin: all } = wire;
  const { width, height } =
    typeof paper === 'string' ? PAPER_INCHES[paper] : { width: inches(paper.width), height: inches(paper.height) };
  const { top, right, bottom, left } = typeof all === 'object' ? all : { top: all, right: all, bottom: all, left: all };
  return {
    ...(renamed(wire, PDF_FIELDS) as unknown as Omit<CamelNames<WirePdf>, 'singlePage' | 'headers'>),
    ...(wire.single_page === true ? { singlePage: true } : {}),
    ...(wire.headers === undefined ? {} : { headers: wire.headers }),
    ...(DOCUMENT_FIELDS.some((name) => wire[name] !== undefined) ? { document: documentOf(wire) } : {}),
    ...(wire.blank_pages_to_odd === true ? { blankPagesToOdd: true } : {}),
    paper: wire.landscape ? { width: height, height: width } : { width, height },
    margin: { top: inches(top), right: inches(right), bottom: inches(bottom), left: inches(left) },
  };
}

function documentOf({ metadata, conformance, attachments, facturx, password }: WirePdf): PdfOption['document'] {
  return { metadata, conformance, attachments, facturx, password };
}

type WireDocument = NonNullable<NonNullable<WireCaptureRequest['pdf']>['pages']>[number];

function toPdfDocument(request: WireCaptureRequest, { title, pdf, ...own }: WireDocument): PdfDocument {
  const defined = withoutUndefined(own);
  const layout = withoutUndefined(pdf ?? {});
  const wire = { ...request, ...defined, pdf: { ...request.pdf, ...layout, pages: undefined } };
  const options = toCaptureOptions(wire as WireCaptureRequest);
  const names = ['url', 'html', 'base_url', ...Object.keys(defined)];
  const layoutNames = Object.keys(layout).map((name) => (name === 'landscape' ? 'paper' : name));
  return {
    title: title ?? null,
    options: pickNames(options, names) as PdfDocument['options'],
    layout: pickNames(options.pdf ?? {}, layoutNames),
  };
}

function withoutUndefined<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Fields>;
}

function pickNames(options: object, names: readonly string[]): Record<string, unknown> {
  const wanted = new Set(names.map(camelName));
  return Object.fromEntries(Object.entries(options).filter(([name]) => wanted.has(name)));
}

/** These fields of a request under names in camelCase, with null for those that are missing. */
function renamed(fields: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [camelName(name), fields[name] ?? null]));
}

function inches(length: number | string): number {
  return lengthToInches(length) ?? 0;
}

/** URL of files, and of `html` without a `base_url`: the host cannot exist (RFC 2606), so its origin reaches nothing. */
export const HTML_DOCUMENT_URL = 'http://html.invalid/';

/** Stands for the URL of an HTML document. */
export const HTML_JOB_URL = 'about:html';

type OwnDocument = Pick<CaptureOptions, 'html' | 'files'>;

/** Whether the request itself has the document that is captured. */
export function isOwnDocument({ html, files }: OwnDocument): boolean {
  return html !== null || files !== null;
}

/** Whether that document is at the reserved origin. */
export function isAtReservedOrigin(options: OwnDocument & Pick<CaptureOptions, 'baseUrl'>): boolean {
  return isOwnDocument(options) && options.baseUrl === null;
}

/** `url` of a job: without its query and fragment, which may hold secrets. */
export function jobUrl(options: OwnDocument & Pick<CaptureOptions, 'url'>): string {
  return isOwnDocument(options) ? HTML_JOB_URL : (options.url.split(/[?#]/, 1)[0] ?? '');
}

/** An address of the page as callers see it. */
export function shownAddress(url: string, options: OwnDocument & Pick<CaptureOptions, 'baseUrl'>): string {
  const isOwn = isAtReservedOrigin(options) && url.startsWith(HTML_DOCUMENT_URL);
  return isOwn ? `${HTML_JOB_URL}${new URL(url).hash}` : url;
}

/** `url` of CaptureData. */
export function shownUrl(options: OwnDocument & Pick<CaptureOptions, 'url' | 'baseUrl'>): string {
  return isAtReservedOrigin(options) ? HTML_JOB_URL : options.url;
}
