/** Bodies that mean the same, and bodies that differ in one field. */
import { FIELD_LIST } from '../../src/contract/field-list.js';

export type Body = Record<string, unknown>;

const SECRET = 'the same secret as before';

/** Field by field: what the base says, and what makes it another request. A function gets the base's value. */
export const CHANGES: Record<string, [base: unknown, changed: unknown]> = {
  url: ['https://example.com/a', 'https://example.com/b'],
  'viewport.width': [1_280, 1_281],
  'viewport.height': [720, 721],
  'viewport.deviceScaleFactor': [2, 1.5],
  'viewport.isMobile': [false, true],
  'viewport.hasTouch': [false, true],
  device: [undefined, 'pixel_8'],
  full_page: [false, true],
  full_page_algorithm: ['by_sections', 'native'],
  full_page_scroll_delay: [undefined, 100],
  full_page_scroll_by: [undefined, 600],
  reduce_motion: [true, false],
  format: ['webp', 'png'],
  quality: [90, 80],
  delay: [0, 1],
  timeout: [30_000, 29_999],
  wait_for_selector: [undefined, 'main'],
  wait_for_content: [false, true],
  wait_for_idle: [true, false],
  wait_until: ['load', 'networkidle'],
  fail_if_incomplete: [false, true],
  fail_if_content_missing: [[], ['welcome']],
  fail_if_content_contains: [[], ['error']],
  min_capture_height: [undefined, 10],
  min_capture_bytes: [undefined, 10],
  dark_mode: [false, true],
  color_scheme: [undefined, 'light'],
  locale: [undefined, 'de-DE'],
  timezone: [undefined, 'Europe/Berlin'],
  user_agent: [undefined, 'Another/1.0'],
  region: [undefined, 'de'],
  'proxy.server': ['http://127.0.0.2:3128', 'http://127.0.0.2:3129'],
  'proxy.bypass': [undefined, 'cdn.example.com'],
  'proxy.username': ['me', 'you'],
  'proxy.password': ['one password', 'another password'],
  verify_egress: [true, false],
  block_ads: [true, false],
  block_cookie_banners: [true, false],
  block_chats: [true, false],
  block_trackers: [true, false],
  selector: [undefined, 'article'],
  hide_selectors: [[], ['.ad']],
  remove_selectors: [[], ['.ad']],
  custom_css: [undefined, 'p{color:red}'],
  custom_js: [undefined, 'void 0'],
  'headers.X-Trace': ['1', '2'],
  'headers.Cookie': [undefined, 'a=b'],
  sync: [false, true],
  cache_ttl: [3_600, 0],
  store: [false, true],
  inspect_page: [false, true],
  'webhook.url': [undefined, undefined],
  'webhook.secret': [SECRET, `${SECRET}!`],
};

const TARGET = { url: 'https://example.com/a', sync: false };
const COOKIE = { name: 'a', value: 'b' };
const CLIP = { x: 0, y: 0, width: 100, height: 100 };
const LOGIN = { cookies: [{ ...COOKIE, domain: 'example.com' }], origins: [] };

/** Changed values for a field of an optional object, or for one that excludes others, with bodies of their own. */
const NESTED: Record<string, [base: Body, changes: Body]> = {
  cookies: [
    COOKIE,
    { name: 'c', value: 'd', domain: 'example.com', path: '/x', secure: true, http_only: true, same_site: 'Lax', expires: 2e9 },
  ],
  animate: [{}, { duration: 1_000, fps: 5, scroll: true, format: 'gif', scale: 'device' }],
  palette: [{ colors: 2 }, { colors: ['#000000', '#ffffff'], dither: 'none' }],
  clip: [CLIP, { x: 1, y: 1, width: 101, height: 101 }],
  resize: [
    { width: 100, height: 100 },
    { width: 99, height: 99, fit: 'cover' },
  ],
  http_credentials: [
    { username: 'a', password: 'b' },
    { username: 'c', password: 'd' },
  ],
  geolocation: [
    { latitude: 1, longitude: 2 },
    { latitude: 3, longitude: 4, accuracy: 5 },
  ],
  storage_state: [LOGIN, { cookies: [], origins: [{ origin: 'https://example.com', localStorage: [{ name: 'a', value: 'b' }] }] }],
  pdf: [
    {},
    {
      paper: 'a4',
      landscape: true,
      margin: { top: '10mm' },
      scale: 0.5,
      print_background: false,
      page_ranges: '1',
      header_template: '<i></i>',
      footer_template: '<i></i>',
      first_page_header: false,
      fit_width: false,
      prefer_css_page_size: true,
      media: 'screen',
      outline: true,
      tagged: true,
      single_page: true,
    },
  ],
};

