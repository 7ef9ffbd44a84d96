/**
 * The results of `inspect_page` besides the page's text: facts and the elements that can be acted on. The limits also apply to a page's own
 * answers.
 */
import { z } from 'zod';
import { count, number, object, whole } from './described.js';
import * as limits from './limits.js';

const limitedText = (maxChars: number) => (description: string, example: string) =>
  z.string().max(maxChars).meta({ description, example });
const text = limitedText(limits.FACT_TEXT_MAX_CHARS);
const word = limitedText(limits.FACT_NAME_MAX_CHARS);
const url = limitedText(limits.FACT_URL_MAX_CHARS);
const elementName = limitedText(limits.ELEMENT_NAME_MAX_CHARS);
const list = <Shape extends z.ZodRawShape>(shape: Shape, max: number, description: string) =>
  z.array(z.object(shape)).max(max).meta({ description });
/** Names such as `og:title`, never those of JavaScript's own properties. */
const properties = (name: RegExp) =>
  z.record(z.string().max(limits.FACT_NAME_MAX_CHARS).regex(name), z.string().max(limits.FACT_TEXT_MAX_CHARS));

export const OPEN_GRAPH_NAME = /^(?:og|article|book|profile|music|video|product|fb):[\w:.-]+$/;
export const TWITTER_NAME = /^twitter:[\w:.-]+$/;
/** `e12-` and what the element is (its role and name), and where. */
export const REF_PATTERN = /^e\d{1,3}-[0-9a-z]{7}-[0-9a-z]{7}$/;

export const pageBoxSchema = object('in CSS px of the page, as for `clip`', {
  x: number('left edge', 40),
  y: number('top edge', 320),
  width: z.number().min(0).meta({ description: 'width', example: 160 }),
  height: z.number().min(0).meta({ description: 'height', example: 44 }),
});

/** Facts that the document itself states. */
export const documentFactsSchema = z.object({
  title: text('title of the document', 'Tea – Shop'),
  description: text('its `meta` description', 'Teas from small gardens').optional(),
  canonical: url('address that the page calls its own', 'https://shop.example/tea').optional(),
  language: word('`lang` of the document', 'en-GB').optional(),
  theme_color: word('color for the browser around the page', '#0a7d4f').optional(),
  open_graph: properties(OPEN_GRAPH_NAME).meta({
    description: 'Open Graph properties',
    example: { 'og:type': 'website' },
  }),
  twitter: properties(TWITTER_NAME).meta({
    description: 'properties of the Twitter card',
    example: { 'twitter:card': 'summary' },
  }),
  icons: list(
    {
      url: url('its address', 'https://shop.example/icon.svg'),
      rel: word('kind of the link', 'icon'),
      sizes: word('declared sizes', '32x32').optional(),
    },
    limits.ICONS_MAX_ITEMS,
    'icons of the page',
  ),
  feeds: list(
    {
      url: url('its address', 'https://shop.example/feed.xml'),
      title: text('its title', 'News').optional(),
      type: word('its media type', 'application/rss+xml'),
    },
    limits.FEEDS_MAX_ITEMS,
    'RSS, Atom and JSON feeds',
  ),
  headings: list(
    {
      level: z.int().min(1).max(6).meta({ description: '1 to 6', example: 1 }),
      text: elementName('its text', 'Tea'),
    },
    limits.HEADINGS_MAX_ITEMS,
    'visible headings, in the order of the document',
  ),
  links: list(
    {
      url: url('absolute address', 'https://shop.example/green'),
      text: elementName('what it is called', 'Green tea'),
      rel: word('its `rel`', 'nofollow').optional(),
    },
    limits.LINKS_MAX_ITEMS,
    `links of the document, each address once; at most ${limits.LINKS_MAX_ITEMS}`,
  ),
  fonts: list(
    {
      family: word('name of the family', 'Inter'),
      weight: word('weight or range of weights', '400 700'),
      style: word('normal, italic or oblique', 'normal'),
    },
    limits.FONTS_MAX_ITEMS,
    'web fonts that the page has loaded',
  ),
});

