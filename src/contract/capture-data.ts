import { z } from 'zod';
import { count, flag, list, number, object, text, whole } from './described.js';
import { type Extraction, extractionSchema } from './extract.js';
import { type CamelNames, snakeNames } from './field-rules.js';
import { INSPECTION_LIMIT_CHARS, URL_MAX_BYTES } from './limits.js';
import { type PageElement, type PageFacts, pageElementsSchema, pageFactsSchema } from './page-facts.js';
import { POPUP_KINDS } from './popups.js';
import { EXTENSION, TOLERATED_CODES } from './request-fields.js';

/** CaptureData of interface.md, internally (camelCase) and on the wire. */

/** Failures that `tolerate` allowed, and what may be unexpected in a picture (extensions.md, Fields). */
export const WARNING_CODES = [
  ...TOLERATED_CODES,
  'pdf_not_on_paper',
  'pdf_without_text',
  'density_lowered',
  'scaled_to_fit',
  'missing_file',
  'resources_failed',
  'font_substituted',
  'redirected_to_login',
  'loaded_in_real_time',
  'still_waiting',
  'content_cut_right',
  'content_cut_left',
  'content_missing',
  'page_numbers_unsettled',
] as const;

type Wire = z.output<typeof captureDataSchema>;
type WireChanges = z.output<typeof changesSchema>;
type WireNamed = z.output<typeof namedPictureSchema>;

export type StoppedReason = 'viewport' | 'element' | 'end_of_page' | 'max_height' | 'format_limit' | 'time_limit';

export interface RenderDiagnostics
  extends CamelNames<Omit<NonNullable<Wire['render_diagnostics']>, 'version' | 'stopped_reason'>> {
  stoppedReason: StoppedReason;
}

/** Each text has at most INSPECTION_LIMIT_CHARS. */
export interface Inspection extends CamelNames<Pick<NonNullable<Wire['inspection']>, 'markdown' | 'accessible_tree'>> {
  /** With the names of the wire; absent if the page did not tell them in time. */
  facts?: PageFacts;
  elements?: PageElement[] | null;
}

export interface CaptureWarning {
  code: (typeof WARNING_CODES)[number];
  message: string;
}

/** Changes made to a page for its picture. Names of elements and URLs come from the page. */
export interface CaptureChanges extends CamelNames<Omit<WireChanges, 'banner' | 'clock' | 'untrusted_content'>> {
  banner: CamelNames<WireChanges['banner']>;
  clock: CamelNames<WireChanges['clock']>;
}

export interface CaptureNotes {
  /** `finalUrl` was longer than URL_MAX_BYTES. */
  finalUrlCut?: true;
  /** Never empty. */
  warnings?: CaptureWarning[];
  changed?: CaptureChanges;
}

/** Width and height are output px (PDF: CSS px of its first page). */
export interface CaptureData
  extends CamelNames<
    Omit<
      Wire,
      | 'data_url'
      | 'cdn_url'
      | 'html_url'
      | 'render_diagnostics'
      | 'diagnostics'
      | 'captures'
      | 'upload'
      | 'inspection'
      | 'extract'
    >
  > {
  /** `<name>.<ext>` under /artifacts; the URL is built when it is sent. */
  artifact: string;
  diagnostics: RenderDiagnostics;
  /** `diagnostics` on the wire, an extension of the interface; absent if empty. */
  notes?: CaptureNotes;
  /** Absent if none was requested. Belongs to the job, not to others with the same picture. */
  upload?: UploadResult;
  /** All pictures, the first included; absent if the request asks for one. */
  captures?: NamedCapture[];
  inspection: Inspection | null;
  /** Absent without `extract`. */
  extraction?: Extraction;
  /** The name of the file with the document's HTML, as `artifact`; absent without `save_html`. */
  htmlArtifact?: string;
  /** The response of the page's document; `status` is null without one. Present only with the option `document`, and not on the wire. */
  response?: { status: number | null };
}

/** The outcome of an upload. */
export interface UploadResult extends CamelNames<NonNullable<Wire['upload']>> {}

/** One of several pictures. Its file is kept and deleted together with those of the others. */
export interface NamedCapture extends CamelNames<Pick<WireNamed, 'name' | 'format' | 'width' | 'height' | 'bytes'>> {
  /** As in CaptureData. */
  artifact: string;
  diagnostics: RenderDiagnostics;
  /** Never empty. */
  warnings?: CaptureWarning[];
}

export const RENDER_DIAGNOSTICS_VERSION = 1;