const NEEDED_FORMATS: Record<string, string> = { pdf: 'pdf', palette: 'png' };

const CLICK = { action: 'click', selector: '#a' };
const TYPED = { action: 'type', selector: '#a' };

/** By member: two steps that differ in it. */
const STEPS: [member: string, one: Body, another: Body][] = [
  ['action', CLICK, { ...CLICK, action: 'hover' }],
  ['selector', CLICK, { ...CLICK, selector: '#b' }],
  ['hidden', { action: 'wait_for', hidden: '#a' }, { action: 'wait_for', hidden: '#b' }],
  ['text', { ...TYPED, text: 'a' }, { ...TYPED, text: 'b' }],
  ['secret', { ...TYPED, secret: 'a' }, { ...TYPED, secret: 'b' }],
  ['key', { action: 'press', key: 'a' }, { action: 'press', key: 'b' }],
  ['value', { action: 'select', selector: '#a', value: 'a' }, { action: 'select', selector: '#a', value: 'b' }],
  ['uncheck', { action: 'check', selector: '#a' }, { action: 'check', selector: '#a', uncheck: true }],
  ['url', { action: 'go_to', url: 'https://example.com/a' }, { action: 'go_to', url: 'https://example.com/b' }],
  ['expression', { action: 'wait_for', expression: 'a' }, { action: 'wait_for', expression: 'b' }],
  ['script', { action: 'evaluate', script: 'a' }, { action: 'evaluate', script: 'b' }],
  ['ms', { action: 'wait_for', ms: 1 }, { action: 'wait_for', ms: 2 }],
  ['optional', CLICK, { ...CLICK, optional: true }],
];

/** A pair for each of these members of an entry of a list. */
function inList(list: string, members: Body, entry: Body = {}): Record<string, [Body, Body]> {
  const pairs = Object.entries(members).map(([name, value]): [string, [Body, Body]] => [
    `${list}.${name}`,
    [
      { ...TARGET, [list]: [entry] },
      { ...TARGET, [list]: [{ ...entry, [name]: value }] },
    ],
  ]);
  return Object.fromEntries(pairs);
}

const SWITCHES = FIELD_LIST.filter(({ name, type }) => type === 'boolean' && !(name in CHANGES));