/** The times at which the document appeared, as the browser measured it. */
export const vitalsSchema = z.object({
  largest_contentful_paint: object('Largest Contentful Paint, in real time; absent if nothing was painted', {
    ms: z.number().min(0).meta({ description: 'ms since the navigation began', example: 412 }),
    element: elementName('what was painted', 'img.hero').optional(),
    url: url('address of its image, without its query', 'https://shop.example/hero.webp').optional(),
  }).optional(),
  layout_shift: object('how much the page moved while it appeared', {
    score: z.number().min(0).meta({ description: 'Cumulative Layout Shift', example: 0.04 }),
    elements: z
      .array(z.string().max(limits.ELEMENT_NAME_MAX_CHARS))
      .max(limits.SHIFTED_MAX_ITEMS)
      .meta({ description: 'what has moved in the worst moment', example: ['div.banner'] }),
  }).optional(),
});

const requestShape = {
  url: url('without its query', 'https://shop.example/app.js'),
  type: word('type of the request', 'script'),
  status: whole('HTTP status; absent if there was no response', 404).optional(),
};

const networkShape = {
  status: whole('HTTP status of the document', 200).optional(),
  redirects: list(
    {
      url: url('without its query', 'http://shop.example/'),
      status: whole('its HTTP status; one below 300 is a document that went on by itself', 301).optional(),
    },
    limits.REDIRECTS_MAX_ITEMS,
    'addresses that led to the document, in order',
  ),
  requests: object('requests of the document', {
    count: count('requests of the document', 42),
    bytes: count('bytes that were transferred', 812_000),
    by_type: z
      .record(
        z.string(),
        z.object({
          count: count('requests', 12),
          bytes: count('bytes that were transferred', 402_000),
        }),
      )
      .meta({ description: 'by type of the request', example: { image: { count: 12, bytes: 402_000 } } }),
    failed: list(
      {
        ...requestShape,
        error: word("Chromium's error", 'net::ERR_CONNECTION_REFUSED').optional(),
      },
      limits.FAILED_MAX_ITEMS,
      'the first requests that failed or have a status from 400 on, without those that were blocked',
    ),
    slowest: list(
      {
        ...requestShape,
        ms: count('from the request to the end of its response', 730),
        bytes: count('bytes that were transferred', 91_000),
      },
      limits.SLOWEST_MAX_ITEMS,
      'the requests that took longest',
    ),
  }),
  console_errors: list(
    {
      text: text('the message', 'TypeError: cart is undefined'),
      url: url('where it arose, without its query', 'https://shop.example/app.js').optional(),
      line: count('line in that file, counted from 1', 12).optional(),
      uncaught: z
        .literal(true)
        .optional()
        .meta({ description: 'whether it is an exception that nothing has caught', example: true }),
    },
    limits.CONSOLE_MAX_ITEMS,
    'errors in the console: uncaught exceptions and `console.error`',
  ),
};

export const pageFactsSchema = z.object({ ...documentFactsSchema.shape, ...networkShape, ...vitalsSchema.shape });

export const pageElementsSchema = z
  .array(
    z.object({
      ref: z
        .string()
        .regex(REF_PATTERN)
        .meta({ description: 'names the element in a later request', example: 'e12-0k3f9a2-1m07qzb' }),
      role: word('what it is', 'button'),
      name: elementName('what it is called', 'Add to basket'),
      box: pageBoxSchema,
      selector: limitedText(limits.ELEMENT_SELECTOR_MAX_CHARS)(
        'a selector of the element, as for the field `selector`',
        '#add',
      ),
    }),
  )
  .max(limits.ELEMENTS_MAX_ITEMS);

export type DocumentFacts = z.output<typeof documentFactsSchema>;
export type Vitals = z.output<typeof vitalsSchema>;
export type PageFacts = z.output<typeof pageFactsSchema>;
export type PageElement = z.output<typeof pageElementsSchema>[number];
