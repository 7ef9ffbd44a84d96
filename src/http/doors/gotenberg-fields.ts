/** The fields of Gotenberg 8, and the capture request that they make. Values are texts, as Gotenberg parses them. */
import { z } from 'zod';
import { CSS_PX_PER_INCH } from '../../contract/pdf-schema.js';
import { readRequestJson } from '../../contract/request-json.js';
import { invalidField } from '../../contract/submission.js';
import { type DoorField, type Draft, durationMs, field, newDraft, put, readFields, refused } from './door.js';
import type { GotenbergForm, Source } from './gotenberg-form.js';

export type Output = 'convert' | 'screenshot';

/** The conditions under which the answer is 409. */
export interface Checks {
  /** Statuses of the document; null for the default, with which the capture itself fails. */
  statuses: readonly number[] | null;
  resourceStatuses: readonly number[];
  ignoredDomains: readonly string[];
  failedResources: boolean;
  exceptions: boolean;
}

type Reading = ReturnType<typeof newReading>;
export type GotenbergOrder = Pick<Reading, 'draft' | 'checks' | 'archive'>;

const boolean = parsed('true or false', (text) =>
  /^(1|t|T|TRUE|true|True)$/.test(text) ? true : /^(0|f|F|FALSE|false|False)$/.test(text) ? false : undefined,
);
const number = parsed('a number', (text) =>
  /^[+-]?(\d{1,9}(\.\d{0,15})?|\.\d{1,15})(e[+-]?\d{1,2})?$/i.test(text) ? Number(text) : undefined,
);
const whole = parsed('a whole number', (text) => (/^[+-]?\d{1,9}$/.test(text) ? Number(text) : undefined));
const INCHES: Record<string, number> = { pt: 1 / 72, px: 1 / 96, in: 1, mm: 1 / 25.4, cm: 1 / 2.54, pc: 1 / 6 };
/** CSS px. */
const length = parsed('a number of inches, or a length such as 10mm, 1cm, 0.4in, 12px, 9pt or 2pc', (text) => {
  const [, amount = '', unit = 'in'] = /^(\d{1,6}(?:\.\d{0,15})?|\.\d{1,15})(pt|px|in|mm|cm|pc)?$/.exec(text) ?? [];
  const inches = INCHES[unit];
  return amount === '' || inches === undefined ? undefined : Number(amount) * inches * CSS_PX_PER_INCH;
});

const duration = parsed('a duration such as 500ms, 5s or 1m30s', durationMs);
/** The same number as for a field of 0.39, so that both make the same request. */
const MARGIN_PX = 0.39 * CSS_PX_PER_INCH;
const text = z.string();
export const texts = z.record(z.string(), z.string());
const STATUS_CODES = z.array(z.int().min(100).max(599)).max(100);
const cookie = z.strictObject({
  name: z.string().trim().min(1),
  value: z.string().refine((value) => value.trim() !== '', 'must not be empty'),
  domain: z.string().trim().min(1),
  path: z.string().nullish(),
  secure: z.boolean().nullish(),
  httpOnly: z.boolean().nullish(),
  sameSite: z.string().nullish(),
});
/** An object, or the list of `{name, value}` that some clients send. */
const mediaFeatures = z.union([
  texts,
  z
    .array(z.strictObject({ name: z.string(), value: z.string() }))
    .transform((list) => Object.fromEntries(list.map((one) => [one.name, one.value]))),
]);

