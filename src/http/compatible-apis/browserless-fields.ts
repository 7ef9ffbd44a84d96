/** The fields of browserless's REST interface (version 2), whose objects are those of Puppeteer. */
import { z } from 'zod';
import { BLOCK_PATTERN_MAX_CHARS, DELAY_MS, TIMEOUT_MS } from '../../contract/limits.js';
import { cookieDomainProblem } from '../../contract/login-schema.js';
import { readUrl } from '../../contract/read-url.js';
import { RESOURCE_TYPES } from '../../contract/request-fields.js';
import { readRequestJson } from '../../contract/request-json.js';
import {
  bool,
  type CompatibleField,
  type Draft,
  field,
  keep,
  newDraft,
  num,
  object,
  put,
  readFields,
  refused,
  viewFields,
} from './compatible-api.js';
import * as scripts from './page-scripts.js';

export type Endpoint = 'screenshot' | 'pdf' | 'content';

type Wanted = ReturnType<typeof newWanted>;

/** Chromium's own templates show these, too. */
const HEADER =
  '<div style="display:flex;width:100%;padding:0 24px;font-size:8px"><span class="date"></span><span class="title" style="flex:1;text-align:center"></span></div>';
const FOOTER =
  '<div style="display:flex;width:100%;padding:0 24px;font-size:8px"><span class="url" style="flex:1"></span><span><span class="pageNumber"></span>/<span class="totalPages"></span></span></div>';
/** Puppeteer's, for jpeg and webp. */
const QUALITY = 80;
const text = z.string();
const ms = num.refine((value) => value >= 0, 'must be 0 or more');
const orAbsent = <Value>(schema: z.ZodType<Value>) => schema.transform((value) => value || undefined);
const length = z.union([z.number(), z.string()], { error: 'must be a length, such as 10mm' });

/** Accepts only the values that are already our behavior. */
function only<Value>(value: Value, instead: string): CompatibleField<unknown> {
  return {
    read: (received) =>
      received === value || received === String(value) ? null : `can only be ${String(value)} here: ${instead}`,
  };
}

const VIEWPORT: Record<string, CompatibleField<Wanted>> = {
  ...viewFields(num, 'viewport'),
  ...Object.fromEntries(['isMobile', 'hasTouch'].map((name) => [name, put(bool, 'viewport', name)])),
  isLandscape: only(false, 'give the width and height of the turned screen'),
};

const event = z.enum(['load', 'domcontentloaded', 'networkidle0', 'networkidle2']);

const GOTO: Record<string, CompatibleField<Wanted>> = {
  timeout: keep(ms, 'gotoTimeout'),
  waitUntil: field(z.union([event.transform((one) => [one]), z.array(event)]), (events, wanted) => {
    if (events.length === 0) return;
    const idle = events.findLast((one) => one.startsWith('networkidle'));
    if (!events.includes('load'))
      wanted.waitUntil = (events.includes('networkidle0') ? 'networkidle0' : idle) ?? 'domcontentloaded';
    // Every capture waits for the network for a while, as networkidle2 does.
    else wanted.waitUntil = events.includes('networkidle0') ? 'networkidle' : 'load';
  }),
  referer: field(text, (value, { draft, html }) => {
    if (html !== null) return 'needs `url`';
    if (value !== '') draft.referer = value;
  }),
  referrerPolicy: refused('the whole `referer` is sent'),
};

const tagShape = { url: text.optional(), content: text.optional(), id: text.optional() };
const noPath = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, { error: 'must have `url` or `content`, and no `path`' });
const hasSource = ({ url, content }: { url?: string | undefined; content?: string | undefined }) =>
  (url === undefined) !== (content === undefined);
const styleTag = noPath(tagShape).refine(hasSource, 'must have either `url` or `content`');
const scriptTag = noPath({ ...tagShape, type: text.optional() }).refine(
  hasSource,
  'must have either `url` or `content`',
);

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
    'can only have name, value, url, domain, path, secure, httpOnly, sameSite and expires here',
  )
  .transform(({ url, domain = readUrl(url ?? '')?.hostname, sameSite, ...others }) => {
    return { ...others, domain, sameSite: sameSite === 'Default' ? undefined : sameSite };
  });
type Cookie = z.output<typeof cookie>;

