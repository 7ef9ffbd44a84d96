import type { CaptureOptions } from './capture-request.js';
import { isObject } from './field-rules.js';
import { COOKIES_MAX_ITEMS, DELAY_MS, PDF_DOCUMENTS_MAX, PICTURES_MAX } from './limits.js';
import { cookieDomainProblem } from './login-schema.js';
import { asksForSeveral, delaysOf, pageLoadsOf, pictureNames } from './page-loads.js';
import { normalizeTargetUrl } from './read-url.js';

/** Fields that need or exclude each other. Checked on the raw body, so that these problems are reported together with its others. */

export interface Issue {
  /** Dotted wire names. */
  path: string;
  message: string;
}

type Body = Record<string, unknown>;
type Rule = [path: string, isBroken: boolean, message: string];

/**
 * @param body as it was sent
 * @param hasFiles whether files came with it
 */
export function combinationIssues(body: unknown, hasFiles = false): { invalid: Issue[]; unsupported: Issue[] } {
  if (!isObject(body)) return { invalid: [], unsupported: [] };
  const documents = documentsOf(body);
  const ofDocuments = documents.flatMap((entry, index) =>
    [...broken(invalid(entry, false)), ...cookieIssues(entry)].map(({ path, message }) => ({
      path: `pdf.pages.${index}.${path}`,
      message,
    })),
  );
  return {
    invalid: [
      ...broken(documents.length > 0 ? instead(body, hasFiles) : invalid(body, hasFiles)),
      ...ofDocuments,
      ...cookieIssues(body),
    ],
    unsupported: broken([...unsupported(body), ...severalRules(body)]),
  };
}

/** Fields that exclude `pdf.pages`. */
function instead(body: Body, hasFiles: boolean): Rule[] {
  const ofOne = ['url', 'html', 'base_url', 'template', 'headers', 'cookies', 'http_credentials', 'referer'];
  const message = 'cannot be combined with `pdf.pages`: give it in one of them';
  return [
    ...ofOne.map((name): Rule => [name, body[name] !== undefined, message]),
    ['pdf.pages', hasFiles, 'cannot be combined with files'],
    ...['captures', 'viewports', 'color_schemes'].map(
      (name): Rule => [name, body[name] !== undefined, 'cannot be combined with `pdf.pages`'],
    ),
  ];
}

/** Checks at most PDF_DOCUMENTS_MAX: more are rejected anyway. */
function documentsOf({ pdf }: Body): Body[] {
  if (!isObject(pdf) || !Array.isArray(pdf.pages)) return [];
  return pdf.pages.slice(0, PDF_DOCUMENTS_MAX).map((entry: unknown) => (isObject(entry) ? entry : {}));
}

/** The problems of a request by its rules. */
export function broken(rules: readonly Rule[]): Issue[] {
  return rules.flatMap(([path, isBroken, message]) => (isBroken ? [{ path, message }] : []));
}

function invalid(
  { url, html, base_url: baseUrl, template, data, cookies, http_credentials: credentials, headers, referer }: Body,
  hasOwnFiles: boolean,
): Rule[] {
  const [hasUrl, hasHtml, hasBase] = [url !== undefined, html !== undefined, baseUrl !== undefined];
  const hasTemplate = template !== undefined;
  const hasFiles = hasOwnFiles || hasTemplate;
  const hasCookies = Array.isArray(cookies) && cookies.length > 0;
  const headerNames =
    headers !== null && typeof headers === 'object' ? Object.keys(headers).map((name) => name.toLowerCase()) : [];
  return [
    ['url', !hasUrl && !hasHtml && !hasFiles, 'is required'],
    ...['url', 'html', 'base_url'].map(
      (name): Rule => [
        name,
        hasTemplate && { url, html, base_url: baseUrl }[name] !== undefined,
        'cannot be combined with `template`',
      ],
    ),
    ['template', hasTemplate && hasOwnFiles, 'cannot be combined with files'],
    ['data', data !== undefined && !hasTemplate, 'needs `template`'],
    ['url', hasUrl && hasOwnFiles, 'cannot be combined with files'],
    ['html', hasHtml && hasOwnFiles, 'cannot be combined with files: give the document as the file `index.html`'],
    ['html', hasUrl && hasHtml, 'cannot be combined with `url`: give exactly one of them'],
    ['base_url', hasBase && !hasHtml && !hasTemplate, 'needs `html`'],
    [
      'cookies',
      hasCookies && (hasHtml || hasFiles) && !hasBase,
      'need a `url` or a `base_url` with the host that they belong to',
    ],
    [
      'http_credentials',
      credentials !== undefined && (hasHtml || hasFiles) && !hasBase,
      'need a `url` or a `base_url` with the host that they belong to',
    ],
    [
      'http_credentials',
      credentials !== undefined && headerNames.includes('authorization'),
      'cannot be combined with the header `Authorization`',
    ],
    [
      'referer',
      referer !== undefined && headerNames.includes('referer'),
      'cannot be combined with the header `Referer`',
    ],
    ['referer', referer !== undefined && (hasHtml || hasFiles), 'needs `url`'],
  ];
}