const FIELDS: Record<string, DoorField<Reading>> = {
  skipNetworkIdleEvent: field(boolean, (skips, { draft }) => skips || Object.assign(draft, { wait_until: 'networkidle' })),
  skipNetworkAlmostIdleEvent: field(boolean, (skips, { draft }) => skips || Object.assign(draft, { wait_for_idle: true })),
  waitDelay: put(duration, 'draft', 'delay'),
  waitWindowStatus: field(text, (status, { expressions }) => expressions.push(`window.status === ${JSON.stringify(status)}`)),
  waitForExpression: field(text, (expression, { expressions }) => expressions.push(expression.replace(/(?<![;\s])[;\s]+$/, ''))),
  waitForSelector: put(text, 'draft', 'wait_for_selector'),
  cookies: field(json(z.array(cookie).max(100), 'a JSON array of cookies with name, value and domain'), (cookies, { draft }) => {
    // Unlike `cookies`, these may be for any host, as those of Gotenberg.
    draft.storage_state = {
      cookies: cookies.map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => (value ?? '') !== ''))),
    };
  }),
  userAgent: put(text, 'draft', 'user_agent'),
  emulatedMediaFeatures: field(json(mediaFeatures, 'a JSON object of names and values'), (features, { draft }) => {
    const { 'prefers-color-scheme': scheme, 'prefers-reduced-motion': motion, ...others } = features;
    const [other] = Object.keys(others);
    if (other !== undefined)
      return `has '${other.slice(0, 60)}', which is not supported here: prefers-color-scheme and prefers-reduced-motion are`;
    if (motion !== undefined && motion !== 'reduce' && motion !== 'no-preference')
      return "has another 'prefers-reduced-motion' than reduce and no-preference";
    if (motion !== undefined) draft.reduce_motion = motion === 'reduce';
    if (scheme !== undefined) draft.color_scheme = scheme;
  }),
  failOnHttpStatusCodes: field(json(STATUS_CODES, 'a JSON array of status codes'), (codes, { checks }) => {
    const given = expand(codes);
    checks.statuses = given.length === 200 && given.every((status) => status >= 400 && status < 600) ? null : given;
  }),
  failOnResourceHttpStatusCodes: field(json(STATUS_CODES, 'a JSON array of status codes'), (codes, { checks }) => {
    const given = expand(codes);
    if (given.some((status) => status < 400)) return 'has codes below 400, which are not supported here: 499 and 599 stand for all others';
    checks.resourceStatuses = given;
  }),
  ignoreResourceHttpStatusDomains: field(json(z.array(z.string()).max(100), 'a JSON array of domains'), (domains, { checks }) => {
    checks.ignoredDomains = domains.map((domain) => domain.toLowerCase().replace(/^\*?\./, ''));
  }),
  failOnResourceLoadingFailed: put(boolean, 'checks', 'failedResources'),
  failOnConsoleExceptions: put(boolean, 'checks', 'exceptions'),
  downloadFrom: refused('send the files in the form'),
};

const URL_FIELDS: Record<string, DoorField<Reading>> = {
  url: put(text, 'draft', 'url'),
  // Clients of Gotenberg 6 send it beside `url`, and Gotenberg 8 does not know it.
  remoteURL: field(text, () => undefined),
  extraHttpHeaders: field(json(texts, 'a JSON object of names and values'), (headers, { draft }) => {
    const scoped = Object.keys(headers).find((name) => /(^|;)\s*scope\s*(=|;|$)/i.test(headers[name] ?? ''));
    if (scoped !== undefined)
      return `has a scope for '${scoped.slice(0, 60)}', which is not supported here: headers go to the origin of the url only`;
    draft.headers = headers;
  }),
};
const NO_HEADERS = {
  extraHttpHeaders: refused("headers go to the origin of the url only, so use a route for url, or 'cookies', which may be for any host"),
};

