import { expect, it } from 'vitest';
import { toMarkdown } from '../../../src/render/inspect/markdown-thread.js';
import { words } from '../../fixtures/site/answer.js';

function markdown(body: string): string {
  return toMarkdown({
    html: `<!doctype html><html><head></head><body>${body}</body></html>`,
    url: 'https://example.com/',
    title: 'Page',
  });
}

const ARTICLE = `<article><h1>The harbour</h1>${[1, 2, 3, 4].map((seed) => `<p>Article, ${words(45, seed)}.</p>`).join('')}</article>`;

it('an article is extracted from a page that is mostly comments and links to others', () => {
  const others = Array.from(
    { length: 90 },
    (_, at) => `<li><a href="/${at}">Other story ${words(14, at)}</a></li>`,
  ).join('');
  const text = markdown(`${ARTICLE}<div class="related sidebar"><ul>${others}</ul></div>`);
  expect(text).toContain('Article, ');
  expect(text).not.toContain('Other story');
});

it('cells are read although the article was extracted without their table', () => {
  const cell = `<td width="500">${[1, 2, 3].map((seed) => `<p>Tale, ${words(50, seed)}.</p>`).join('')}</td>`;
  const rows = `<table><tr><td><a href="/">Home</a></td></tr></table><tbody><tr>${cell}</tr></tbody>`;
  for (const body of [`<table><tbody><tr><td>Menu</td>${cell}</tr></tbody></table>`, rows, cell])
    expect(markdown(body)).toContain('Tale, ');
});

it('a shop is read with all of its products, without its frame', () => {
  const cards = Array.from(
    { length: 8 },
    (_, at) => `<div class="card"><h5>Tea ${at}</h5><p>From garden ${words(6, at)}.</p><span>$${at}.00</span></div>`,
  ).join('');
  const about = `<div class="about"><p>Shop, ${words(40, 3)}.</p><p>Shop, ${words(40, 4)}.</p></div>`;
  const text = markdown(`<nav>Menu entry</nav><header><h1>Teas</h1></header>${cards}${about}<footer>Imprint</footer>`);
  for (let at = 0; at < 8; at++) expect(text).toContain(`Tea ${at}`);
  expect(text).not.toMatch(/Menu entry|Imprint/);
});