const waitOptions = { timeout: ms.optional() };
const BLOCK_ADS = field<Wanted, boolean>(bool, (value, { draft }) =>
  Object.assign(draft, { block_ads: value, block_trackers: value }),
);
const IGNORED: CompatibleField<Wanted> = { read: () => null };
const NO_INTERCEPTORS =
  'is not supported here: block requests with `rejectRequestPattern`, or capture `html` that has what the page needs';
const USER_AGENT_RULE = 'must be a string: the client hints follow from it';
const userAgentObject = z.strictObject({ userAgent: text }, USER_AGENT_RULE).transform(({ userAgent }) => userAgent);
const userAgent = z.union([text, userAgentObject], USER_AGENT_RULE);

const COMMON: Record<string, CompatibleField<Wanted>> = {
  url: put(text.min(1), 'draft', 'url'),
  html: keep(text.min(1), 'html'),
  gotoOptions: object(GOTO),
  viewport: object(VIEWPORT),
  cookies: keep(z.array(cookie), 'cookies'),
  authenticate: field(z.strictObject({ username: text, password: text }), (value, { draft, html }) => {
    if (html !== null) return 'needs `url`, whose origin gets the name and password';
    draft.http_credentials = value;
  }),
  setExtraHTTPHeaders: field(z.record(text, text), (value, { draft, html }) => {
    if (html !== null && Object.keys(value).length > 0) return 'needs `url`, whose origin gets the headers';
    if (html === null) draft.headers = value;
  }),
  userAgent: put(userAgent, 'draft', 'user_agent'),
  setJavaScriptEnabled: only(
    true,
    'block scripts with `rejectResourceTypes: ["script"]`, which leaves those within the page',
  ),
  rejectResourceTypes: field(z.array(text), (types, { draft }) => {
    const known: readonly string[] = RESOURCE_TYPES.filter((type) => type !== 'frame');
    if (types.includes('document')) return 'cannot have document, which is the page itself';
    const isKnown = types.every((type) => known.includes(type));
    if (!isKnown) return `cannot have this type here, but ${known.join(', ')}; other blocks pings and prefetches, too`;
    draft.block_resources = types;
  }),
  rejectRequestPattern: field(z.array(text.max(BLOCK_PATTERN_MAX_CHARS)), (patterns, { draft }) => {
    const globs = patterns.map(globOf);
    if (globs.includes(null)) return PATTERN_RULE;
    draft.block_requests = globs;
  }),
  requestInterceptors: field(z.tuple([], NO_INTERCEPTORS), () => null),
  addStyleTag: field(z.array(styleTag), (tags, wanted) =>
    wanted.tags.push(
      ...tags.map((tag): scripts.Tag => ({ ...tag, element: tag.url === undefined ? 'style' : 'link' })),
    ),
  ),
  addScriptTag: field(z.array(scriptTag), (tags, wanted) =>
    wanted.tags.push(...tags.map((tag): scripts.Tag => ({ ...tag, element: 'script' }))),
  ),
  waitForTimeout: field(ms, (value, { draft }) => {
    if (value > DELAY_MS.max) return `must be at most ${DELAY_MS.max}: wait for something with \`waitForFunction\``;
    draft.delay = Math.round(value);
  }),
  waitForFunction: field(
    z.strictObject({ fn: text.min(1), polling: z.union([text, z.number()]).optional(), ...waitOptions }),
    ({ fn, timeout = null }, { waits }) =>
      Object.assign(waits, { function: { test: scripts.untilFunction(fn), timeout } }),
  ),
  waitForSelector: field(
    z.strictObject({
      selector: text.min(1),
      hidden: bool.default(false),
      visible: bool.default(false),
      ...waitOptions,
    }),
    ({ timeout = null, ...what }, { waits }) =>
      Object.assign(waits, { selector: { test: scripts.untilSelector(what), timeout } }),
  ),
  waitForEvent: field(z.strictObject({ event: text.min(1), ...waitOptions }), ({ event: name, timeout }, wanted) => {
    // browserless takes 0 for the default, here alone.
    wanted.event = name;
    wanted.waits.event = { test: scripts.EVENT_SEEN, timeout: timeout || null };
  }),
  scrollPage: keep(bool, 'scrolls'),
  bestAttempt: keep(bool, 'bestAttempt'),
  // Fields of its cloud, which n8n sends.
  blockAds: BLOCK_ADS,
  blockConsentModals: put(bool, 'draft', 'block_cookie_banners'),
};

