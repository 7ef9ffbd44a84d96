/** The fields of browserless's REST interface (version 2), whose objects are those of Puppeteer. */
import { z } from 'zod';
import { BLOCK_PATTERN_MAX_CHARS, DELAY_MS, TIMEOUT_MS } from '../../contract/limits.js';
import { readUrl } from '../../contract/read-url.js';
import { RESOURCE_TYPES } from '../../contract/request-fields.js';
import { type DoorField, type Draft, field, newDraft, object, readFields, refused } from './door.js';
import { addCookies, bool, type DoorCookie, num } from './fields.js';
import {
  addTags,
  EVENT_SEEN,
  LOADED,
  listenFor,
  scrollThrough,
  type Tag,
  THROW_IF_LATE,
  untilAll,
  untilFunction,
  untilSelector,
  WAIT_MS,
  type Wait,
} from './page-scripts.js';

export type Endpoint = 'screenshot' | 'pdf' | 'content';

/** What is read from a request, of which several fields together give one of a capture request. */
interface Wanted {
  draft: Draft;
  viewport: Record<string, unknown>;
  html: string | null;
  cookies: DoorCookie[];
  tags: Tag[];
  waits: Partial<Record<'function' | 'selector' | 'event', Wait>>;
  event: string | null;
  waitUntil: 'load' | 'domcontentloaded' | 'networkidle';
  gotoTimeout: number | null;
  bestAttempt: boolean;
  scrolls: boolean;
  /** The limit for everything, in ms. */
  timeout: number;
  base64: boolean;
  pdf: Record<string, unknown>;
  paperWidth: number | string;
  paperHeight: number | string;
  hasTemplates: boolean;
  header: string;
  footer: string;
}

/** A request, as a capture. `html` is that of the request if it has any. */
export interface Asked {
  draft: Draft;
  html: string | null;
  base64: boolean;
}

/** Chromium's own templates show these, too. */
const HEADER =
  '<div style="display:flex;width:100%;padding:0 24px;font-size:8px"><span class="date"></span><span class="title" style="flex:1;text-align:center"></span></div>';
const FOOTER =
  '<div style="display:flex;width:100%;padding:0 24px;font-size:8px"><span class="url" style="flex:1"></span><span><span class="pageNumber"></span>/<span class="totalPages"></span></span></div>';
/** Puppeteer's, for jpeg and webp. */
const QUALITY = 80;
const text = z.string();
const ms = num.refine((value) => value >= 0, 'must be 0 or more');
const length = z.union([z.number(), z.string()], { error: 'must be a length, such as 10mm' });

/** Values that say what is so anyway. */
function only<Value>(value: Value, instead: string): DoorField<unknown> {
  return { read: (given) => (given === value || given === String(value) ? null : `can only be ${String(value)} here: ${instead}`) };
}

/** A list that can only be empty. */
function none(instead: string): DoorField<unknown> {
  return { read: (given) => (Array.isArray(given) && given.length === 0 ? null : `is not supported here: ${instead}`) };
}

/** Sets a field of the capture request. */
function set<Value>(schema: z.ZodType<Value>, name: string): DoorField<Wanted> {
  return note(schema, ({ draft }, value) => {
    draft[name] = value;
  });
}

/** Sets a member of an object among what is read. */
function member<Value>(schema: z.ZodType<Value>, of: 'viewport' | 'pdf', name: string): DoorField<Wanted> {
  return note(schema, (wanted, value) => {
    wanted[of][name] = value;
  });
}

function note<Value>(schema: z.ZodType<Value>, write: (wanted: Wanted, value: Value) => void): DoorField<Wanted> {
  return field<Wanted, Value>(schema, (value, wanted) => {
    write(wanted, value);
    return undefined;
  });
}

/** Keeps a value for what is made of several fields. */
function keep<Name extends keyof Wanted>(schema: z.ZodType<Wanted[Name]>, name: Name): DoorField<Wanted> {
  return note(schema, (wanted, value) => {
    wanted[name] = value;
  });
}

