import type { z } from 'zod';
import type { Inspection } from '../../contract/capture-data.js';
import { CONSOLE_MAX_ITEMS, FACT_TEXT_MAX_CHARS, FACT_URL_MAX_CHARS } from '../../contract/limits.js';
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
import { orElse, within } from '../deadlines.js';
import type { ElementBox } from '../in-page/boxes.js';
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
  async finish(shown: DocumentState): Promise<Pick<Inspection, 'facts' | 'elements'>> {
    // No picture is taken of the page itself for some PDFs.
    if (this.#elements === null) await this.readElements(null);
    // A short page may have been painted only for its picture.
    if (this.#vitals.largest_contentful_paint === undefined)
      this.#vitals = { ...(await this.#askVitals()), ...this.#vitals };
    const [document, errors] = await Promise.all([this.#ask('read', [], documentFactsSchema), this.#consoleErrors()]);
    const { log } = this.page.network;
    if (document === null || log === null) return { elements: this.#elements };
    const status = shown.response?.status;
    const facts: PageFacts = {
      ...withoutCredentials(document),
      ...(status === undefined ? {} : { status }),
      ...log.facts(),
      console_errors: errors,
      ...this.#vitals,
    };
    return { facts, elements: this.#elements };
  }

  async #askVitals(): Promise<Vitals> {
    const { largest_contentful_paint: paint, ...vitals } = (await this.#ask('vitals', [], vitalsSchema)) ?? {};
    return paint === undefined ? vitals : { ...vitals, largest_contentful_paint: withPlainUrl(paint) };
  }

  /** @returns null if the page does not answer in time, or with anything else than was asked for */
  async #ask<Name extends Parameters<typeof callInPage>[1], Answer>(
    name: Name,
    given: Parameters<typeof callInPage<Name>>[2],
    schema: z.ZodType<Answer> | null,
  ): Promise<Answer | null> {
    const { world, deadlines } = this.page;
    const asked = callInPage(world, name, given);
    const answer = await orElse(asked, { ms: READ_MAX_MS }, null);
    deadlines.signal.throwIfAborted();
    return schema?.safeParse(answer).data ?? null;
  }

  /** The browser keeps what a document has logged, and replays it when the Runtime domain is enabled. */
  async #consoleErrors(): Promise<PageFacts['console_errors']> {
    const { cdp } = this.page.session;
    const found: PageFacts['console_errors'] = [];
    const add = (error: PageFacts['console_errors'][number]) => {
      if (found.length < CONSOLE_MAX_ITEMS) found.push(error);
    };
    const onCall: Parameters<typeof cdp.on<'Runtime.consoleAPICalled'>>[1] = ({ type, args, stackTrace }) => {
      if (type === 'error' || type === 'assert') add({ text: textOf(args), ...placeOf(stackTrace?.callFrames[0]) });
    };
    const onThrown: Parameters<typeof cdp.on<'Runtime.exceptionThrown'>>[1] = ({ exceptionDetails: details }) => {
      const text =
        (details.exception?.description ?? valueText(details.exception) ?? '').split('\n', 1)[0] || details.text;
      add({
        text: cut(text),
        uncaught: true,
        ...placeOf({ ...details, url: details.url ?? details.stackTrace?.callFrames[0]?.url ?? '' }),
      });
    };
    cdp.on('Runtime.consoleAPICalled', onCall);
    cdp.on('Runtime.exceptionThrown', onThrown);
    try {
      await within(cdp.send('Runtime.enable'), { ms: READ_MAX_MS });
    } catch {
      this.page.deadlines.signal.throwIfAborted();
    } finally {
      cdp.off('Runtime.consoleAPICalled', onCall);
      cdp.off('Runtime.exceptionThrown', onThrown);
      void cdp.send('Runtime.disable').catch(() => undefined);
    }
    return found;
  }
}

interface Remote {
  type?: string;
  value?: unknown;
  description?: string;
}

interface Place {
  url: string;
  lineNumber: number;
}

function textOf(args: readonly Remote[]): string {
  return cut(
    args
      .slice(0, 10)
      .map((one) => valueText(one) ?? one.description?.split('\n', 1)[0] ?? one.type ?? '')
      .join(' '),
  );
}

function valueText(remote: Remote | undefined): string | null {
  if (remote?.value === undefined || remote.value === null || typeof remote.value === 'object') return null;
  return String(remote.value).slice(0, FACT_URL_MAX_CHARS);
}

function placeOf(place: Place | undefined) {
  const url = place === undefined || !/^https?:/.test(place.url) ? '' : plainUrl(place.url);
  return place === undefined || url === '' ? {} : { url, line: Math.max(0, Math.trunc(place.lineNumber)) + 1 };
}

/** The browser's own messages repeat addresses with all that is in them. */
function cut(text: string): string {
  const plain = text.slice(0, FACT_URL_MAX_CHARS).replaceAll(/\bhttps?:\/\/[^\s"'<>`]+/gi, plainUrl);
  return plain.slice(0, FACT_TEXT_MAX_CHARS).replace(/[\ud800-\udbff]$/, '');
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

function withoutLogin(address: string): string {
  if (!/^https?:[/\\]*[^/\\?#]*@/i.test(address)) return address;
  const url = readUrl(address);
  if (url === null) return '';
  url.username = '';
  url.password = '';
  return url.href;
}