const isBase64 = z.enum(['binary', 'base64']).transform((encoding) => encoding === 'base64');

const SCREENSHOT: Record<string, CompatibleField<Wanted>> = {
  type: put(z.enum(['png', 'jpeg', 'webp']), 'draft', 'format'),
  quality: put(num, 'draft', 'quality'),
  fullPage: put(bool, 'draft', 'full_page'),
  clip: object({
    ...Object.fromEntries(['x', 'y', 'width', 'height'].map((name) => [name, put<Wanted>(num, 'clip', name)])),
    scale: only(1, 'set `viewport.deviceScaleFactor`'),
  }),
  omitBackground: put(bool, 'draft', 'omit_background'),
  encoding: keep(isBase64, 'base64'),
  // A part of the page is captured wherever it is, and the pixels are the same.
  captureBeyondViewport: field(bool, (value, { clip }) =>
    !value && Object.keys(clip).length > 0 ? 'can only be true here with `clip`' : undefined,
  ),
  optimizeForSpeed: IGNORED,
  fromSurface: only(true, 'the page is captured as it is shown'),
  path: refused('the picture is the answer'),
};

const PDF: Record<string, CompatibleField<Wanted>> = {
  format: put(text, 'pdf', 'paper'),
  width: put(length, 'paper', 'width'),
  height: put(length, 'paper', 'height'),
  margin: put(z.strictObject({ top: length, right: length, bottom: length, left: length }).partial(), 'pdf', 'margin'),
  landscape: put(bool, 'pdf', 'landscape'),
  scale: put(num, 'pdf', 'scale'),
  printBackground: put(bool, 'pdf', 'print_background'),
  displayHeaderFooter: keep(bool, 'hasTemplates'),
  headerTemplate: keep(text, 'header'),
  footerTemplate: keep(text, 'footer'),
  pageRanges: put(orAbsent(text), 'pdf', 'page_ranges'),
  preferCSSPageSize: put(bool, 'pdf', 'prefer_css_page_size'),
  outline: put(bool, 'pdf', 'outline'),
  tagged: put(bool, 'pdf', 'tagged'),
  // Printing has a limit of its own, fonts are always waited for, and a PDF has no background of its own.
  ...Object.fromEntries(['timeout', 'waitForFonts', 'omitBackground'].map((name) => [name, IGNORED])),
  path: refused('the PDF is the answer'),
  fullPage: put(bool, 'draft', 'full_page'),
};

/** These go with a PDF of one page as it is on the screen, in place of paper. */
const WITH_FULL_PAGE = new Set(['fullPage', 'printBackground', 'tagged', 'timeout', 'waitForFonts', 'omitBackground']);

const PDF_OPTIONS: CompatibleField<Wanted> = {
  read: (value, wanted) => {
    const problem = object(PDF).read(value, wanted);
    const other =
      wanted.draft.full_page === true
        ? Object.keys(value as object).find((name) => !WITH_FULL_PAGE.has(name))
        : undefined;
    if (other === undefined) return problem;
    return [
      {
        path: 'fullPage',
        message: `cannot be combined with \`${other}\`: the page is printed as one, as wide as the viewport`,
      },
    ];
  },
};

const media = z.enum(['screen', 'print', '']);
const ONLY_SCREEN = field<Wanted, string>(media, (value) =>
  value === 'print' ? 'can only be print for /pdf' : undefined,
);

export const TABLES: Record<Endpoint, Record<string, CompatibleField<Wanted>>> = {
  screenshot: {
    ...COMMON,
    emulateMediaType: ONLY_SCREEN,
    options: object(SCREENSHOT),
    selector: put(text.min(1), 'draft', 'selector'),
  },
  pdf: { ...COMMON, emulateMediaType: put(orAbsent(media), 'pdf', 'media'), options: PDF_OPTIONS },
  content: { ...COMMON, emulateMediaType: ONLY_SCREEN },
};

/** Flags of the process, which this server sets by itself. */
const OWN_FLAG =
  /^--(no-sandbox|disable-setuid-sandbox|disable-dev-shm-usage|disable-gpu|no-first-run|no-zygote|headless(=(new|shell|true))?)$/;