const VIEWPORT: Record<string, DoorField<Wanted>> = {
  width: member(num, 'viewport', 'width'),
  height: member(num, 'viewport', 'height'),
  deviceScaleFactor: member(num, 'viewport', 'deviceScaleFactor'),
  isMobile: member(bool, 'viewport', 'isMobile'),
  hasTouch: member(bool, 'viewport', 'hasTouch'),
  isLandscape: only(false, 'give the width and height of the turned screen'),
};

const EVENTS = ['load', 'domcontentloaded', 'networkidle0', 'networkidle2'] as const;
const event = z.enum(EVENTS);

const GOTO: Record<string, DoorField<Wanted>> = {
  timeout: keep(ms, 'gotoTimeout'),
  waitUntil: note(z.union([event.transform((one) => [one]), z.array(event)]), (wanted, events) => {
    // Every capture waits for the network for a while, as networkidle2 does.
    if (events.includes('networkidle0')) wanted.waitUntil = 'networkidle';
    else if (events.includes('load') || events.includes('networkidle2')) wanted.waitUntil = 'load';
    else if (events.length > 0) wanted.waitUntil = 'domcontentloaded';
  }),
  referer: field(text, (value, { draft, html }) => {
    if (html !== null) return 'needs `url`';
    if (value !== '') draft.referer = value;
    return undefined;
  }),
  referrerPolicy: refused('the whole `referer` is sent'),
};

const tagShape = { url: text.optional(), content: text.optional(), id: text.optional() };
const noPath = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, { error: 'must have `url` or `content`, and no `path`' });
const hasSource = ({ url, content }: { url?: string | undefined; content?: string | undefined }) =>
  (url === undefined) !== (content === undefined);
const styleTag = noPath(tagShape).refine(hasSource, 'must have either `url` or `content`');
const scriptTag = noPath({ ...tagShape, type: text.optional() }).refine(hasSource, 'must have either `url` or `content`');

const cookie = z
  .strictObject(
    {
      name: text,
      value: text,
      url: text.optional(),
      domain: text.optional(),
      path: text.optional(),
      secure: bool.optional(),
      httpOnly: bool.optional(),
      sameSite: z.enum(['Strict', 'Lax', 'None', 'Default']).optional(),
      expires: num.optional(),
    },
    {
      error: ({ code }) =>
        code === 'unrecognized_keys'
          ? 'can only have name, value, url, domain, path, secure, httpOnly, sameSite and expires here'
          : undefined,
    },
  )
  .transform(({ url, domain, sameSite, ...others }): DoorCookie => {
    const host = domain ?? (url === undefined ? undefined : readUrl(url)?.hostname);
    return { ...others, domain: host, ...(sameSite === 'Default' ? {} : { sameSite }) };
  });

const waitOptions = { timeout: ms.optional() };

const USER_AGENT_RULE = 'must be a string: the client hints follow from it';

