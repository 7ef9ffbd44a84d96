/**
 * The results of `inspect_page` besides the page's text: facts and the elements that can be acted on. The limits also apply to a page's own
 * answers.
 */
import { z } from 'zod';
import * as limits from './limits.js';

const text = (maxChars = limits.FACT_TEXT_MAX_CHARS) => z.string().max(maxChars);
const url = () => z.string().max(limits.FACT_URL_MAX_CHARS);
const count = () => z.int().min(0);
const elementName = () => text(limits.ELEMENT_NAME_MAX_CHARS);
/** Names such as `og:title`, never those of JavaScript's own properties. */
const properties = (name: RegExp) => z.record(z.string().max(limits.FACT_NAME_MAX_CHARS).regex(name), text());

export const OPEN_GRAPH_NAME = /^(?:og|article|book|profile|music|video|product|fb):[\w:.-]+$/;
export const TWITTER_NAME = /^twitter:[\w:.-]+$/;
/** `e12-` and what the element is (its role and name), and where. */
export const REF_PATTERN = /^e\d{1,3}-[0-9a-z]{7}-[0-9a-z]{7}$/;

/** Facts that the document itself states. */
export const documentFactsSchema = z.object({
  title: text().meta({ description: 'title of the document', example: 'Tea – Shop' }),
  description: text().optional().meta({ description: 'its `meta` description', example: 'Teas from small gardens' }),
  canonical: url().optional().meta({ description: 'address that the page calls its own', example: 'https://shop.example/tea' }),
  language: text(limits.FACT_NAME_MAX_CHARS).optional().meta({ description: '`lang` of the document', example: 'en-GB' }),
  theme_color: text(limits.FACT_NAME_MAX_CHARS)
    .optional()
    .meta({ description: 'colour for the browser around the page', example: '#0a7d4f' }),
  open_graph: properties(OPEN_GRAPH_NAME).meta({ description: 'Open Graph properties', example: { 'og:type': 'website' } }),
  twitter: properties(TWITTER_NAME).meta({ description: 'properties of the Twitter card', example: { 'twitter:card': 'summary' } }),
  icons: z
    .array(
      z.object({
        url: url().meta({ description: 'its address', example: 'https://shop.example/icon.svg' }),
        rel: text(limits.FACT_NAME_MAX_CHARS).meta({ description: 'kind of the link', example: 'icon' }),
        sizes: text(limits.FACT_NAME_MAX_CHARS).optional().meta({ description: 'declared sizes', example: '32x32' }),
      }),
    )
    .max(limits.ICONS_MAX_ITEMS)
    .meta({ description: 'icons of the page' }),
  feeds: z
    .array(
      z.object({
        url: url().meta({ description: 'its address', example: 'https://shop.example/feed.xml' }),
        title: text().optional().meta({ description: 'its title', example: 'News' }),
        type: text(limits.FACT_NAME_MAX_CHARS).meta({ description: 'its media type', example: 'application/rss+xml' }),
      }),
    )
    .max(limits.FEEDS_MAX_ITEMS)
    .meta({ description: 'RSS, Atom and JSON feeds' }),
  headings: z
    .array(
      z.object({
        level: z.int().min(1).max(6).meta({ description: '1 to 6', example: 1 }),
        text: text(limits.ELEMENT_NAME_MAX_CHARS).meta({ description: 'its text', example: 'Tea' }),
      }),
    )
    .max(limits.HEADINGS_MAX_ITEMS)
    .meta({ description: 'visible headings, in the order of the document' }),
  links: z
    .array(
      z.object({
        url: url().meta({ description: 'absolute address', example: 'https://shop.example/green' }),
        text: text(limits.ELEMENT_NAME_MAX_CHARS).meta({ description: 'what it is called', example: 'Green tea' }),
        rel: text(limits.FACT_NAME_MAX_CHARS).optional().meta({ description: 'its `rel`', example: 'nofollow' }),
      }),
    )
    .max(limits.LINKS_MAX_ITEMS)
    .meta({ description: `links of the document, each address once; at most ${limits.LINKS_MAX_ITEMS}` }),
  fonts: z
    .array(
      z.object({
        family: text(limits.FACT_NAME_MAX_CHARS).meta({ description: 'name of the family', example: 'Inter' }),
        weight: text(limits.FACT_NAME_MAX_CHARS).meta({ description: 'weight or range of weights', example: '400 700' }),
        style: text(limits.FACT_NAME_MAX_CHARS).meta({ description: 'normal, italic or oblique', example: 'normal' }),
      }),
    )
    .max(limits.FONTS_MAX_ITEMS)
    .meta({ description: 'web fonts that the page has loaded' }),
});

