/** The fields of Gotenberg 8, and the capture request that they make. Values are texts, as Gotenberg parses them. */
import { z } from 'zod';
import { CaptureError } from '../../contract/capture-error.js';
import { isObject } from '../../contract/field-rules.js';
import { CSS_PX_PER_INCH, isPageRanges } from '../../contract/pdf-schema.js';
import { invalidField, invalidRequest } from '../../contract/submission.js';
import {
  type CompatibleField,
  type Draft,
  durationMs,
  field,
  issuesOf,
  newDraft,
  put,
  refused,
  viewFields,
} from './compatible-api.js';
import {
  archived,
  asksForWork,
  ENGINE_FIELDS,
  type EngineWork,
  fileProblem,
  newEngineReading,
} from './gotenberg-engine-fields.js';
import type { GotenbergForm, Source } from './gotenberg-form.js';
import {
  boolean,
  excerpt,
  goSyntax,
  INVALID,
  invalid,
  json,
  number,
  oneOf,
  parsed,
  texts,
  whole,
} from './gotenberg-values.js';

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
export interface GotenbergRequest extends Pick<Reading, 'draft' | 'checks' | 'problems'> {
  /** The fields of a conversion that a Gotenberg behind this one makes. */
  archive: Record<string, string>;
  /** Changes to the finished PDF; null for none. */
  work: EngineWork | null;
}

const INCHES: Record<string, number> = { pt: 1 / 72, px: 1 / 96, in: 1, mm: 1 / 25.4, cm: 1 / 2.54, pc: 1 / 6 };
/** CSS px. */
const length = parsed(
  (text) => {
    const [, amount = '', unit = 'in'] = /^(\d{1,6}(?:\.\d{0,15})?|\.\d{1,15})(pt|px|in|mm|cm|pc)?$/.exec(text) ?? [];
    const inches = INCHES[unit];
    return amount === '' || inches === undefined ? undefined : Number(amount) * inches * CSS_PX_PER_INCH;
  },
  (text) => goSyntax('ParseFloat')(text.replace(/(pt|px|in|mm|cm|pc)$/, '')),
);
const duration = parsed(durationMs, (text) =>
  /^\d+$/.test(text)
    ? `time: missing unit in duration ${JSON.stringify(text)}`
    : `time: invalid duration ${JSON.stringify(text)}`,
);
const mediaType = oneOf(['screen', 'print'], "wrong value, expected either 'screen', 'print' or empty");
/** The same number as for a field of 0.39, so that both make the same request. */
const MARGIN_PX = 0.39 * CSS_PX_PER_INCH;
const text = z.string();
const STATUS_CODES = z.array(z.int().min(100).max(599)).max(100);
const filled = z.string().refine((value) => value.trim() !== '');
const cookie = z
  .strictObject({
    name: filled,
    value: filled,
    domain: filled,
    path: z.string().nullish(),
    secure: z.boolean().nullish(),
    httpOnly: z.boolean().nullish(),
    sameSite: z.string().nullish(),
  })
  .transform(({ domain, sameSite, ...others }) => ({
    ...others,
    // As in Chromium, a cookie is for all ports of its host.
    domain: domain.trim().replace(/^([^:]+|\[.*\]):\d{1,5}$/, '$1'),
    sameSite: /^(lax|strict|none)$/i.test(sameSite ?? '')
      ? `${sameSite?.[0]?.toUpperCase()}${sameSite?.slice(1).toLowerCase()}`
      : sameSite,
  }));
const cookies = json('cookies', z.array(cookie).max(100), (value) => {
  const isUnset = (one: unknown) =>
    !['name', 'value', 'domain'].every((name) => isObject(one) && filled.safeParse(one[name]).success);
  const unset = (Array.isArray(value) ? value.slice(0, 100) : []).flatMap((one, index) =>
    isUnset(one) ? [index] : [],
  );
  if (unset.length === 0) return 'a JSON array of cookies with name, value and domain is expected';
  return unset.map((index) => `cookie ${index} must have its name, value and domain set`).join('\n');
});
/** An object, or the list of `{name, value}` that some clients send. */
const mediaFeatures = z.union([
  texts,
  z
    .array(z.strictObject({ name: z.string(), value: z.string() }))
    .transform((list) => Object.fromEntries(list.map((one) => [one.name, one.value]))),
]);
const extraHttpHeaders = json(
  'extraHttpHeaders',
  texts.refine((headers) => scopeProblem(headers) === null),
  (value) => {
    const headers = texts.safeParse(value);
    return (headers.success ? scopeProblem(headers.data) : null) ?? 'a JSON object of names and values is expected';
  },
);