const MASK_NEEDS_PIXELS =
  'cannot be combined with a printed PDF, which would keep the text below the boxes. Use png, jpeg, webp, avif or bmp, `full_page` with `full_page_algorithm` `by_sections` and without `pdf`, or `hide_selectors`.';

/** The fields that name what is captured of the page, of which a picture has one. */
const ELEMENT_FIELDS = ['selector', 'selector_union', 'selector_function'];

function unsupported({
  format,
  clip,
  pdf,
  padding,
  full_page: fullPage,
  max_height: maxHeight,
  ...others
}: Body): Rule[] {
  const isPdf = format === 'pdf';
  const hasPdfEntry = entriesOf(others).some((entry) => entry.format === 'pdf');
  const [element = 'selector', second = element] = ELEMENT_FIELDS.filter((name) => others[name] !== undefined);
  const [hasSelector, hasClip, hasPdf] = [others[element] !== undefined, clip !== undefined, pdf !== undefined];
  const isFullPage = fullPage === true && !hasSelector && !hasClip;
  const hasMask = Array.isArray(others.mask) && others.mask.length > 0;
  const isAnimated = others.animate !== undefined;
  const hasPalette = others.palette !== undefined;
  const scrolls = (others.animate as { scroll?: unknown } | null | undefined)?.scroll === true;
  const notAnimated = 'cannot be combined with `animate`.';
  const notWithPdf = 'cannot be combined with format `pdf`.';
  return [
    [second, second !== element, `cannot be combined with \`${element}\`.`],
    [
      element,
      isPdf && hasSelector,
      `cannot be combined with format \`pdf\`. Use png, jpeg, webp, avif or bmp, or leave \`${element}\` out.`,
    ],
    ['pdf', !isPdf && !hasPdfEntry && hasPdf, 'needs format `pdf`.'],
    ['clip', isPdf && hasClip, notWithPdf],
    ['clip', hasSelector && hasClip, `cannot be combined with \`${element}\`.`],
    [
      'padding',
      padding !== undefined && padding !== 0 && !hasSelector,
      'needs `selector`, `selector_union` or `selector_function`.',
    ],
    [
      'omit_background',
      others.omit_background === true && (isPdf || format === 'jpeg' || format === 'bmp'),
      'needs format `png`, `webp` or `avif`.',
    ],
    [
      'full_width',
      others.full_width === true && (!isFullPage || isPdf),
      'needs `full_page` and format `png`, `jpeg`, `webp`, `avif` or `bmp`, without `selector` and `clip`.',
    ],
    [
      'max_height',
      maxHeight !== undefined && (!isFullPage || hasPdf),
      'needs `full_page`, without `selector`, `clip` and `pdf`.',
    ],
    ['mask', isPdf && hasMask && (!isFullPage || hasPdf || others.full_page_algorithm === 'native'), MASK_NEEDS_PIXELS],
    ['mask_color', others.mask_color !== undefined && !hasMask, 'needs `mask`.'],
    [
      'annotate',
      others.annotate === true && (isPdf || others.inspect_page !== true),
      'needs `inspect_page` and format `png`, `jpeg`, `webp`, `avif` or `bmp`.',
    ],
    ['resize', isPdf && others.resize !== undefined, notWithPdf],
    ['rotate', isPdf && others.rotate !== undefined, notWithPdf],
    [
      'palette',
      hasPalette && !isAnimated && format !== 'png' && format !== 'bmp',
      'needs format `png` or `bmp`, which keep its colors.',
    ],
    [
      'omit_background',
      hasPalette && others.omit_background === true,
      'cannot be combined with `palette`, whose colors are opaque.',
    ],
    [
      'format',
      isAnimated && format !== undefined,
      'cannot be combined with `animate`: set `animate.format` to webp, gif or mp4.',
    ],
    [
      'full_page',
      isAnimated && fullPage === true,
      'cannot be combined with `animate`, which shows the view: `animate.scroll` shows the page from top to bottom.',
    ],
    ['omit_background', isAnimated && others.omit_background === true, notAnimated],
    ['reduce_motion', isAnimated && others.reduce_motion === true, notAnimated],
    ['mask', isAnimated && hasMask, notAnimated],
    ['annotate', isAnimated && others.annotate === true, notAnimated],
    ['palette', isAnimated && hasPalette, notAnimated],
    ['rotate', isAnimated && others.rotate !== undefined, notAnimated],
    ['real_time', isAnimated && others.real_time === true, notAnimated],
    ['animate.scroll', scrolls && hasSelector, `cannot be combined with \`${element}\`.`],
    ['animate.scroll', scrolls && hasClip, 'cannot be combined with `clip`.'],
  ];
}

