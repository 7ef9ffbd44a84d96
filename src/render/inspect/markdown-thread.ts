/** The thread that converts pages to Markdown, since parsing a large page would block the server's event loop. A separate bundle entry. */

import { parentPort } from 'node:worker_threads';
import { strikethrough, tables } from '@joplin/turndown-plugin-gfm';
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';
import { EXTRACT_VALUE_MAX_CHARS, INSPECTION_LIMIT_CHARS } from '../../contract/limits.js';

export interface MarkdownSource {
  html: string;
  url: string;
  title: string;
  /** Whether it is a part of a page, of which everything is content. */
  isPart?: boolean;
}

/** Markdown is truncated at half of this, so text beyond it need not be converted. */
const TEXT_MOST_CHARS = 2 * INSPECTION_LIMIT_CHARS;
/** An article with a smaller share of the page's text is not its main content. Comments and article lists may be most of a page. */
const ARTICLE_MIN_PART = 0.1;
/** An article with a smaller share of the text outside of links and of the page's frame is one part of several, as in a shop. */
const ARTICLE_MIN_OWN = 0.6;
/** With as much text in long paragraphs, it is an article whatever is around it. */
const ARTICLE_MIN_PROSE_CHARS = 1_000;
const PARAGRAPH_MIN_CHARS = 80;
/** With less text, the page is what its frame says. */
const REST_MIN_CHARS = 100;
/** Elements around the content of a page, or with what others have added to it. */
const FRAME =
  'nav,footer,aside,form,[role=navigation],[role=complementary],[role=contentinfo],[role=search],[class*=comment],[id*=comment],[class*=related],[class*=sidebar],[id*=sidebar],[class*=breadcrumb],[class*=disqus],[class*=review],[id*=review],button';
/** A `main` with a smaller share of the text does not contain the page's content. */
const MAIN_MIN_PART = 0.5;

parentPort?.on('message', (source: MarkdownSource) => {
  parentPort?.postMessage(convert(source));
});

/** @returns null if the conversion fails */
function convert(source: MarkdownSource): string | null {
  try {
    // Long link addresses make the Markdown much longer than the page. One character above the limit shows that it is truncated.
    const mostChars = source.isPart === true ? EXTRACT_VALUE_MAX_CHARS : INSPECTION_LIMIT_CHARS;
    return toMarkdown(source).slice(0, mostChars + 1);
  } catch {
    return null;
  }
}

/** The main content of a document as Markdown, under its title. */
export function toMarkdown({ html, url, title, isPart = false }: MarkdownSource): string {
  const document = parse(isPart ? `<!doctype html><html><body>${html}</body></html>` : html);
  if (isPart) return written(document, document.body, url);
  const heading = document.querySelector('h1')?.textContent?.replace(/\s+/g, ' ').trim() || title.trim();
  keepMain(document);
  const body = document.body ?? document.documentElement;
  const wholeText = textLength(body);
  // Readability modifies the document, so it gets its own copy.
  const options = { serializer: (node: Node) => node, charThreshold: 200, keepClasses: true };
  const article = new Readability<Node>(keepMain(parse(html)), options).parse();
  const content = article?.content ?? null;
  const rest = withoutFrame(body);
  const isArticle =
    content !== null &&
    textLength(content) >= wholeText * ARTICLE_MIN_PART &&
    (proseLength(content as Element) >= ARTICLE_MIN_PROSE_CHARS ||
      ownLength(content as Element) >= ownLength(rest) * ARTICLE_MIN_OWN);
  const chosen = (isArticle ? content : ownLength(rest) >= REST_MIN_CHARS ? rest : body) as Element;
  return written(document, chosen, url, heading);
}

function written(document: Document, chosen: Element, url: string, heading = ''): string {
  shorten(chosen);
  plainLinks(chosen);
  plainTables(chosen);
  if (heading !== '') addTitle(chosen, heading);
  addRowsProperty(document);
  return turndown(url)
    .turndown(chosen as TurndownService.Node)
    .trim();
}