const COMMON: Record<string, DoorField<Wanted>> = {
  url: set(text.min(1), 'url'),
  html: keep(text.min(1), 'html'),
  gotoOptions: object(GOTO),
  viewport: object(VIEWPORT),
  cookies: keep(z.array(cookie), 'cookies'),
  authenticate: field(z.strictObject({ username: text, password: text }), (value, { draft, html }) => {
    if (html !== null) return 'needs `url`, whose origin gets the name and password';
    draft.http_credentials = value;
    return undefined;
  }),
  setExtraHTTPHeaders: field(z.record(text, text), (value, { draft, html }) => {
    if (html !== null && Object.keys(value).length > 0) return 'needs `url`, whose origin gets the headers';
    if (html === null) draft.headers = value;
    return undefined;
  }),
  userAgent: set(
    z.union([text, z.strictObject({ userAgent: text }, USER_AGENT_RULE).transform(({ userAgent }) => userAgent)], USER_AGENT_RULE),
    'user_agent',
  ),
  setJavaScriptEnabled: only(true, 'block scripts with `rejectResourceTypes: ["script"]`, which leaves those within the page'),
  rejectResourceTypes: field(z.array(text), (types, { draft }) => {
    const other = types.find((type) => !RESOURCE_TYPES.some((known) => known === type && known !== 'frame'));
    if (other === 'document') return 'cannot have document, which is the page itself';
    if (other !== undefined)
      return `cannot have this type here, but ${RESOURCE_TYPES.filter((type) => type !== 'frame').join(', ')}; other blocks pings and prefetches, too`;
    draft.block_resources = types;
    return undefined;
  }),
  rejectRequestPattern: field(z.array(text.max(BLOCK_PATTERN_MAX_CHARS)), (patterns, { draft }) => {
    const globs = patterns.map(globOf);
    if (globs.includes(null)) return PATTERN_RULE;
    draft.block_requests = globs;
    return undefined;
  }),
  requestInterceptors: none('block requests with `rejectRequestPattern`, or capture `html` that has what the page needs'),
  addStyleTag: note(z.array(styleTag), (wanted, tags) => {
    wanted.tags.push(...tags.map((tag): Tag => ({ ...tag, element: tag.url === undefined ? 'style' : 'link' })));
  }),
  addScriptTag: note(z.array(scriptTag), (wanted, tags) => {
    wanted.tags.push(...tags.map((tag): Tag => ({ ...tag, element: 'script' })));
  }),
  waitForTimeout: field(ms, (value, { draft }) => {
    if (value > DELAY_MS.max) return `must be at most ${DELAY_MS.max}: wait for something with \`waitForFunction\``;
    draft.delay = Math.round(value);
    return undefined;
  }),
  waitForFunction: note(
    z.strictObject({ fn: text.min(1), polling: z.union([text, z.number()]).optional(), ...waitOptions }),
    ({ waits }, { fn, timeout }) => {
      waits.function = { test: untilFunction(fn), timeout: timeout ?? null };
    },
  ),
  waitForSelector: note(
    z.strictObject({ selector: text.min(1), hidden: bool.default(false), visible: bool.default(false), ...waitOptions }),
    ({ waits }, { timeout, ...what }) => {
      waits.selector = { test: untilSelector(what), timeout: timeout ?? null };
    },
  ),
  waitForEvent: note(z.strictObject({ event: text.min(1), ...waitOptions }), (wanted, { event: name, timeout }) => {
    // browserless takes 0 for the default, here alone.
    wanted.event = name;
    wanted.waits.event = { test: EVENT_SEEN, timeout: timeout === undefined || timeout === 0 ? null : timeout };
  }),
  scrollPage: keep(bool, 'scrolls'),
  bestAttempt: keep(bool, 'bestAttempt'),
  // Fields of its cloud, which n8n sends.
  blockAds: field(bool, (value, { draft }) => blockAds(value, draft)),
  blockConsentModals: set(bool, 'block_cookie_banners'),
};

const CLIP: Record<string, DoorField<Wanted>> = Object.fromEntries(
  ['x', 'y', 'width', 'height'].map((name) => [
    name,
    note(num, ({ draft }, value) => {
      draft.clip = { ...(draft.clip as object), [name]: value };
    }),
  ]),
);

const SCREENSHOT: Record<string, DoorField<Wanted>> = {
  type: set(z.enum(['png', 'jpeg', 'webp']), 'format'),
  quality: set(num, 'quality'),
  fullPage: set(bool, 'full_page'),
  clip: object({ ...CLIP, scale: only(1, 'set `viewport.deviceScaleFactor`') }),
  omitBackground: set(bool, 'omit_background'),
  encoding: keep(
    z.enum(['binary', 'base64']).transform((encoding) => encoding === 'base64'),
    'base64',
  ),
  // A part of the page is captured wherever it is, and the pixels are the same.
  captureBeyondViewport: field(bool, (value, { draft }) =>
    !value && draft.clip !== undefined ? 'can only be true here with `clip`' : undefined,
  ),
  optimizeForSpeed: note(bool, () => undefined),
  fromSurface: only(true, 'the page is captured as it is shown'),
  path: refused('the picture is the answer'),
};