const elementName = text('tag, id and classes of an element', 'nav#top.bar');
const elements = (description: string, example: string) =>
  z.array(elementName).meta({ description, example: [example] });

const changesSchema = z.object({
  blocked: list('the first 50 blocked requests', {
    option: text(
      'the option that blocks the request; `destinations` if the server may not reach it, or its name has no address',
      'block_trackers',
    ),
    url: text('without its query; only host and port for `destinations`', 'https://metrics.example/collect.js'),
    rule: text('the filter rule, or the value of the option; empty for `destinations`', '||metrics.example^$3p'),
    list: text('the filter list that has the rule; empty if it is not known', 'easyprivacy'),
  }),
  banner: object('what became of a consent banner', {
    outcome: z
      .enum(['none', 'rejected', 'hidden', 'failed'])
      .meta({ description: 'whether a consent banner was declined or only hidden', example: 'rejected' }),
    platform: text('the consent platform, if it is known', 'Onetrust').optional(),
  }),
  popups: list('windows before the page that `block_popups` has closed', {
    kind: z.enum(POPUP_KINDS).meta({ description: 'what the window wanted' }),
    element: elementName,
    outcome: z.enum(['closed', 'hidden']).meta({ description: 'whether its own button closed it', example: 'closed' }),
  }).optional(),
  hidden: elements('elements that filter rules hide, at most 50', 'div.ad-slot'),
  expanded: elements('scrolling boxes that were made as tall as their content', 'main.feed'),
  pinned: list('fixed and sticky elements, at most 50', {
    element: elementName,
    role: text(
      'its place in the picture: `top` or `bottom` of the page, `backdrop` (behind all of it), `in-flow` (where it stands without being pinned), `kept` (as the page has it), `away` (left out)',
      'top',
    ),
  }),
  pictured: list('what a PDF has as pictures of the view, since the browser prints it otherwise than it shows it', {
    element: elementName,
    reason: text(
      'what is a picture: `canvas`, `backdrop-filter` (what is seen through the element), `mask-composite` (its mask), `drop-shadow` (its shadow) or `filter` (the element, whose text is kept invisible)',
      'backdrop-filter',
    ),
  }),
  scroll_unlocked: flag('whether a page that prevented scrolling was made to scroll', false),
  clock: object("how the page's clock ran, ms", {
    ahead_ms: number("the page's time that passed ahead of the real time", 2_300),
    real_time_ms: number('the time that passed at the real pace', 140),
    held_ms: number('the real time for which requests held the clock', 80),
    held_by: list('the requests that held the clock', {
      kind: text('type of the request', 'fetch'),
      host: text('its host', 'api.example.com'),
      count: whole('number of such requests at once', 2),
    }),
    real_time_because: text(
      'why the clock kept to the real time: `socket`, `stream`, `polling`, or `off`',
      'socket',
    ).optional(),
  }),
  untrusted_content: z.literal(true).meta({ description: 'names, URLs and hosts come from the page', example: true }),
});

const renderDiagnosticsSchema = z.object({
  version: whole('version of these diagnostics', 1),
  algorithm: z.enum(['by_sections', 'native', 'element']).meta({ description: 'how the page was captured' }),
  sections: count('sections that were stitched', 1),
  device_scale_factor: z.number().gt(0).meta({ description: 'output pixels per CSS pixel', example: 2 }),
  scroll_height: z.number().min(0).meta({ description: 'height of the page in CSS pixels', example: 720 }),
  stopped_reason: text(
    'why the capture ended where it did: viewport, element, end_of_page, max_height, format_limit or time_limit',
    'viewport',
  ),
  truncated: flag('whether the page is longer than the picture', false),
});

const warningsSchema = list(
  'failures that `tolerate` allowed, and what may be unexpected in the picture: `pdf_not_on_paper` (a PDF of the viewport, without `pdf`), `pdf_without_text` (the PDF holds pictures of the page), `density_lowered` (at the requested density the picture would be too large), `scaled_to_fit` (the page was wider than the paper), `content_missing` (the page shows parts only while they are scrolled to, and the picture lacks them), `missing_file` (`html` refers to files that are not there), `resources_failed` (images, styles, scripts or fonts of the page could not be loaded), `font_substituted` (text is not shown in the font that the page asks for, or as boxes), `redirected_to_login` (the page shown is not the one requested, and asks for a password), `loaded_in_real_time` (its server refused it once its clock had run ahead), `still_waiting` (it still showed that it waits, and worked or waited for its server), `content_cut_right` and `content_cut_left` (a full page is wider than its picture), `page_numbers_unsettled` (page numbers in the text changed with every print)',
  {
    code: z.enum(WARNING_CODES).meta({ description: 'the problem that was tolerated' }),
    message: text('for people; may change', 'The target answered with status 404.'),
  },
);