const PDF_FIELDS: Record<string, DoorField<Reading>> = {
  paperWidth: put(length, 'paper', 'width'),
  paperHeight: put(length, 'paper', 'height'),
  marginTop: put(length, 'margin', 'top'),
  marginBottom: put(length, 'margin', 'bottom'),
  marginLeft: put(length, 'margin', 'left'),
  marginRight: put(length, 'margin', 'right'),
  landscape: put(boolean, 'pdf', 'landscape'),
  printBackground: put(boolean, 'pdf', 'print_background'),
  scale: put(number, 'pdf', 'scale'),
  singlePage: put(boolean, 'pdf', 'single_page'),
  nativePageRanges: put(text, 'pdf', 'page_ranges'),
  preferCssPageSize: put(boolean, 'pdf', 'prefer_css_page_size'),
  generateDocumentOutline: put(boolean, 'pdf', 'outline'),
  generateTaggedPdf: put(boolean, 'pdf', 'tagged'),
  emulatedMediaType: put(z.enum(['screen', 'print'], 'must be screen or print'), 'pdf', 'media'),
  // A printed page has no background of its own.
  omitBackground: field(boolean, (omits, { pdf }) => (omits && pdf.print_background !== true ? 'needs printBackground' : undefined)),
  pdfa: put(text, 'archive', 'pdfa'),
  pdfua: field(boolean, (isUa, { archive }) => isUa && Object.assign(archive, { pdfua: 'true' })),
  ...refusedAll(
    'send the PDF to a route /forms/pdfengines of a Gotenberg',
    ...'merge flatten splitMode splitSpan splitUnify metadata userPassword ownerPassword encrypt embeds split'.split(' '),
    ...'embedsMetadata bookmarks autoIndexBookmarks rotateAngle rotatePages optimizeImages imageQuality watermarkSource'.split(' '),
    ...'watermarkExpression watermarkPages watermarkOptions stampSource stampExpression stampPages stampOptions'.split(' '),
  ),
};

const SCREENSHOT_FIELDS: Record<string, DoorField<Reading>> = {
  width: put(whole, 'viewport', 'width'),
  height: put(whole, 'viewport', 'height'),
  deviceScaleFactor: put(number, 'viewport', 'deviceScaleFactor'),
  clip: field(boolean, (clips, { draft }) => clips && showView(draft)),
  selector: field(text, (selector, { draft }) => {
    showView(draft);
    draft.selector = selector;
  }),
  format: field(z.enum(['png', 'jpeg', 'webp'], 'must be png, jpeg or webp'), (format, { draft }) => {
    draft.format = format;
    // Gotenberg passes `quality` on for jpeg only; 80 is Chromium's own.
    draft.quality = format === 'webp' ? 80 : 100;
  }),
  quality: field(whole, (quality, { draft }) => {
    if (quality < 0 || quality > 100) return 'must be between 0 and 100';
    draft.quality = Math.max(1, quality);
  }),
  // It trades the size of a file for time, and changes no pixel.
  optimizeForSpeed: field(boolean, () => undefined),
  omitBackground: put(boolean, 'draft', 'omit_background'),
  emulatedMediaType: field(z.enum(['screen', 'print'], 'must be screen or print'), (media) =>
    media === 'print' ? 'is not supported for pictures: use a route of /forms/chromium/convert' : undefined,
  ),
};

/**
 * The capture request for a form.
 * @param archives whether a Gotenberg can convert the PDF
 * @throws CaptureError `invalid_request` that names every field that is not valid, unknown or refused
 */
export function readGotenberg(
  { fields, header, footer }: GotenbergForm,
  { output, source, archives }: { output: Output; source: Source; archives: boolean },
): GotenbergOrder {
  const reading = readFields(fields, fieldsOf(output, source), newReading(output));
  const { draft, viewport, pdf, paper, margin, expressions, checks, archive } = reading;
  if (source === 'url' && draft.url === undefined) throw invalidField('url', 'is required');
  if (!archives && Object.keys(archive).length > 0) throw invalidField(Object.keys(archive).join(', '), NO_ARCHIVE);
  draft.viewport = viewport;
  if (expressions.length > 0)
    draft.wait_for_function = expressions.length === 1 ? expressions[0] : expressions.map((one) => `(${one})`).join(' && ');
  // Gotenberg captures what is blank, and statuses that it is not told to refuse. With `selector`, this would also tolerate its absence.
  draft.tolerate = [
    ...(draft.selector === undefined ? ['render_incomplete'] : []),
    ...(checks.statuses === null ? [] : ['target_error', 'blocked_by_target']),
  ];
  draft.inspect_page = needsFacts(checks);
  if (output === 'convert') {
    // In Gotenberg, too, the backgrounds of all elements but these two are printed in any case.
    draft.custom_css = `html { print-color-adjust: exact !important }${pdf.print_background === true ? '' : ' html, body { background: none !important }'}`;
    draft.pdf = { ...pdf, paper, margin, header_template: asInGotenberg(header), footer_template: asInGotenberg(footer) };
  } else if (header !== undefined || footer !== undefined) throw invalidField('header.html, footer.html', 'belong to PDFs');
  return { draft, checks, archive };
}