function parse(html: string): Document {
  const { document } = parseHTML(html);
  plainCode(document);
  return document;
}

/** Removes everything outside a document's only `main`, if it has most of the text. */
function keepMain(document: Document): Document {
  const mains = document.querySelectorAll('main,[role=main]');
  const [main] = mains;
  if (main === undefined || mains.length > 1 || document.body === null) return document;
  if (textLength(main) >= textLength(document.body) * MAIN_MIN_PART) document.body.replaceChildren(main);
  return document;
}

/** Makes the title the first-level heading: Readability 0.6 turns every h1 into an h2 (mozilla/readability#863), and drops the one with the title. */
function addTitle(content: Element, title: string): void {
  const fold = (text: string | null) => (text ?? '').toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  const headings = [...content.querySelectorAll(HEADINGS)].filter(({ textContent }) => textContent?.trim()).slice(0, 3);
  const own = headings.find(({ textContent }) => fold(textContent) === fold(title));
  const first = content.ownerDocument.createElement('h1');
  first.append(...(own?.childNodes ?? [title]));
  if (own === undefined) content.prepend(first);
  else own.replaceWith(first);
}

/** Moves a link around a heading and other content into the heading, since Markdown has no links around blocks. */
function plainLinks(content: Element): void {
  for (const around of content.querySelectorAll('a[href]')) {
    const heading = [...around.querySelectorAll(HEADINGS)].find(({ textContent }) => textContent?.trim());
    if (heading === undefined) continue;
    const link = around.cloneNode(false) as Element;
    link.append(...heading.childNodes);
    heading.append(link);
    around.replaceWith(...around.childNodes);
  }
}

/** Adds the property `rows`, which the table rules need and linkedom 0.18 lacks, to its single class of elements. */
function addRowsProperty(document: Document): void {
  const tables = Object.getPrototypeOf(document.createElement('table'));
  if ('rows' in tables) return;
  Object.defineProperty(tables, 'rows', {
    get(this: Element) {
      if (this.localName !== 'table') return undefined;
      return [...this.querySelectorAll('tr')].filter((row) => row.closest('table') === this);
    },
  });
}

/** Removes everything after this many characters of text. */
function shorten(content: Node): void {
  let left = TEXT_MOST_CHARS;
  const visit = (node: Node) => {
    for (const child of [...node.childNodes]) {
      if (left <= 0) child.remove();
      else if (child.nodeType === 3) left -= child.nodeValue?.trim().length ?? 0;
      else visit(child);
    }
  };
  visit(content);
}

/** A copy without the page's frame. */
function withoutFrame(body: Element): Element {
  const copy = body.cloneNode(true) as Element;
  for (const part of copy.querySelectorAll(FRAME)) part.remove();
  return copy;
}

/** The length of the long paragraphs. */
function proseLength(content: Element): number {
  const lengths = [...content.querySelectorAll('p')].map(textLength);
  return lengths.reduce((sum, length) => sum + (length >= PARAGRAPH_MIN_CHARS ? length : 0), 0);
}

/** The length of the text outside of links. */
function ownLength(content: Element): number {
  return [...content.querySelectorAll('a')].reduce((sum, link) => sum - textLength(link), textLength(content));
}

function textLength(node: Node): number {
  return node.textContent?.replace(/\s+/g, ' ').length ?? 0;
}

function turndown(url: string): TurndownService {
  const service = new TurndownService({
    headingStyle: 'atx',
    codeBlockStyle: 'fenced',
    bulletListMarker: '-',
    hr: '---',
  });
  service.use([strikethrough, tables]);
  service.addRule('ticks', {
    filter: (node) => node.hasAttribute('data-tick'),
    replacement: (_text, node) => `[${(node as HTMLElement).getAttribute('data-tick')}]`,
  });
  service.addRule('links', {
    filter: (node) => node.nodeName === 'A' && node.getAttribute('href') !== null,
    replacement: (text, node) => link(text, (node as HTMLElement).getAttribute('href') ?? '', url),
  });
  return service;
}