/** By field: two bodies that differ in it alone. A boolean has a row only if it needs another field. */
export const PAIRS: Record<string, [Body, Body]> = {
  ...Object.fromEntries(SWITCHES.map(({ name, defaultValue }) => [name, [TARGET, { ...TARGET, [name]: defaultValue !== true }]])),
  html: [
    { html: '<p>1', sync: false },
    { html: '<p>2', sync: false },
  ],
  base_url: [
    { html: '<p>', base_url: 'https://example.com/', sync: false },
    { html: '<p>', base_url: 'https://example.org/', sync: false },
  ],
  ...inList('captures', { name: 'one', selector: 'a', selector_all: 'p', clip: CLIP, full_page: true, format: 'pdf', quality: 40 }),
  ...inList('captures', { resize: { width: 10 }, omit_background: true, rotate: 90 }),
  ...inList('captures', { palette: { colors: 2 } }, { format: 'png' }),
  ...inList('captures', { limit: 2, padding: 8 }, { selector_all: 'p' }),
  ...inList('captures', { full_width: true, max_height: 100 }, { full_page: true }),
  ...inList('viewports', { name: 'one', device: 'pixel_8', width: 400, height: 300, deviceScaleFactor: 1, isMobile: true, hasTouch: true }),
  color_schemes: [{ ...TARGET }, { ...TARGET, color_schemes: ['light'] }],
  padding: [
    { ...TARGET, selector: 'p' },
    { ...TARGET, selector: 'p', padding: 8 },
  ],
  full_width: [
    { ...TARGET, full_page: true },
    { ...TARGET, full_page: true, full_width: true },
  ],
  max_height: [
    { ...TARGET, full_page: true },
    { ...TARGET, full_page: true, max_height: 4_000 },
  ],
  mask: [TARGET, { ...TARGET, mask: ['.name'] }],
  mask_color: [
    { ...TARGET, mask: ['.name'] },
    { ...TARGET, mask: ['.name'], mask_color: 'black' },
  ],
  rotate: [TARGET, { ...TARGET, rotate: 90 }],
  'upload.url': [
    { ...TARGET, upload: { url: 'https://bucket.example.com/a?signature=1' } },
    { ...TARGET, upload: { url: 'https://bucket.example.com/a?signature=2' } },
  ],
  annotate: [
    { ...TARGET, inspect_page: true },
    { ...TARGET, inspect_page: true, annotate: true },
  ],
  tolerate: [TARGET, { ...TARGET, tolerate: ['target_error'] }],
  ...Object.fromEntries(STEPS.map(([name, one, another]) => [`steps.${name}`, [withSteps(one), withSteps(another)]])),
  wait_for_function: [TARGET, { ...TARGET, wait_for_function: 'window.ready' }],
  block_requests: [TARGET, { ...TARGET, block_requests: ['*.mp4'] }],
  block_resources: [TARGET, { ...TARGET, block_resources: ['font'] }],
  referer: [TARGET, { ...TARGET, referer: 'https://example.org/' }],
  ...Object.fromEntries(
    Object.entries(NESTED).flatMap(([outer, [base, changes]]) =>
      Object.entries(changes).map(([inner, changed]): [string, [Body, Body]] => [
        `${outer}.${inner}`,
        [withNested(outer, base), withNested(outer, { ...base, [inner]: changed })],
      ]),
    ),
  ),
};

function withSteps(...steps: Body[]): Body {
  return { ...TARGET, steps };
}

function withNested(outer: string, value: Body): Body {
  const format = NEEDED_FORMATS[outer];
  return { ...TARGET, ...(format === undefined ? {} : { format }), [outer]: outer === 'cookies' ? [value] : value };
}

/** Every field as `CHANGES` has it, the webhook's address aside; `undefined` means left out. */
export function baseBody(webhookUrl: string): Body {
  const body: Body = {};
  for (const [path, [base]] of Object.entries(CHANGES)) put(body, path, base);
  put(body, 'webhook.url', webhookUrl);
  return body;
}

/** The base with one field changed. */
export function differing(base: Body, path: string, webhookUrl: string): Body {
  const body = structuredClone(base);
  put(body, path, path === 'webhook.url' ? `${webhookUrl}/other` : CHANGES[path]?.[1]);
  return body;
}

const DEFAULTS = new Set(
  Object.keys(CHANGES).filter((path) => !/^(url|proxy|headers|webhook|sync)/.test(path) && CHANGES[path]?.[0] !== undefined),
);
const SPELLINGS = [
  'https://example.com/a',
  'HTTPS://EXAMPLE.COM/a',
  'example.com/a',
  'https://example.com:443/x/../a',
  ' https://example.com/./a ',
];

/** The same request, said otherwise: defaults left out, keys in another order, the address and header names spelled otherwise. */
export function rephrased(base: Body, random: () => number): Body {
  const body = structuredClone(base);
  for (const path of DEFAULTS) if (random() < 0.5) put(body, path, undefined);
  body.url = SPELLINGS[Math.floor(random() * SPELLINGS.length)];
  const headers = body.headers as Body;
  if (random() < 0.5) body.headers = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  return shuffled(body, random);
}

function shuffled(body: Body, random: () => number): Body {
  const entries = Object.entries(body).map(([key, value]) => [random(), key, isPlain(value) ? shuffled(value, random) : value] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => a - b).map(([, key, value]) => [key, value]));
}

function isPlain(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function put(body: Body, path: string, value: unknown): void {
  const [outer = '', inner] = path.split('.');
  if (inner !== undefined) body[outer] ??= {};
  set(inner === undefined ? body : (body[outer] as Body), inner ?? outer, value);
}

function set(body: Body, key: string, value: unknown): void {
  if (value === undefined) delete body[key];
  else body[key] = value;
}
