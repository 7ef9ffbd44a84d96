/** The interface of Grafana's image renderer: `GET /render` and `/render/version`. */
import type { Context } from 'hono';
import { z } from 'zod';
import { CaptureError } from '../../contract/capture-error.js';
import { isTimezone } from '../../contract/field-rules.js';
import { PDF_SCALE, TIMEOUT_MS, VIEWPORT_HEIGHT_PX, VIEWPORT_WIDTH_PX } from '../../contract/limits.js';
import { readUrl } from '../../contract/read-url.js';
import type { AppEnv, AppServices } from '../app-services.js';
import type { Route } from '../route.js';
import { answerPicture } from '../send-artifact.js';
import {
  answerFailure,
  type CompatibleField,
  captureAs,
  compatibleRoute,
  type Draft,
  durationMs,
  field,
  keep,
  newDraft,
  put,
  readFields,
  refused,
  VIEW_DENSITY,
} from './compatible-api.js';
import { panelsLoaded, scrollThrough } from './page-scripts.js';

/** The version that the renderer reports, by which Grafana decides what it may request. */
const VERSION = '5.0.0';
/** Grafana sends this if nobody has configured a token. */
const NO_TOKEN = '-';
/** The renderer's defaults, in CSS px, which are also its least sizes. */
const WIDTH_PX = 1_000;
const HEIGHT_PX = 500;
/** The height of the view of a full page, by its width. */
const VIEW_RATIO = 0.75;

const FOREIGN_PROTOCOL = '`url` must be an http or https URL';

type Wanted = ReturnType<typeof newWanted>;

const text = z.string();
const whole = text.regex(/^-?\d{1,9}$/, 'must be a whole number').transform(Number);
const widthPx = whole.transform((width) => (width === -1 ? WIDTH_PX : width));
const heightPx = whole.transform((height) => (height === -1 ? null : height));
const density = text.regex(/^\d+(\.\d+)?$/, 'must be a number above 0').transform((value) => Number(value) || 1);
const yes = text.transform((value) => value === 'true');

const PDF: Record<string, CompatibleField<Wanted>> = {
  'pdf.format': put(text, 'pdf', 'paper'),
  'pdf.printBackground': put(yes, 'pdf', 'print_background'),
  'pdf.pageRanges': put(text, 'pdf', 'page_ranges'),
  'pdf.landscape': put(yes, 'pdf', 'landscape'),
};

export const FIELDS: Record<string, CompatibleField<Wanted>> = {
  url: put(text.min(1), 'draft', 'url'),
  width: keep(widthPx, 'width'),
  height: keep(heightPx, 'height'),
  deviceScaleFactor: keep(density, 'density'),
  timezone: put(text.transform(timezoneOf), 'draft', 'timezone'),
  encoding: field(text.trim().toLowerCase(), (value, { draft }) => {
    if (value === 'csv')
      return 'cannot be csv: this server makes png and pdf; data is exported as CSV in Grafana itself';
    if (value !== '' && value !== 'png' && value !== 'pdf') return 'must be png or pdf';
    if (value !== '') draft.format = value;
  }),
  timeout: field(text, (value, { draft }) => {
    const ms = durationMs(/^\d{1,9}$/.test(value) ? `${value}s` : value);
    if (ms === undefined) return 'must be seconds, or a duration such as 30s';
    if (ms > 0) draft.timeout = clamp(ms, { min: 1, max: TIMEOUT_MS.max });
  }),
  renderKey: keep(text, 'renderKey'),
  domain: keep(text, 'domain'),
  landscape: put(yes, 'pdf', 'landscape'),
  ...PDF,
  filePath: refused('the picture is the answer'),
};

export const GRAFANA_ROUTES: readonly Route[] = [
  compatibleRoute({ method: 'GET', path: '/render', keyOf, handle: render, refuse: answerFailure }),
  compatibleRoute({ method: 'GET', path: '/render/csv', keyOf, handle: refuseCsv, refuse: answerFailure }),
  { method: 'GET', path: '/healthz', access: null, handle: () => (c) => c.text('OK', 200, c.var.exchange.headers) },
  { method: 'GET', path: '/version', access: null, handle: answerVersion },
  {
    method: 'GET',
    path: '/render/version',
    access: null,
    handle: () => (c) => c.json({ version: VERSION }, 200, c.var.exchange.headers),
  },
];

function keyOf(c: Context<AppEnv>): string | null {
  const token = c.req.header('x-auth-token') ?? '';
  return token === '' || token === NO_TOKEN ? null : token;
}