const PDF: Record<string, DoorField<Wanted>> = {
  format: member(text, 'pdf', 'paper'),
  width: keep(length, 'paperWidth'),
  height: keep(length, 'paperHeight'),
  margin: member(z.strictObject({ top: length, right: length, bottom: length, left: length }).partial(), 'pdf', 'margin'),
  landscape: member(bool, 'pdf', 'landscape'),
  scale: member(num, 'pdf', 'scale'),
  printBackground: member(bool, 'pdf', 'print_background'),
  displayHeaderFooter: keep(bool, 'hasTemplates'),
  headerTemplate: keep(text, 'header'),
  footerTemplate: keep(text, 'footer'),
  pageRanges: note(text, ({ pdf }, value) => {
    if (value !== '') pdf.page_ranges = value;
  }),
  preferCSSPageSize: member(bool, 'pdf', 'prefer_css_page_size'),
  outline: member(bool, 'pdf', 'outline'),
  tagged: member(bool, 'pdf', 'tagged'),
  // Printing has a limit of its own, fonts are always waited for, and a PDF has no background of its own.
  timeout: note(ms, () => undefined),
  waitForFonts: note(bool, () => undefined),
  omitBackground: note(bool, () => undefined),
  path: refused('the PDF is the answer'),
  fullPage: set(bool, 'full_page'),
};

/** These go with a PDF of one page as it is on the screen, in place of paper. */
const WITH_FULL_PAGE = new Set(['fullPage', 'printBackground', 'tagged', 'timeout', 'waitForFonts', 'omitBackground']);

const PDF_OPTIONS: DoorField<Wanted> = {
  read: (value, wanted) => {
    const problem = object(PDF).read(value, wanted);
    const other = wanted.draft.full_page === true ? Object.keys(value as object).find((name) => !WITH_FULL_PAGE.has(name)) : undefined;
    if (other === undefined) return problem;
    return [{ path: 'fullPage', message: `cannot be combined with \`${other}\`: the page is printed as one, as wide as the viewport` }];
  },
};

const media = z.enum(['screen', 'print', '']);
const ONLY_SCREEN = {
  emulateMediaType: field<Wanted, string>(media, (value) => (value === 'print' ? 'can only be print for /pdf' : undefined)),
};
const ANY_MEDIA = {
  emulateMediaType: note(media, ({ pdf }, value) => {
    if (value !== '') pdf.media = value;
  }),
};

const TABLES: Record<Endpoint, Record<string, DoorField<Wanted>>> = {
  screenshot: { ...COMMON, ...ONLY_SCREEN, options: object(SCREENSHOT), selector: set(text.min(1), 'selector') },
  pdf: { ...COMMON, ...ANY_MEDIA, options: PDF_OPTIONS },
  content: { ...COMMON, ...ONLY_SCREEN },
};

/** Flags of the process, which this server sets by itself. */
const OWN_FLAG =
  /^--(no-sandbox|disable-setuid-sandbox|disable-dev-shm-usage|disable-gpu|no-first-run|no-zygote|headless(=(new|shell|true))?)$/;

const FLAGS = z.array(text).transform((flags, context) => {
  const asked: Record<string, unknown> = {};
  for (const flag of flags.filter((one) => !OWN_FLAG.test(one))) {
    const [, name = '', value = ''] = /^--([^=]*)=?(.*)$/s.exec(flag) ?? [];
    if (name === 'proxy-server') asked.proxy = { server: value };
    else if (name === 'lang') asked.locale = value;
    else if (name === 'ignore-certificate-errors') asked.ignore_https_errors = true;
    else context.addIssue({ code: 'custom', message: 'can only have --proxy-server, --lang and --ignore-certificate-errors here' });
  }
  return asked;
});

const insecure = field<Wanted, boolean>(bool, (value, { draft }) => {
  if (value) draft.ignore_https_errors = true;
  return undefined;
});

