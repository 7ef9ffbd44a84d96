import { gfm } from '@joplin/turndown-plugin-gfm';
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';

export interface MarkdownSource {
  html: string;
  url: string;
  title: string;
}

/** An article shorter than this part of the page's text was not the page's content. */
const ARTICLE_MIN_PART = 0.25;

/** The main content of a document as Markdown, under its title. */
export function toMarkdown({ html, url, title }: MarkdownSource): string {
  const { document } = parseHTML(html);
  const body = document.body ?? document.documentElement;
  const wholeText = textLength(body);
  const heading = firstHeading(document) ?? title.trim();
  // Readability takes the document apart, so it gets one of its own.
  const article = new Readability<Node>(parseHTML(html).document, { serializer: (node) => node, charThreshold: 200 }).parse();
  const content = article?.content ?? null;
  const isArticle = content !== null && textLength(content) >= wholeText * ARTICLE_MIN_PART;
  const markdown = turndown(url)
    .turndown((isArticle ? content : body) as TurndownService.Node)
    .trim();
  return heading === '' || saysAlready(markdown, heading) ? markdown : `# ${heading}\n\n${markdown}`.trim();
}

function firstHeading(document: Document): string | null {
  const text = document.querySelector('h1')?.textContent?.replace(/\s+/g, ' ').trim();
  return text ? text : null;
}

/** Whether a heading near the top has the words. */
function saysAlready(markdown: string, heading: string): boolean {
  const fold = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  const wanted = fold(heading);
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('#'))
    .slice(0, 3)
    .some((line) => fold(line) === wanted);
}

function textLength(node: Node): number {
  return node.textContent?.replace(/\s+/g, ' ').length ?? 0;
}

function turndown(url: string): TurndownService {
  const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-', hr: '---' });
  service.use(gfm);
  service.addRule('links', {
    filter: (node) => node.nodeName === 'A' && node.getAttribute('href') !== null,
    replacement: (text, node) => link(text, (node as HTMLElement).getAttribute('href') ?? '', url),
  });
  return service;
}

/** A link without words says nothing; one within the page leads nowhere. */
function link(text: string, href: string, url: string): string {
  const words = text.trim().replace(/\s*\n\s*/g, ' ');
  if (words === '') return '';
  const inPage = href.startsWith('#') || href.startsWith(`${url.split('#', 1)[0]}#`);
  return inPage ? words : `[${words}](${href.replaceAll('(', '%28').replaceAll(')', '%29').replaceAll(' ', '%20')})`;
}