const FLAGS = z.array(text).transform((flags, context) => {
  const options: Record<string, unknown> = {};
  for (const flag of flags.filter((one) => !OWN_FLAG.test(one))) {
    const [, name = '', value = ''] = /^--([^=]*)(?:=(.*))?$/s.exec(flag) ?? [];
    if (name === 'proxy-server') options.proxy = { server: value };
    else if (name === 'lang') options.locale = value;
    else if (name === 'ignore-certificate-errors') options.ignore_https_errors = true;
    else
      context.addIssue({
        code: 'custom',
        message: 'can only have --proxy-server, --lang and --ignore-certificate-errors here',
      });
  }
  return options;
});

const insecure = put<Wanted>(orAbsent(bool), 'draft', 'ignore_https_errors');

/** The members of `launch`. They may stand in the query by themselves, as in version 1. */
const LAUNCH: Record<string, CompatibleField<Wanted>> = {
  args: field(FLAGS, (flags, { draft }) => Object.assign(draft, flags)),
  headless: {
    read: (value) => ([true, 'true', 'new', 'shell', ''].includes(value as string) ? null : 'must be true here'),
  },
  stealth: only(false, 'no browser is disguised here'),
  ignoreHTTPSErrors: insecure,
  acceptInsecureCerts: insecure,
  slowMo: only(0, 'wait with `waitForTimeout`'),
  ignoreDefaultArgs: only(false, 'the browser is started before the request'),
  defaultViewport: object(VIEWPORT),
  devtools: only(false, 'nobody watches the browser'),
  dumpio: only(false, 'the log of the server has what it needs'),
  userDataDir: refused('give the login as `cookies`'),
  timeout: refused('the browser is started before the request'),
  waitForInitialPage: IGNORED,
};

/** 0 is no limit. */
const limitMs = ms.transform((value) => value || TIMEOUT_MS.max);

export const QUERY: Record<string, CompatibleField<Wanted>> = {
  token: IGNORED,
  blockAds: BLOCK_ADS,
  launch: {
    read: (value, wanted) => {
      const options = readLaunch(String(value));
      return options === null ? 'must be a JSON object, or one in base64' : object(LAUNCH).read(options, wanted);
    },
  },
  // After `launch`, whose members they replace.
  ...LAUNCH,
  timeout: keep(limitMs, 'timeout'),
  blockAdsInclude: refused('`blockAds` uses the lists of this server'),
  trackingId: refused('send the header X-Request-Id, which is in the log'),
  profile: refused('give the login as `cookies`'),
};

function readLaunch(text: string): unknown {
  try {
    return readRequestJson(Buffer.from(text, text.startsWith('{') ? 'utf8' : 'base64'));
  } catch {
    return null;
  }
}

/** The query's fields; flags of Chromium, such as `--lang=de`, are together those of `args`. */
function queryOf(query: URLSearchParams): Record<string, unknown> {
  const pairs = [...query].map(([name, value]): [string, string] => [
    name,
    value === '' && name !== 'token' ? 'true' : value,
  ]);
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
  return inner.replaceAll(
    /\.\*|\\(.)/g,
    (found, escaped: string | undefined) => escaped ?? (found === '.*' ? '*' : found),
  );
}

/**
 * Reads a request of browserless's interface.
 * @returns the capture request, and the document that it has brought, or null
 * @throws CaptureError `invalid_request` that names the fields which are unknown, not valid or not honored
 */