/** These may stand in the query by themselves, as in version 1. */
const OF_LAUNCH: Record<string, DoorField<Wanted>> = {
  args: field(FLAGS, (asked, { draft }) => {
    Object.assign(draft, asked);
    return undefined;
  }),
  headless: {
    read: (given) => ([true, 'true', 'new', 'shell', ''].includes(given as string) ? null : 'must be true here'),
  },
  stealth: only(false, 'no browser is disguised here'),
  ignoreHTTPSErrors: insecure,
  acceptInsecureCerts: insecure,
  slowMo: only(0, 'wait with `waitForTimeout`'),
  ignoreDefaultArgs: only(false, 'the browser is started before the request'),
};

const LAUNCH_FIELD = object<Wanted>({
  ...OF_LAUNCH,
  defaultViewport: object(VIEWPORT),
  devtools: only(false, 'nobody watches the browser'),
  dumpio: only(false, 'the log of the server has what it needs'),
  userDataDir: refused('give the login as `cookies`'),
  timeout: refused('the browser is started before the request'),
  waitForInitialPage: note(bool, () => undefined),
});

const QUERY: Record<string, DoorField<Wanted>> = {
  token: note(text, () => undefined),
  timeout: keep(
    ms.transform((value) => value || TIMEOUT_MS.max),
    'timeout',
  ),
  blockAds: field(bool, (value, { draft }) => blockAds(value, draft)),
  launch: {
    read: (value, wanted) => {
      const options = readLaunch(String(value));
      return options === null ? 'must be a JSON object, or one in base64' : LAUNCH_FIELD.read(options, wanted);
    },
  },
  ...OF_LAUNCH,
  blockAdsInclude: refused('`blockAds` uses the lists of this server'),
  trackingId: refused('send the header X-Request-Id, which is in the log'),
  profile: refused('give the login as `cookies`'),
};

function blockAds(value: boolean, draft: Draft): undefined {
  draft.block_ads = value;
  draft.block_trackers = value;
}

function readLaunch(given: string): unknown {
  for (const json of [given, Buffer.from(given, 'base64').toString()]) {
    try {
      return JSON.parse(json);
    } catch {}
  }
  return null;
}

/** The query's fields; flags of Chromium, such as `--lang=de`, are together those of `args`. */
function queryOf(query: URLSearchParams): Record<string, unknown> {
  const pairs = [...query].map(([name, value]): [string, string] => [name, value === '' && name !== 'token' ? 'true' : value]);
  const flags = pairs.filter(([name]) => name.startsWith('--')).map(([name, value]) => `${name}=${value}`);
  const fields = Object.fromEntries(pairs.filter(([name]) => !name.startsWith('--')));
  return flags.length === 0 ? fields : { ...fields, args: flags };
}

const PATTERN_RULE =
  'can only have plain text, with `.*` for any text and `\\` before special characters: regular expressions are not run here';

/**
 * The `block_requests` pattern for a regular expression that is plain text but for `.*`; null for any other. A dot that stands for any one
 * character is taken for a dot, and a leading asterisk, which is no regular expression, for any text.
 */
function globOf(pattern: string): string | null {
  const inner = pattern.replace(/^(?:\^?\.\*|\*)/, '').replace(/\.\*\$?$/, '');
  if (!/^(?:[^\\^$*+?()[\]{}|]|\.\*|\\[^a-zA-Z0-9*])+$/.test(inner)) return null;
  return inner.replaceAll(/\.\*|\\(.)/g, (found, escaped: string | undefined) => escaped ?? (found === '.*' ? '*' : found));
}

/**
 * Reads a request of browserless's interface.
 * @throws CaptureError `invalid_request` that names the fields which are unknown, not valid or not honoured
 */