const namedPictureSchema = z.object({
  name: text('its name in the request, or the one generated for it, such as `capture-1`', 'hero'),
  format: text('format of the artifact: png, jpeg, webp, avif, bmp or pdf', 'webp'),
  width: number('of the encoded artifact', 2560),
  height: number('height of the artifact, in the same unit as `width`', 840),
  bytes: number('size of the artifact', 9_310),
  cdn_url: text(
    'download location of the artifact',
    'https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp',
  ).optional(),
  render_diagnostics: renderDiagnosticsSchema.meta({ description: 'how the picture was made' }),
  warnings: warningsSchema.optional(),
});

/** `duration_ms` of a capture, a job and a webhook. */
export const durationMsSchema = number('duration of the capture in milliseconds', 812);

export const captureDataSchema = z
  .object({
    url: text('the requested URL, normalized', 'https://example.com/'),
    final_url: text('the URL after redirects', 'https://example.com/'),
    format: text('format of the artifact: png, jpeg, webp, avif, bmp or pdf; gif or mp4 with `animate`', 'webp'),
    width: number('of the encoded artifact', 2560),
    height: number('height of the artifact, in the same unit as `width`', 1440),
    bytes: number('size of the artifact', 21_044),
    duration_ms: durationMsSchema,
    cached: z.boolean().default(false).meta({ description: 'whether a cached capture was reused', example: false }),
    blocked_requests: z.number().default(0).meta({ description: 'requests of the page that were blocked', example: 4 }),
    data_url: text(
      'the artifact as a data URL; not sent by this server',
      'data:image/png;base64,iVBORw0KGgo=',
    ).optional(),
    cdn_url: text(
      'download location of the artifact',
      'https://shots.example.com/artifacts/6J8hGk2Qw9ZrT4xYb1Lc0A.webp',
    ).optional(),
    region: text('the requested region', 'gb').optional(),
    egress_country: text("observed country of the capture's public address", 'GB').optional(),
    render_diagnostics: renderDiagnosticsSchema.optional().meta({ description: 'how the picture was made' }),
    diagnostics: z
      .object({
        final_url_cut: z
          .literal(true)
          .optional()
          .meta({ description: `final_url was longer than ${URL_MAX_BYTES} bytes`, example: true }),
        warnings: warningsSchema.optional(),
        changed: changesSchema.optional().meta({
          description: 'what was done to the page, with `explain=1` in the query or `inspect_page`',
        }),
      })
      .optional()
      .meta({ description: 'other remarks about the capture', 'x-stillframe-extension': true }),
    upload: z
      .object({
        state: z.enum(['uploaded', 'failed']).meta({ description: 'whether the receiver has accepted the picture' }),
        url: text('`upload.url` of the request without its query', 'https://bucket.example.com/home.webp'),
        bytes: whole('size of what was sent', 21_044),
        attempts: whole('attempts that were made, at most 3', 1),
        status: whole('HTTP status of the last attempt; null without a response', 200).nullable(),
        error: z.string().nullable().meta({ description: 'why the upload failed; null if it did not', example: null }),
      })
      .optional()
      .meta({ description: 'what became of `upload`', 'x-stillframe-extension': true }),
    captures: z.array(namedPictureSchema).optional().meta({
      description: 'all pictures, the first included, if the request has `captures`, `viewports` or `color_schemes`',
      'x-stillframe-extension': true,
    }),
    extract: extractionSchema
      .optional()
      .meta({ description: 'the values that `extract` has read from the page', ...EXTENSION }),
    html_url: text(
      'download location of the HTML of the document, with `save_html`',
      'https://shots.example.com/artifacts/2Bq8zLw1XfTn0cVdPe7RsA.txt',
    )
      .optional()
      .meta(EXTENSION),
    inspection: object('the text of the page and facts about it, with `inspect_page`', {
      markdown: z
        .string()
        .max(INSPECTION_LIMIT_CHARS)
        .meta({ description: 'main content as Markdown', example: '# Example Domain' }),
      accessible_tree: z
        .string()
        .max(INSPECTION_LIMIT_CHARS)
        .meta({ description: 'outline of roles and names', example: '- heading "Example Domain" [level=1]' }),
      untrusted_content: z.literal(true).meta({ description: 'always true: the text comes from the page' }),
      character_limit: z
        .literal(INSPECTION_LIMIT_CHARS)
        .meta({ description: 'maximum number of characters of each text' }),
      facts: pageFactsSchema
        .optional()
        .meta({ description: 'facts about the page; absent if it did not answer in time', ...EXTENSION }),
      elements: pageElementsSchema.optional().meta({
        description:
          'visible elements that can be acted on, those in the picture first; absent if the page did not answer in time',
        ...EXTENSION,
      }),
    }).optional(),
  })
  .meta({ id: 'CaptureData' });