export function readOptions(endpoint: Endpoint, query: URLSearchParams, body: Record<string, unknown>) {
  const wanted = newWanted();
  readFields(queryOf(query), QUERY, wanted);
  readFields(body, TABLES[endpoint], wanted);
  const { draft, html, base64, viewport, clip } = wanted;
  draft.viewport = viewport;
  if (Object.keys(clip).length > 0) draft.clip = clip;
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

/** The fields of a request as they are read: several of them together may give one field of a capture request. */
function newWanted() {
  return {
    draft: { ...newDraft(), reduce_motion: false } as Draft,
    clip: {},
    viewport: { width: 800, height: 600, deviceScaleFactor: 1 },
    html: null as string | null,
    cookies: [] as Cookie[],
    tags: [] as scripts.Tag[],
    waits: {} as Partial<Record<'function' | 'selector' | 'event', scripts.Wait>>,
    event: null as string | null,
    waitUntil: 'load',
    gotoTimeout: null as number | null,
    bestAttempt: false,
    scrolls: false,
    /** The limit for everything, in ms. */
    timeout: scripts.WAIT_MS,
    base64: false,
    pdf: { tagged: true, print_background: false, fit_width: false } as Record<string, unknown>,
    paper: { width: '8.5in', height: '11in' },
    hasTemplates: false,
    header: '',
    footer: '',
  };
}

/** Adds cookies to a capture request that has its `url`: those for other hosts than the page's go into its `storage_state`. */
function addCookies(draft: Draft, cookies: readonly Cookie[]): void {
  const host = (typeof draft.url === 'string' ? readUrl(draft.url)?.hostname : undefined) ?? null;
  const isOwn = ({ domain }: Cookie) =>
    domain === undefined || (host !== null && cookieDomainProblem(domain, host) === null);
  const own = cookies
    .filter(isOwn)
    .map(({ httpOnly, sameSite, ...cookie }) => ({ ...cookie, http_only: httpOnly, same_site: sameSite }));
  const foreign = cookies.filter((cookie) => !isOwn(cookie));
  if (own.length > 0) draft.cookies = own;
  if (foreign.length > 0) draft.storage_state = { cookies: foreign };
}

function writePdf(draft: Draft, { pdf, paper, hasTemplates, header, footer }: Wanted): void {
  draft.format = 'pdf';
  if (draft.full_page === true) {
    draft.full_page_algorithm = 'native';
    return;
  }
  pdf.paper ??= paper;
  // An empty template is the browser's.
  if (hasTemplates) Object.assign(pdf, { header_template: header || HEADER, footer_template: footer || FOOTER });
  draft.pdf = pdf;
}

function writeWaits(draft: Draft, wanted: Wanted): void {
  const { waits, event: awaited, bestAttempt, tags, waitUntil, gotoTimeout, scrolls } = wanted;
  // A document of the request's own loads no network, so that browserless does not wait for it either.
  const until = wanted.html !== null && waitUntil.startsWith('networkidle') ? 'load' : waitUntil;
  draft.wait_until = bestAttempt ? 'domcontentloaded' : until;
  // The waits may begin later than the event comes.
  const added = [
    ...(awaited === null ? [] : [scripts.listenFor(awaited)]),
    ...(tags.length === 0 ? [] : [scripts.addTags(tags)]),
  ];
  if (added.length > 0) draft.custom_js = added.join('\n');
  const loaded = bestAttempt && until !== 'domcontentloaded' ? [{ test: scripts.LOADED, timeout: gotoTimeout }] : [];
  const all: scripts.Wait[] = [
    ...loaded,
    ...[waits.function, waits.selector, waits.event].filter((wait) => wait !== undefined),
  ];
  draft.timeout = timeoutOf(wanted, all);
  const expression = all.length === 0 ? null : scripts.untilAll(all, { goesOn: bestAttempt });
  const mayBeLate = !bestAttempt && all.some(({ timeout }) => (timeout ?? 0) > 0);
  if (!scrolls && !mayBeLate) {
    if (expression !== null) draft.wait_for_function = expression;
    return;
  }
  draft.steps = [
    ...(expression === null ? [] : [{ action: 'wait_for', expression }]),
    ...(mayBeLate ? [{ action: 'evaluate', script: scripts.THROW_IF_LATE }] : []),
    ...(scrolls ? [{ action: 'evaluate', script: scripts.scrollThrough(null) }] : []),
  ];
}

/** The limit of the request, or how long the navigation and the waits may take together; 0 is no limit. */
function timeoutOf({ timeout, gotoTimeout, bestAttempt }: Wanted, waits: readonly scripts.Wait[]): number {
  const parts = [gotoTimeout, ...waits.map((wait) => wait.timeout)];
  const isEndless = bestAttempt || parts.includes(0);
  const together = isEndless ? timeout : parts.reduce<number>((sum, part) => sum + (part ?? scripts.WAIT_MS), 0);
  return Math.round(Math.min(TIMEOUT_MS.max, Math.max(1, Math.min(timeout, together))));
}