export function readAsked(endpoint: Endpoint, query: URLSearchParams, body: Record<string, unknown>): Asked {
  const wanted: Wanted = {
    draft: { ...newDraft(), reduce_motion: false },
    viewport: { width: 800, height: 600, deviceScaleFactor: 1 },
    html: null,
    cookies: [],
    tags: [],
    waits: {},
    event: null,
    waitUntil: 'load',
    gotoTimeout: null,
    bestAttempt: false,
    scrolls: false,
    timeout: WAIT_MS,
    base64: false,
    pdf: { tagged: true, print_background: false, fit_width: false },
    paperWidth: '8.5in',
    paperHeight: '11in',
    hasTemplates: false,
    header: '',
    footer: '',
  };
  readFields(queryOf(query), QUERY, wanted);
  readFields(body, TABLES[endpoint], wanted);
  return toAsked(endpoint, wanted);
}

function toAsked(endpoint: Endpoint, wanted: Wanted): Asked {
  const { draft, html, base64 } = wanted;
  draft.viewport = wanted.viewport;
  addCookies(draft, wanted.cookies);
  // An error page, a bot wall and a blank page are captured. What is tolerated for an element or a part of the page is its absence.
  const isPart = draft.selector !== undefined || draft.clip !== undefined;
  draft.tolerate = ['target_error', 'blocked_by_target', ...(isPart ? [] : ['render_incomplete'])];
  if (endpoint === 'pdf') writePdf(draft, wanted);
  else draft.format ??= 'png';
  draft.quality ??= QUALITY;
  writeWaits(draft, wanted);
  return { draft, html, base64 };
}

function writePdf(draft: Draft, { pdf, paperWidth, paperHeight, hasTemplates, header, footer }: Wanted): void {
  draft.format = 'pdf';
  if (draft.full_page === true) {
    draft.full_page_algorithm = 'native';
    return;
  }
  pdf.paper ??= { width: paperWidth, height: paperHeight };
  // An empty template is the browser's.
  if (hasTemplates) Object.assign(pdf, { header_template: header || HEADER, footer_template: footer || FOOTER });
  draft.pdf = pdf;
}

function writeWaits(draft: Draft, wanted: Wanted): void {
  const { waits, event: awaited, bestAttempt, tags, waitUntil, gotoTimeout, scrolls } = wanted;
  // A document of the request's own loads no network, so that browserless does not wait for it either.
  const until = wanted.html !== null && waitUntil === 'networkidle' ? 'load' : waitUntil;
  draft.wait_until = bestAttempt ? 'domcontentloaded' : until;
  // The waits may begin later than the event comes.
  const scripts = [...(awaited === null ? [] : [listenFor(awaited)]), ...(tags.length === 0 ? [] : [addTags(tags)])];
  if (scripts.length > 0) draft.custom_js = scripts.join('\n');
  const loaded = bestAttempt && until !== 'domcontentloaded' ? [{ test: LOADED, timeout: gotoTimeout }] : [];
  const all: Wait[] = [...loaded, ...[waits.function, waits.selector, waits.event].filter((wait) => wait !== undefined)];
  draft.timeout = timeoutOf(wanted, all);
  const expression = all.length === 0 ? null : untilAll(all, { goesOn: bestAttempt });
  const mayBeLate = !bestAttempt && all.some(({ timeout }) => (timeout ?? 0) > 0);
  if (!scrolls && !mayBeLate) {
    if (expression !== null) draft.wait_for_function = expression;
    return;
  }
  draft.steps = [
    ...(expression === null ? [] : [{ action: 'wait_for', expression }]),
    ...(mayBeLate ? [{ action: 'evaluate', script: THROW_IF_LATE }] : []),
    ...(scrolls ? [{ action: 'evaluate', script: scrollThrough(null) }] : []),
  ];
}

/** The limit of the request, or how long the navigation and the waits may take together; 0 is no limit. */
function timeoutOf({ timeout, gotoTimeout, bestAttempt }: Wanted, waits: readonly Wait[]): number {
  const parts = [gotoTimeout, ...waits.map((wait) => wait.timeout)];
  const isEndless = bestAttempt || parts.includes(0);
  const together = isEndless ? timeout : parts.reduce<number>((sum, part) => sum + (part ?? WAIT_MS), 0);
  return Math.round(Math.min(TIMEOUT_MS.max, Math.max(TIMEOUT_MS.min, Math.min(timeout, together))));
}