async function render(services: AppServices, c: Context<AppEnv>): Promise<Response> {
  const [, protocol = 'http'] = /^\s*([a-z][a-z0-9+.-]*):\/\//i.exec(c.req.query('url') ?? '') ?? [];
  if (!/^https?$/i.test(protocol)) throw new CaptureError({ code: 'forbidden', message: FOREIGN_PROTOCOL });
  const wanted = readFields(queryOf(new URL(c.req.url).searchParams), FIELDS, newWanted());
  const draft = toDraft(wanted, c.req.header('accept-language') ?? '');
  const data = await captureAs(services, c, { draft, names: NAMES });
  return await answerPicture(services, c, { data, cacheControl: 'no-store', conditional: false });
}

function answerVersion({ config }: AppServices) {
  return (c: Context<AppEnv>) =>
    c.text(`grafana-image-renderer ${VERSION}\nstillframe ${config.version}\n`, 200, c.var.exchange.headers);
}

/** Fields of its requests by those of a capture. */
const NAMES: Record<string, string> = {
  'pdf.paper': 'pdf.format',
  'pdf.page_ranges': 'pdf.pageRanges',
  'cookies.0.domain': 'domain',
  'cookies.0.value': 'renderKey',
  headers: 'Accept-Language',
};

function newWanted() {
  return {
    draft: {
      ...newDraft(),
      reduce_motion: false,
      format: 'pdf',
      tolerate: ['target_error', 'blocked_by_target', 'render_incomplete'],
    } as Draft,
    width: WIDTH_PX,
    /** Null for a full page. */
    height: HEIGHT_PX as number | null,
    density: 1,
    pdf: { paper: 'a4', fit_width: false, landscape: true } as Record<string, unknown>,
    renderKey: '',
    domain: '',
  };
}

/** The query, and what older versions of Grafana Enterprise write into the address of the page. */
function queryOf(query: URLSearchParams): Record<string, unknown> {
  const inPage = [...(readUrl(query.get('url') ?? '')?.searchParams ?? [])].filter(([name]) =>
    Object.hasOwn(PDF, name),
  );
  // An empty value is none, but for the address.
  const parameters = [...inPage, ...query].filter(([name, value]) => value !== '' || name === 'url');
  return Object.fromEntries(parameters);
}

function toDraft({ draft, width, height, density, pdf, renderKey, domain }: Wanted, language: string): Draft {
  const heightPx = clamp(height ?? Math.floor(VIEW_RATIO * width), { min: HEIGHT_PX, max: VIEWPORT_HEIGHT_PX.max });
  const view = { width: clamp(width, { min: WIDTH_PX, max: VIEWPORT_WIDTH_PX.max }), height: heightPx };
  if (renderKey !== '' && domain !== '') draft.cookies = [{ name: 'renderKey', value: renderKey, domain }];
  if (language !== '') draft.headers = { 'accept-language': language };
  if (height !== null || draft.format === 'pdf') draft.wait_for_function = panelsLoaded('view');
  if (draft.format === 'pdf') {
    // The renderer prints small what it would show large.
    draft.pdf = { ...pdf, scale: clamp(1 / density, PDF_SCALE) };
    return { ...draft, viewport: { ...view, deviceScaleFactor: 1 } };
  }
  if (height === null) {
    draft.full_page = true;
    draft.steps = [
      { action: 'wait_for', expression: panelsLoaded('view') },
      { action: 'evaluate', script: scrollThrough('.scrollbar-view') },
      { action: 'wait_for', expression: panelsLoaded('page') },
    ];
  }
  return { ...draft, viewport: { ...view, deviceScaleFactor: clamp(density, VIEW_DENSITY) } };
}

/** As the renderer, which has such limits, too. */
function clamp(value: number, { min, max }: { min: number; max: number }): number {
  return Math.min(max, Math.max(min, value));
}

/** An IANA name, or whole hours of POSIX, whose sign is turned around; undefined for the zone of the browser, as for `browser`. */
function timezoneOf(text: string): string | undefined {
  const [, sign, hours = ''] = /^UTC([+-])0?(\d{1,2})(?::?00)?$/.exec(text) ?? [];
  const name = sign === undefined ? text : `Etc/GMT${sign}${hours}`;
  return isTimezone(name) ? name : undefined;
}

async function refuseCsv(): Promise<never> {
  const message = 'This server renders png and pdf only. Export CSV from Grafana.';
  throw new CaptureError({ code: 'unsupported_option', status: 501, message });
}
