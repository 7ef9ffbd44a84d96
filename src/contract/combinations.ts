import { cookieDomainProblem } from './cookie-domain.js';
import { COOKIES_MAX_ITEMS } from './limits.js';
import { normalizeTargetUrl } from './target-url.js';

/** Fields that need or exclude each other. Checked on the raw body, so that these problems are reported together with its others. */

export interface CombinationIssue {
  code: 'invalid_request' | 'unsupported_option';
  /** Dotted wire names. */
  path: string;
  message: string;
}

type Body = Record<string, unknown>;

interface Rule {
  path: string;
  breaks(body: Body): boolean;
  message: string;
}

const given = (value: unknown): boolean => value !== undefined;
const isPdf = (body: Body): boolean => body.format === 'pdf';
const isFullPage = (body: Body): boolean => body.full_page === true && !given(body.selector) && !given(body.clip);

/** Fields that cannot be combined with the format or another field: 400 `unsupported_option`. */
const UNSUPPORTED: readonly Rule[] = [
  {
    path: 'selector',
    breaks: (body) => isPdf(body) && given(body.selector),
    message: 'cannot be combined with format `pdf`. Use png, jpeg or webp, or leave `selector` out.',
  },
  { path: 'pdf', breaks: (body) => !isPdf(body) && given(body.pdf), message: 'needs format `pdf`.' },
  { path: 'clip', breaks: (body) => isPdf(body) && given(body.clip), message: 'cannot be combined with format `pdf`.' },
  { path: 'clip', breaks: (body) => given(body.selector) && given(body.clip), message: 'cannot be combined with `selector`.' },
  { path: 'padding', breaks: (body) => isSet(body.padding) && !given(body.selector), message: 'needs `selector`.' },
  {
    path: 'omit_background',
    breaks: (body) => body.omit_background === true && (isPdf(body) || body.format === 'jpeg'),
    message: 'needs format `png` or `webp`.',
  },
  {
    path: 'full_width',
    breaks: (body) => body.full_width === true && (!isFullPage(body) || isPdf(body)),
    message: 'needs `full_page` and format `png`, `jpeg` or `webp`, without `selector` and `clip`.',
  },
  {
    path: 'max_height',
    breaks: (body) => given(body.max_height) && (!isFullPage(body) || given(body.pdf)),
    message: 'needs `full_page`, without `selector`, `clip` and `pdf`.',
  },
  { path: 'resize', breaks: (body) => isPdf(body) && given(body.resize), message: 'cannot be combined with format `pdf`.' },
];

/** 400 `invalid_request`. */
const INVALID: readonly Rule[] = [
  { path: 'url', breaks: (body) => !given(body.url) && !given(body.html), message: 'is required' },
  {
    path: 'html',
    breaks: (body) => given(body.url) && given(body.html),
    message: 'cannot be combined with `url`: give exactly one of them',
  },
  { path: 'base_url', breaks: (body) => given(body.base_url) && !given(body.html), message: 'needs `html`' },
  {
    path: 'cookies',
    breaks: (body) => Array.isArray(body.cookies) && body.cookies.length > 0 && given(body.html) && !given(body.base_url),
    message: 'need a `url` or a `base_url` with the host that they belong to',
  },
];

export function combinationIssues(body: unknown): CombinationIssue[] {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return [];
  const request = body as Body;
  return [
    ...issuesOf(INVALID, 'invalid_request', request),
    ...cookieIssues(request),
    ...issuesOf(UNSUPPORTED, 'unsupported_option', request),
  ];
}

function issuesOf(rules: readonly Rule[], code: CombinationIssue['code'], body: Body): CombinationIssue[] {
  return rules.filter((rule) => rule.breaks(body)).map(({ path, message }) => ({ code, path, message }));
}

function isSet(padding: unknown): boolean {
  return padding !== undefined && padding !== 0;
}

/** Checks at most COOKIES_MAX_ITEMS: more are rejected anyway. */
function cookieIssues({ cookies, url, base_url: baseUrl }: Body): CombinationIssue[] {
  const host = hostOf(url ?? baseUrl);
  if (!Array.isArray(cookies) || host === null) return [];
  return cookies.slice(0, COOKIES_MAX_ITEMS).flatMap((cookie: unknown, index): CombinationIssue[] => {
    const domain = (cookie as { domain?: unknown } | null)?.domain;
    const problem = typeof domain === 'string' && domain !== '' ? cookieDomainProblem(domain, host) : null;
    return problem === null ? [] : [{ code: 'invalid_request', path: `cookies.${index}.domain`, message: problem }];
  });
}

function hostOf(url: unknown): string | null {
  if (typeof url !== 'string') return null;
  const target = normalizeTargetUrl(url);
  return 'url' in target ? new URL(target.url).hostname : null;
}