/** The fields that a route has. */
export function fieldsOf(output: Output, source: Source): Record<string, DoorField<Reading>> {
  return {
    ...(source === 'url' ? URL_FIELDS : NO_HEADERS),
    ...FIELDS,
    ...(output === 'convert' ? PDF_FIELDS : SCREENSHOT_FIELDS),
  };
}

/** Gotenberg's defaults. */
function newReading(output: Output) {
  const picture = { format: 'png', quality: 100, full_page: true, full_page_algorithm: 'native', full_width: true };
  return {
    draft: { ...newDraft(), reduce_motion: false, wait_for_idle: false, ...(output === 'convert' ? { format: 'pdf' } : picture) } as Draft,
    viewport: { width: 800, height: 600, deviceScaleFactor: 1 },
    pdf: { print_background: false },
    paper: { width: '8.5in', height: '11in' },
    margin: { top: MARGIN_PX, right: MARGIN_PX, bottom: MARGIN_PX, left: MARGIN_PX },
    checks: { statuses: null, resourceStatuses: [], ignoredDomains: [], failedResources: false, exceptions: false } as Checks,
    expressions: [] as string[],
    /** The fields of a conversion that a Gotenberg behind this one makes. */
    archive: {} as Record<string, string>,
  };
}

const NO_ARCHIVE = 'needs a Gotenberg that converts the PDF: the operator can name one with STILLFRAME_GOTENBERG_UPSTREAM';

/** Whether checks are made of the facts of a finished capture. */
export function needsFacts({ statuses, resourceStatuses, failedResources, exceptions }: Checks): boolean {
  return (statuses?.length ?? 0) > 0 || resourceStatuses.length > 0 || failedResources || exceptions;
}

/**
 * Chromium prints templates with a size of 1 px and from the paper's edge on; the renderer makes them legible and puts them below the text.
 * Rules of the template about its font, also those for `body`, take effect.
 */
function asInGotenberg(template: string | undefined): string | undefined {
  if (template === undefined) return undefined;
  const font = /font(-size)?\s{0,9}:/i.test(template) ? ';font-size:inherit' : '';
  return `<style>#header,#footer{padding-left:0;padding-right:0${font}}</style>${template}`;
}

function showView(draft: Draft): void {
  for (const name of ['full_page', 'full_page_algorithm', 'full_width']) delete draft[name];
}

/** Fields that are not honoured. Those that are off ask for nothing. */
function refusedAll(instead: string, ...names: string[]): Record<string, DoorField<Reading>> {
  const { read } = refused(instead);
  const one: DoorField<Reading> = { read: (value, into) => (/^(false|0)$/i.test(String(value)) ? null : read(value, into)) };
  return Object.fromEntries(names.map((name) => [name, one]));
}

/** 199, 299, 399, 499 and 599 stand for all statuses of their hundred. */
function expand(codes: readonly number[]): number[] {
  return [...new Set(codes.flatMap((code) => (code % 100 === 99 ? Array.from({ length: 100 }, (_, nth) => code - 99 + nth) : [code])))];
}

function parsed<Value>(form: string, parse: (text: string) => Value | undefined): z.ZodType<Value> {
  return z.string().transform((given, context) => {
    const value = parse(given.trim());
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: `must be ${form}` });
    return z.NEVER;
  });
}

export function json<Value>(schema: z.ZodType<Value>, form: string): z.ZodType<Value> {
  return parsed(form, (given) => {
    try {
      return schema.safeParse(readRequestJson(Buffer.from(given))).data;
    } catch {
      return undefined;
    }
  });
}