/** Removes links without text, and unwraps links within the page. */
function link(text: string, href: string, url: string): string {
  const words = text.trim().replace(/(?<!\s)\s*\n\s*/g, ' ');
  if (words === '') return '';
  const inPage = href.startsWith('#') || href.startsWith(`${url.split('#', 1)[0]}#`);
  return inPage ? words : `[${words}](${href.replaceAll('(', '%28').replaceAll(')', '%29').replaceAll(' ', '%20')})`;
}

const HEADINGS = 'h1,h2,h3,h4,h5,h6';
const PARTS = 'caption,thead,tbody,tfoot,tr,td,th';
/** Elements that Markdown does not allow in a cell. */
const BLOCKS = `${HEADINGS},ul,ol,li,hr,blockquote,pre`;

/**
 * Turns blocks in table cells into lines of text, and unwraps layout tables and cells without a table: the Markdown rules
 * would leave them as HTML. Expects plain code.
 */
function plainTables(content: Element): void {
  for (const part of [...content.querySelectorAll(PARTS)].reverse()) if (part.closest('table') === null) asBlock(part);
  for (const table of content.querySelectorAll('table')) {
    const blocks = [...table.querySelectorAll(BLOCKS)];
    if (blocks.length === 0) continue;
    if (isLayout(table)) unwrapTable(table);
    // Inner tables come first.
    else for (const block of blocks.reverse()) asLines(block);
  }
}

function isLayout(table: Element): boolean {
  if (/^(?:presentation|none)$/.test(table.getAttribute('role') ?? '') || table.querySelector('table') !== null)
    return true;
  if (table.querySelector('th') !== null) return false;
  return table.querySelectorAll('td').length < 2 || table.querySelector(HEADINGS) !== null;
}

function unwrapTable(table: Element): void {
  const parts = [...table.querySelectorAll(PARTS)].filter((part) => part.closest('table') === table);
  for (const part of [...parts.reverse(), table]) asBlock(part);
}

function asBlock(part: Element): void {
  const div = part.ownerDocument.createElement('div');
  div.append(...part.childNodes);
  part.replaceWith(div);
}

function asLines(block: Element): void {
  const { ownerDocument: document, localName } = block;
  const put = (name: string, nodes: Iterable<Node | string>) => {
    const element = document.createElement(name);
    element.append(...nodes);
    return element;
  };
  if (/^h\d$/.test(localName)) block.replaceChildren(put('strong', [...block.childNodes]));
  if (localName === 'pre') {
    const lines = (block.textContent ?? '').split('\n').filter((line) => line.trim() !== '');
    block.replaceChildren(...lines.flatMap((line) => [put('code', [line]), put('br', [])]));
  }
  const before = lastWritten(block.previousSibling);
  const last = lastWritten(block.lastChild);
  if (before !== null && !endsLine(before)) block.before(put('br', []));
  if (last !== null && !endsLine(last)) block.append(put('br', []));
  block.replaceWith(...block.childNodes);
}

/** Whether the node ends with a line break, now or once the block becomes lines. */
function endsLine(node: Node): boolean {
  return node.nodeName === 'BR' || (node.nodeType === 1 && (node as Element).matches(BLOCKS));
}

/** The node, or the nearest one before it that is not white space. */
function lastWritten(node: Node | null): Node | null {
  let at = node;
  while (at !== null && at.nodeType === 3 && at.nodeValue?.trim() === '') at = at.previousSibling;
  return at;
}