/** The reason why Gotenberg would refuse the scope of a header. */
function scopeProblem(headers: Record<string, string>): string | null {
  for (const [name, value] of Object.entries(headers)) {
    const token = value.split(';').find((one) => /^\s*scope/i.test(one));
    if (token === undefined) continue;
    const scope = /^scope=(.+)$/i.exec(token.replace(/\s+/g, ''))?.[1];
    if (scope === undefined) return `invalid scope '' for header '${name}'`;
    if (/^[*+?]/.test(scope))
      return `invalid scope regex pattern for header '${name}': error parsing regexp: missing argument to repetition operator in \`${scope}\``;
  }
  return null;
}

const statusCodes = (name: string) => json(name, STATUS_CODES, () => 'a JSON array of status codes is expected');

/** In the order in which Gotenberg reads them, which is that of its errors. */
const FIELDS: Record<string, CompatibleField<Reading>> = {
  skipNetworkIdleEvent: field(
    boolean,
    (skips, { draft }) => skips || Object.assign(draft, { wait_until: 'networkidle' }),
  ),
  skipNetworkAlmostIdleEvent: field(
    boolean,
    (skips, { draft }) => skips || Object.assign(draft, { wait_for_idle: true }),
  ),
  failOnHttpStatusCodes: field(statusCodes('failOnHttpStatusCodes'), (list, { checks }) => {
    const codes = expand(list);
    checks.statuses = codes.length === 200 && codes.every((status) => status >= 400 && status < 600) ? null : codes;
  }),
  failOnResourceHttpStatusCodes: field(statusCodes('failOnResourceHttpStatusCodes'), (list, { checks }) => {
    const codes = expand(list);
    if (codes.some((status) => status < 400))
      return 'has codes below 400, which are not supported here: 499 and 599 stand for all others';
    checks.resourceStatuses = codes;
  }),
  ignoreResourceHttpStatusDomains: field(
    json('ignoreResourceHttpStatusDomains', z.array(z.string()).max(100), () => 'a JSON array of domains is expected'),
    (domains, { checks }) => {
      checks.ignoredDomains = domains.map((domain) => domain.toLowerCase().replace(/^\*?\./, ''));
    },
  ),
  failOnResourceLoadingFailed: put(boolean, 'checks', 'failedResources'),
  failOnConsoleExceptions: put(boolean, 'checks', 'exceptions'),
  waitDelay: put(duration, 'draft', 'delay'),
  waitWindowStatus: field(text, (status, { expressions }) =>
    expressions.push(`window.status === ${JSON.stringify(status)}`),
  ),
  waitForExpression: field(text, (expression, { expressions, problems }) => {
    problems.wait_for_function = `The expression '${excerpt(expression)}' (waitForExpression) returned an exception or undefined`;
    expressions.push(unlessUndefined(expression.replace(/(?<![;\s])[;\s]+$/, '')));
  }),
  waitForSelector: field(text, (selector, { draft, problems }) => {
    problems.wait_for_selector = `The selector '${excerpt(selector)}' (waitForSelector) returned an exception or undefined`;
    draft.wait_for_selector = selector;
  }),
  cookies: field(cookies, (list, { draft }) => {
    // Unlike `cookies`, these may be for any host, as those of Gotenberg.
    draft.storage_state = {
      cookies: list.map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => (value ?? '') !== ''))),
    };
  }),
  userAgent: put(text, 'draft', 'user_agent'),
  extraHttpHeaders: field(extraHttpHeaders, (headers, { draft }) => {
    if (Object.keys(headers).length === 0) return undefined;
    if (draft.url === undefined)
      return "is not supported here: headers go to the origin of the url only, so use a route for url, or 'cookies', which may be for any host";
    const scoped = Object.keys(headers).find((name) => /(^|;)\s*scope/i.test(headers[name] ?? ''));
    if (scoped !== undefined)
      return `has a scope for '${scoped.slice(0, 60)}', which is not supported here: headers go to the origin of the url only`;
    draft.headers = headers;
    return undefined;
  }),
  emulatedMediaType: field(mediaType, (media, { output, pdf }) => {
    if (output === 'convert') pdf.media = media;
    else if (media === 'print') return 'is not supported for pictures: use a route of /forms/chromium/convert';
  }),
  emulatedMediaFeatures: field(
    json('emulatedMediaFeatures', mediaFeatures, () => 'a JSON object of names and values is expected'),
    (features, { draft }) => {
      const { 'prefers-color-scheme': scheme, 'prefers-reduced-motion': motion, ...others } = features;
      const [other] = Object.keys(others);
      if (other !== undefined)
        return `has '${other.slice(0, 60)}', which is not supported here: prefers-color-scheme and prefers-reduced-motion are`;
      if (motion !== undefined && motion !== 'reduce' && motion !== 'no-preference')
        return "has another 'prefers-reduced-motion' than reduce and no-preference";
      if (motion !== undefined) draft.reduce_motion = motion === 'reduce';
      if (scheme !== undefined) draft.color_scheme = scheme;
    },
  ),
  omitBackground: field(boolean, (omits, reading) => {
    // A printed page has no background of its own.
    reading.omitsBackground = omits;
    if (reading.output === 'screenshot') reading.draft.omit_background = omits;
  }),
};