/** How the document appeared, as the browser measured it. */
export const vitalsSchema = z.object({
  largest_contentful_paint: z
    .object({
      ms: z.number().min(0).meta({ description: 'ms since the navigation began', example: 412 }),
      element: elementName().optional().meta({ description: 'what was painted', example: 'img.hero' }),
      url: url().optional().meta({ description: 'address of its image, without its query', example: 'https://shop.example/hero.webp' }),
    })
    .optional()
    .meta({ description: 'Largest Contentful Paint, in real time; absent if nothing was painted' }),
  layout_shift: z
    .object({
      score: z.number().min(0).meta({ description: 'Cumulative Layout Shift', example: 0.04 }),
      elements: z
        .array(elementName())
        .max(limits.SHIFTED_MAX_ITEMS)
        .meta({ description: 'what has moved in the worst moment', example: ['div.banner'] }),
    })
    .optional()
    .meta({ description: 'how much the page moved while it appeared' }),
});

const requestShape = {
  url: url().meta({ description: 'without its query', example: 'https://shop.example/app.js' }),
  type: text(limits.FACT_NAME_MAX_CHARS).meta({ description: 'type of the request', example: 'script' }),
  status: z.int().optional().meta({ description: 'HTTP status; absent if there was no response', example: 404 }),
};

const networkShape = {
  status: z.int().optional().meta({ description: 'HTTP status of the document', example: 200 }),
  redirects: z
    .array(
      z.object({
        url: url().meta({ description: 'without its query', example: 'http://shop.example/' }),
        status: z
          .int()
          .optional()
          .meta({ description: 'its HTTP status; one below 300 is a document that went on by itself', example: 301 }),
      }),
    )
    .max(limits.REDIRECTS_MAX_ITEMS)
    .meta({ description: 'addresses that led to the document, in order' }),
  requests: z
    .object({
      count: count().meta({ description: 'requests of the document', example: 42 }),
      bytes: count().meta({ description: 'bytes that were transferred', example: 812_000 }),
      by_type: z
        .record(
          z.string(),
          z.object({
            count: count().meta({ description: 'requests', example: 12 }),
            bytes: count().meta({ description: 'bytes that were transferred', example: 402_000 }),
          }),
        )
        .meta({ description: 'by type of the request', example: { image: { count: 12, bytes: 402_000 } } }),
      failed: z
        .array(
          z.object({
            ...requestShape,
            error: text(limits.FACT_NAME_MAX_CHARS)
              .optional()
              .meta({ description: "Chromium's error", example: 'net::ERR_CONNECTION_REFUSED' }),
          }),
        )
        .max(limits.FAILED_MAX_ITEMS)
        .meta({ description: 'the first requests that failed or have a status from 400 on, without those that were blocked' }),
      slowest: z
        .array(
          z.object({
            ...requestShape,
            ms: count().meta({ description: 'from the request to the end of its response', example: 730 }),
            bytes: count().meta({ description: 'bytes that were transferred', example: 91_000 }),
          }),
        )
        .max(limits.SLOWEST_MAX_ITEMS)
        .meta({ description: 'the requests that took longest' }),
    })
    .meta({ description: 'requests of the document' }),
  console_errors: z
    .array(
      z.object({
        text: text().meta({ description: 'the message', example: 'TypeError: cart is undefined' }),
        url: url().optional().meta({ description: 'where it arose, without its query', example: 'https://shop.example/app.js' }),
        line: count().optional().meta({ description: 'line in that file, counted from 1', example: 12 }),
        uncaught: z.literal(true).optional().meta({ description: 'whether it is an exception that nothing has caught', example: true }),
      }),
    )
    .max(limits.CONSOLE_MAX_ITEMS)
    .meta({ description: 'errors in the console: uncaught exceptions and `console.error`' }),
};

export const pageFactsSchema = z.object({ ...documentFactsSchema.shape, ...networkShape, ...vitalsSchema.shape });

export const pageElementsSchema = z
  .array(
    z.object({
      ref: z.string().regex(REF_PATTERN).meta({ description: 'names the element in a later request', example: 'e12-0k3f9a2-1m07qzb' }),
      role: text(limits.FACT_NAME_MAX_CHARS).meta({ description: 'what it is', example: 'button' }),
      name: elementName().meta({ description: 'what it is called', example: 'Add to basket' }),
      box: z
        .object({
          x: z.number().meta({ description: 'left edge', example: 40 }),
          y: z.number().meta({ description: 'top edge', example: 320 }),
          width: z.number().min(0).meta({ description: 'width', example: 160 }),
          height: z.number().min(0).meta({ description: 'height', example: 44 }),
        })
        .meta({ description: 'in CSS px of the page, as for `clip`' }),
      selector: text(limits.ELEMENT_SELECTOR_MAX_CHARS).meta({
        description: 'a selector of the element, as for the field `selector`',
        example: '#add',
      }),
    }),
  )
  .max(limits.ELEMENTS_MAX_ITEMS);

export type DocumentFacts = z.output<typeof documentFactsSchema>;
export type Vitals = z.output<typeof vitalsSchema>;
export type PageFacts = z.output<typeof pageFactsSchema>;
export type PageElement = z.output<typeof pageElementsSchema>[number];