/** Matches the class names of line numbers in syntax highlighters. */
const GUTTER = /(?:^|[\s_-])(?:line-?nos?|linenodiv|line-?num(?:ber)?s?|gutter|lnt?|lntd|blob-num)(?:$|[\s_-])/i;
const LANGUAGE =
  /(?:^|\s)(?:language-|lang-|highlight-(?:source-|text-)?|sourceCode\s+)([\w+#.-]{1,24})(?:$|\s)|(?:^|[\s;])brush:\s*([\w+#.-]{1,24})/;
const NO_LANGUAGE = /^(?:default|none|auto|code|plain|plaintext|notranslate)$/i;
const BLOCK = /^(?:address|blockquote|dd|div|dl|dt|figure|li|ol|p|pre|section|table|tr|ul)$/;
const TABLE_PART = /^(?:table|thead|tbody|tfoot|tr)$/;
/** A wrapper with more text than this besides its code is more than a code block. */
const LABEL_MOST_CHARS = 80;

/**
 * Turns each code block, of any highlighter, into a `pre` with only a `code`, its text, and the class of its language. Must
 * precede Readability, which removes line breaks.
 */
function plainCode(document: Document): void {
  for (const block of [...document.querySelectorAll('table'), ...document.querySelectorAll('pre')]) {
    const isCode = block.localName === 'pre' ? block.querySelector('h1,h2,h3,h4,h5,h6') === null : isCodeTable(block);
    if (!isCode || block.parentElement?.closest('pre')) continue;
    const [plain, code] = [document.createElement('pre'), document.createElement('code')];
    const language = languageOf(block);
    if (language !== null) code.setAttribute('class', `language-${language}`);
    code.textContent = codeText(block);
    plain.append(code);
    block.replaceWith(plain);
  }
}

/** Whether the table has line numbers in its first cell and code in its last. */
function isCodeTable(table: Element): boolean {
  const first = table.querySelector('td');
  const last = first?.parentElement?.lastElementChild;
  return first !== null && first !== last && isGutter(first) && table.querySelector('th') === null;
}

function isGutter(element: Element): boolean {
  return GUTTER.test(element.getAttribute('class') ?? '') && /^[\d\s]*$/.test(element.textContent ?? '');
}

function languageOf(block: Element): string | null {
  const own = statedLanguage(block.querySelector('code')) ?? statedLanguage(block);
  if (own !== null) return own;
  const mostChars = (block.textContent?.length ?? 0) + LABEL_MOST_CHARS;
  let around = block.parentElement;
  for (let level = 0; level < 3 && around !== null && /^(?:div|figure|td)$/.test(around.localName); level++) {
    const language = statedLanguage(around);
    if (language !== null) return (around.textContent?.length ?? 0) <= mostChars ? language : null;
    around = around.parentElement;
  }
  return null;
}

function statedLanguage(element: Element | null): string | null {
  const [, named, brush] = LANGUAGE.exec(element?.getAttribute('class') ?? '') ?? [];
  const language = element?.getAttribute('data-lang') ?? element?.getAttribute('data-language') ?? named ?? brush ?? '';
  return /^[\w+#.-]{1,24}$/.test(language) && !NO_LANGUAGE.test(language) ? language : null;
}

/** The text of a block with its line breaks, without line numbers and buttons. */
function codeText(block: Element): string {
  let text = '';
  let endsLine = false;
  visit(block);
  return text.replace(/^(?:[ \t]*\n)+/, '').trimEnd();

  function visit(parent: Element): void {
    for (const child of parent.childNodes) {
      if (child.nodeType === 3) add(child.nodeValue ?? '', TABLE_PART.test(parent.localName));
      else if (child.nodeType === 1) element(child as Element);
    }
  }

  /** Appends text. White space between two line blocks is only layout, since each ends its own line. */
  function add(added: string, between: boolean): void {
    const isLayout = between ? added.trim() === '' : endsLine && /^[ \t]*\n[ \t]*$/.test(added);
    if (!isLayout) text += added;
    endsLine = false;
  }

  function element(child: Element): void {
    if (child.localName === 'br') add('\n', false);
    else if (child.localName === 'button' || isGutter(child)) return;
    else if (!BLOCK.test(child.localName)) visit(child);
    else {
      startLine();
      endsLine = false;
      const before = text.length;
      visit(child);
      if (text.length === before) return;
      startLine();
      endsLine = true;
    }
  }

  function startLine(): void {
    if (text !== '' && !text.endsWith('\n')) text += '\n';
  }
}