/** Fields that belong to a single picture, and fields that a list of several replaces. */
function severalRules(body: Body): Rule[] {
  const has = (name: string) => body[name] !== undefined;
  const [inEntries, instead] = ['cannot be combined with `captures`: give it in an entry.', 'cannot be combined with'];
  const ofOne: Rule[] = [...ELEMENT_FIELDS, 'clip', 'padding', 'full_width', 'max_height'].map((name) => [
    name,
    has('captures') && has(name),
    inEntries,
  ]);
  return [
    ...ofOne,
    ...['captures', 'viewports', 'color_schemes'].flatMap((list): Rule[] => [
      ['upload', has(list) && has('upload'), `${instead} \`${list}\`: one picture is uploaded.`],
      ['annotate', has(list) && body.annotate === true, `${instead} \`${list}\`.`],
      ['animate', has(list) && has('animate'), `${instead} \`${list}\`.`],
    ]),
    ['full_page', has('captures') && body.full_page === true, inEntries],
    ['viewport', has('viewports') && has('viewport'), `${instead} \`viewports\`.`],
    ['device', has('viewports') && has('device'), `${instead} \`viewports\`.`],
    ['color_scheme', has('color_schemes') && has('color_scheme'), `${instead} \`color_schemes\`.`],
    ['dark_mode', has('color_schemes') && body.dark_mode === true, `${instead} \`color_schemes\`.`],
    ...entriesOf(body).flatMap((entry, index) =>
      entryRules(entry, body).map(
        ([path, ...rule]): Rule => [path === 'mask' ? path : `captures.${index}.${path}`, ...rule],
      ),
    ),
  ];
}

/** The rules of a request for the entry's picture alone, with the mask of the whole request, and its palette if the format allows one. */
function entryRules(entry: Body, { format: ofRequest, pdf, mask, full_page_algorithm, palette: ofAll }: Body): Rule[] {
  const { selector_all: all, format = ofRequest, ...others } = entry;
  const chosen = ELEMENT_FIELDS.some((name) => entry[name] !== undefined) ? {} : { selector: all };
  const palette = entry.palette ?? (format === 'png' || format === 'bmp' ? ofAll : undefined);
  return [
    ...unsupported({
      ...others,
      ...chosen,
      format,
      mask,
      full_page_algorithm,
      palette,
      pdf: format === 'pdf' ? pdf : undefined,
    }),
    ...ELEMENT_FIELDS.map(
      (name): Rule => [
        'selector_all',
        all !== undefined && entry[name] !== undefined,
        `cannot be combined with \`${name}\`.`,
      ],
    ),
    ['limit', entry.limit !== undefined && all === undefined, 'needs `selector_all`.'],
  ];
}

/** Checks at most PICTURES_MAX: more are rejected anyway. */
function entriesOf({ captures }: Body): Body[] {
  if (!Array.isArray(captures)) return [];
  return captures.slice(0, PICTURES_MAX).map((entry: unknown) => (isObject(entry) ? entry : {}));
}

/** The problems of a parsed request for several pictures: their number, their names, and the time that they take. */
export function severalIssues(options: CaptureOptions): Issue[] {
  const isTooLate = delaysOf(options) > DELAY_MS.max;
  if (options.pdf?.pages !== undefined)
    return broken([['delay', isTooLate, `must be at most ${DELAY_MS.max} ms for all of \`pdf.pages\` together`]]);
  if (!asksForSeveral(options)) return [];
  const { captures, colorSchemes, viewports, delay } = options;
  const path = captures !== null ? 'captures' : viewports !== null ? 'viewports' : 'color_schemes';
  const names = pictureNames(options);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  const loads = pageLoadsOf(options).length;
  const rules: Rule[] = [
    ['color_schemes', new Set(colorSchemes).size < (colorSchemes?.length ?? 0), 'must not repeat a value'],
    [path, names.length > PICTURES_MAX, `must be at most ${PICTURES_MAX} pictures in all, not ${names.length}`],
    [path, twice !== undefined, `must have different names: two pictures would be named "${twice}"`],
    [
      'delay',
      loads * delay > DELAY_MS.max,
      `must be at most ${DELAY_MS.max} ms for all loads of the page together, not ${loads} × ${delay}`,
    ],
  ];
  return broken(rules);
}

/** Checks at most COOKIES_MAX_ITEMS: more are rejected anyway. */
function cookieIssues({ cookies, url, base_url: baseUrl }: Body): Issue[] {
  const host = hostOf(url ?? baseUrl);
  if (!Array.isArray(cookies) || host === null) return [];
  return cookies.slice(0, COOKIES_MAX_ITEMS).flatMap((cookie: unknown, index): Issue[] => {
    const domain = (cookie as { domain?: unknown } | null)?.domain;
    const problem = typeof domain === 'string' && domain !== '' ? cookieDomainProblem(domain, host) : null;
    return problem === null ? [] : [{ path: `cookies.${index}.domain`, message: problem }];
  });
}

function hostOf(url: unknown): string | null {
  if (typeof url !== 'string') return null;
  const target = normalizeTargetUrl(url);
  return 'url' in target ? new URL(target.url).hostname : null;
}