const PDF_FIELDS: Record<string, CompatibleField<Reading>> = {
  landscape: put(boolean, 'pdf', 'landscape'),
  printBackground: put(boolean, 'pdf', 'print_background'),
  scale: put(number, 'pdf', 'scale'),
  singlePage: put(boolean, 'pdf', 'single_page'),
  paperWidth: put(length, 'paper', 'width'),
  paperHeight: put(length, 'paper', 'height'),
  marginTop: put(length, 'margin', 'top'),
  marginBottom: put(length, 'margin', 'bottom'),
  marginLeft: put(length, 'margin', 'left'),
  marginRight: put(length, 'margin', 'right'),
  nativePageRanges: field(text, (ranges, { pdf, problems }) => {
    problems['pdf.page_ranges'] = `The page ranges '${excerpt(ranges)}' (nativePageRanges) exceeds the page count`;
    pdf.page_ranges = ranges;
  }),
  preferCssPageSize: put(boolean, 'pdf', 'prefer_css_page_size'),
  generateDocumentOutline: put(boolean, 'pdf', 'outline'),
  generateTaggedPdf: put(boolean, 'pdf', 'tagged'),
  ...Object.fromEntries(
    Object.entries(ENGINE_FIELDS).map(([name, { read }]) => [
      name,
      { read: (value: unknown, { engine }: Reading) => read(value, engine) },
    ]),
  ),
};

const SCREENSHOT_FIELDS: Record<string, CompatibleField<Reading>> = {
  downloadFrom: refused('send the files in the form'),
  ...viewFields(number, 'viewport'),
  clip: field(boolean, (clips, { draft }) => clips && showView(draft)),
  selector: field(text, (selector, { draft, problems }) => {
    problems.selector = `The selector '${excerpt(selector)}' (selector) matched no element with a visible box`;
    showView(draft);
    draft.selector = selector;
  }),
  format: field(
    oneOf(['png', 'jpeg', 'webp'], "wrong value, expected either 'png', 'jpeg' or 'webp'"),
    (format, { draft }) => {
      draft.format = format;
      // Gotenberg passes `quality` on for jpeg only; 80 is Chromium's own.
      draft.quality = format === 'webp' ? 80 : 100;
    },
  ),
  quality: field(whole, (quality, { draft }) => {
    if (quality < 0 || quality > 100)
      return invalid(String(quality), quality < 0 ? 'value is negative' : 'value is superior to 100');
    draft.quality = Math.max(1, quality);
  }),
  // It trades the size of a file for time, and changes no pixel.
  optimizeForSpeed: field(boolean, () => undefined),
};

/**
 * The capture request for a form.
 * @param archives whether a Gotenberg can convert the PDF
 * @throws CaptureError `invalid_request` that names every field that is not valid, or else every one that is unknown, refused or missing
 */