/** @param publicBase what `cdn_url` begins with, no trailing slash */
export function toWireCaptureData(data: CaptureData, publicBase: string): Wire {
  const {
    artifact,
    region,
    egressCountry,
    diagnostics,
    notes,
    captures,
    upload,
    inspection,
    extraction,
    htmlArtifact,
    response: _response,
    ...others
  } = data;
  return {
    ...snakeNames(others),
    cdn_url: `${publicBase}/artifacts/${artifact}`,
    ...(region === null ? {} : { region }),
    ...(egressCountry === null ? {} : { egress_country: egressCountry }),
    render_diagnostics: toWireDiagnostics(diagnostics),
    ...(captures === undefined ? {} : { captures: captures.map((one) => toWireNamed(one, publicBase)) }),
    ...(notes === undefined ? {} : { diagnostics: toWireNotes(notes) }),
    ...(upload === undefined ? {} : { upload: snakeNames(upload) }),
    ...(inspection === null ? {} : { inspection: toWireInspection(inspection) }),
    ...(extraction === undefined ? {} : { extract: { ...extraction, untrusted_content: true as const } }),
    ...(htmlArtifact === undefined ? {} : { html_url: `${publicBase}/artifacts/${htmlArtifact}` }),
  };
}

function toWireInspection({ facts, elements, ...texts }: Inspection): Wire['inspection'] {
  return {
    ...snakeNames(texts),
    untrusted_content: true,
    character_limit: INSPECTION_LIMIT_CHARS,
    ...(facts === undefined ? {} : { facts }),
    ...(elements === undefined || elements === null ? {} : { elements }),
  };
}

function toWireDiagnostics(diagnostics: RenderDiagnostics): NonNullable<Wire['render_diagnostics']> {
  return { version: RENDER_DIAGNOSTICS_VERSION, ...snakeNames(diagnostics) };
}

function toWireNamed({ artifact, diagnostics, ...others }: NamedCapture, publicBase: string): WireNamed {
  return {
    ...snakeNames(others),
    ...(artifact === '' ? {} : { cdn_url: `${publicBase}/artifacts/${artifact}` }),
    render_diagnostics: toWireDiagnostics(diagnostics),
  };
}

function toWireNotes({ changed, ...others }: CaptureNotes): Wire['diagnostics'] {
  return { ...snakeNames(others), ...(changed === undefined ? {} : { changed: toWireChanges(changed) }) };
}

function toWireChanges({ banner: { outcome, platform }, clock, popups, ...others }: CaptureChanges): WireChanges {
  const { realTimeBecause, ...times } = clock;
  return {
    ...snakeNames(others),
    ...(popups === null ? {} : { popups }),
    banner: { outcome, ...(platform === null ? {} : { platform }) },
    clock: { ...snakeNames(times), ...(realTimeBecause === null ? {} : { real_time_because: realTimeBecause }) },
    untrusted_content: true,
  };
}

const CONTENT_TYPES: Record<string, string> = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
  txt: 'text/plain; charset=utf-8',
};

/** Media type of an artifact, or of a format, by its extension. */
export function contentTypeOf(nameOrFormat: string): string {
  return CONTENT_TYPES[formatOf(nameOrFormat)] ?? 'application/octet-stream';
}

/** The extension of an artifact's name; a format itself is returned as it is. */
export function formatOf(nameOrFormat: string): string {
  return nameOrFormat.slice(nameOrFormat.lastIndexOf('.') + 1);
}

/** Limits the length of a page's final URL, which a script can make megabytes long with one `history.replaceState`. */
export function keepFinalUrl(finalUrl: string): Pick<CaptureData, 'finalUrl' | 'notes'> {
  // Browsers serialize URLs as ASCII; anything else is cut between characters.
  const bytes = Buffer.from(finalUrl.slice(0, URL_MAX_BYTES + 1));
  if (bytes.length <= URL_MAX_BYTES) return { finalUrl };
  let end = URL_MAX_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { finalUrl: bytes.subarray(0, end).toString(), notes: { finalUrlCut: true } };
}
