import type { z } from 'zod';
import type { Inspection } from '../../contract/capture-data.js';
import {
  type DocumentFacts,
  documentFactsSchema,
  type PageElement,
  type PageFacts,
  pageElementsSchema,
  type Vitals,
  vitalsSchema,
} from '../../contract/page-facts.js';
import { readUrl } from '../../contract/read-url.js';
import { orElse } from '../deadlines.js';
import type { ElementBox } from '../in-page/boxes.js';
import { readConsoleErrors } from '../page/console-errors.js';
import type { DocumentState, OpenPage } from '../page/open-page.js';
import { plainUrl } from '../page/request-log.js';
import { callInPage, READ_MAX_MS } from './page-program.js';

/**
 * Reads the facts of one page for `inspect_page`, each at the step of the capture at which it is true. A part that is not read in
 * time is left out; the capture succeeds without it.
 */
export class FactsReader {
  #vitals: Vitals = {};
  #elements: PageElement[] | null = null;

  /** @param annotates whether the numbers of elements are drawn on the picture */
  constructor(
    private readonly page: OpenPage,
    private readonly annotates: boolean,
  ) {}

  /** Reads what the browser has measured of the page's appearance. Scrolling and the picture itself would count later. */
  async readVitals(): Promise<void> {
    this.#vitals = await this.#askVitals();
  }

  /**
   * Lists the elements that can be acted on, and draws their numbers. Called when the page is as it will be pictured.
   * @param area the part of the page in the picture, in CSS px; null for the view
   */
  async readElements(area: ElementBox | null): Promise<void> {
    this.#elements = await this.#ask('list', [{ area, draws: this.annotates }], pageElementsSchema);
  }

  /** Removes the numbers from the page. */
  async clear(): Promise<void> {
    if (this.annotates) await this.#ask('clear', [], null);
  }

  /** All that was read. Must precede what changes the document. */
  async finish(documentState: DocumentState): Promise<Pick<Inspection, 'facts' | 'elements'>> {
    // No picture is taken of the page itself for some PDFs.
    if (this.#elements === null) await this.readElements(null);
    // A short page may have been painted only for its picture.
    if (this.#vitals.largest_contentful_paint === undefined)
      this.#vitals = { ...(await this.#askVitals()), ...this.#vitals };
    const [document, errors] = await Promise.all([
      this.#ask('read', [], documentFactsSchema),
      readConsoleErrors(this.page, READ_MAX_MS),
    ]);
    const { log } = this.page.network;
    if (document === null || log === null) return { elements: this.#elements };
    const status = documentState.response?.status;
    const facts: PageFacts = {
      ...withoutCredentials(document),
      ...(status === undefined ? {} : { status }),
      ...log.facts(),
      console_errors: errors ?? [],
      ...this.#vitals,
    };
    return { facts, elements: this.#elements };
  }

  async #askVitals(): Promise<Vitals> {
    const { largest_contentful_paint: paint, ...vitals } = (await this.#ask('vitals', [], vitalsSchema)) ?? {};
    return paint === undefined ? vitals : { ...vitals, largest_contentful_paint: withPlainUrl(paint) };
  }

  /** @returns null if the page does not answer in time, or with data of another shape */
  async #ask<Name extends Parameters<typeof callInPage>[1], Answer>(
    name: Name,
    args: Parameters<typeof callInPage<Name>>[2],
    schema: z.ZodType<Answer> | null,
  ): Promise<Answer | null> {
    const { world, deadlines } = this.page;
    const reading = callInPage(world, name, args);
    const answer = await orElse(reading, { ms: READ_MAX_MS }, null);
    deadlines.signal.throwIfAborted();
    return schema?.safeParse(answer).data ?? null;
  }
}

type Paint = NonNullable<Vitals['largest_contentful_paint']>;

function withPlainUrl({ url = '', ...paint }: Paint): Paint {
  const plain = /^https?:/.test(url) ? plainUrl(url) : '';
  return plain === '' ? paint : { ...paint, url: plain };
}

/** Removes user names and passwords from every address. */
function withoutCredentials(facts: DocumentFacts): DocumentFacts {
  const { canonical, open_graph: openGraph, twitter, icons, feeds, links, ...others } = facts;
  const all = (properties: Record<string, string>) =>
    Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, withoutLogin(value)]));
  const each = <Item extends { url: string }>(items: Item[]) =>
    items.map((item) => ({ ...item, url: withoutLogin(item.url) }));
  return {
    ...others,
    ...(canonical === undefined ? {} : { canonical: withoutLogin(canonical) }),
    open_graph: all(openGraph),
    twitter: all(twitter),
    icons: each(icons),
    feeds: each(feeds),
    links: each(links),
  };
}

export function withoutLogin(address: string): string {
  if (!/^https?:[/\\]*[^/\\?#]*@/i.test(address)) return address;
  const url = readUrl(address);
  if (url === null) return '';
  url.username = '';
  url.password = '';
  return url.href;
}