export function readGotenberg(
  { fields, header, footer, missing }: GotenbergForm,
  { output, source, archives }: { output: Output; source: Source; archives: boolean },
): GotenbergRequest {
  const reading = newReading(output);
  const { draft, viewport, pdf, paper, margin, expressions, checks, engine, problems } = reading;
  if (source === 'url') draft.url = fields.url ?? '';
  const issues = issuesOf(fields, fieldsOf(output, source), reading);
  const invalidOnes = issues.filter(({ message }) => message.startsWith(INVALID));
  const absent = source === 'url' && draft.url === '' ? [{ path: 'url', message: 'is required' }] : missing;
  const reported = [...(invalidOnes.length > 0 ? invalidOnes : issues), ...absent];
  const special = specialProblem(fields, reading);
  if (special !== null && invalidOnes.length === 0 && absent.length === 0)
    throw new CaptureError({ code: 'invalid_request', message: special });
  if (reported.length > 0) throw invalidRequest(reported);
  const { archive, ...work } = archived(engine, archives);
  draft.viewport = viewport;
  if (expressions.length > 0)
    draft.wait_for_function =
      expressions.length === 1 ? expressions[0] : expressions.map((one) => `(${one})`).join(' && ');
  // Gotenberg captures what is blank, and statuses that no field refuses. With `selector`, this would also tolerate its absence.
  draft.tolerate = [
    ...(draft.selector === undefined ? ['render_incomplete'] : []),
    ...(checks.statuses === null ? [] : ['target_error', 'blocked_by_target']),
  ];
  draft.inspect_page = needsFacts(checks);
  if (output === 'convert') {
    // In Gotenberg, too, the backgrounds of all elements but these two are printed in any case.
    draft.custom_css = `html { print-color-adjust: exact !important }${pdf.print_background === true ? '' : ' html, body { background: none !important }'}`;
    draft.pdf = {
      ...pdf,
      paper,
      margin,
      header_template: asInGotenberg(header),
      footer_template: asInGotenberg(footer),
    };
  } else if (header !== undefined || footer !== undefined)
    throw invalidField('header.html, footer.html', 'belong to PDFs');
  return { draft, checks, archive, work: asksForWork(work) ? work : null, problems };
}

/** The text with which Gotenberg refuses a combination of fields. */
function specialProblem(
  fields: Readonly<Record<string, string>>,
  { output, draft, pdf, omitsBackground }: Reading,
): string | null {
  if (/^\s*file:/i.test(String(draft.url ?? '')))
    return 'file:// URLs are not accepted on this route. Use the /convert/html or /convert/markdown routes to render local HTML';
  if (output !== 'convert') return null;
  const { nativePageRanges } = fields;
  if (omitsBackground && pdf.print_background !== true) return 'omitBackground requires printBackground set to true';
  if (nativePageRanges !== undefined && !isPageRanges(nativePageRanges))
    return `Chromium does not handle the page ranges '${excerpt(nativePageRanges)}' (nativePageRanges) syntax`;
  return fileProblem(fields);
}

/** The fields that a route has. */
export function fieldsOf(output: Output, source: Source): Record<string, CompatibleField<Reading>> {
  return {
    ...FIELDS,
    ...(output === 'convert' ? PDF_FIELDS : SCREENSHOT_FIELDS),
    // Clients of Gotenberg 6 send `remoteURL` beside `url`, and Gotenberg 8 does not know it.
    ...(source === 'url' ? { url: field(text, () => undefined), remoteURL: field(text, () => undefined) } : {}),
  };
}

/** Gotenberg's defaults. */
function newReading(output: Output) {
  const picture = { format: 'png', quality: 100, full_page: true, full_page_algorithm: 'native', full_width: true };
  return {
    output,
    draft: {
      ...newDraft(),
      reduce_motion: false,
      wait_for_idle: false,
      ...(output === 'convert' ? { format: 'pdf' } : picture),
    } as Draft,
    viewport: { width: 800, height: 600, deviceScaleFactor: 1 },
    pdf: { print_background: false } as { print_background: boolean; media?: string; page_ranges?: string },
    paper: { width: '8.5in', height: '11in' },
    margin: { top: MARGIN_PX, right: MARGIN_PX, bottom: MARGIN_PX, left: MARGIN_PX },
    checks: {
      statuses: null,
      resourceStatuses: [],
      ignoredDomains: [],
      failedResources: false,
      exceptions: false,
    } as Checks,
    expressions: [] as string[],
    omitsBackground: false,
    /** Gotenberg's messages for captures that fail because of a field, by the path of the field in the capture request. */
    problems: {} as Record<string, string>,
    /** Changes to the finished PDF. */
    engine: newEngineReading(),
  };
}

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

/** 199, 299, 399, 499 and 599 stand for all statuses of their hundred. */
function expand(codes: readonly number[]): number[] {
  return [
    ...new Set(
      codes.flatMap((code) => (code % 100 === 99 ? Array.from({ length: 100 }, (_, nth) => code - 99 + nth) : [code])),
    ),
  ];
}

/** Fails at once if an expression is undefined; one that throws fails anyway. */
function unlessUndefined(expression: string): string {
  return `((value) => { if (value === undefined) throw new Error('undefined'); return value; })(await (${expression}\n))`;
}
