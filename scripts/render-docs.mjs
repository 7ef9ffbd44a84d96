/** Makes the pages that the server shows at /docs: the Markdown of docs/, in the groups of docs/contents.json. */
import { readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { Marked } from 'marked';

/** The page that is shown at /docs itself. */
const START = 'start';

/**
 * @param {string} contents the path of contents.json
 * @returns {{title: string, pages: {name: string, title: string, lead: string, html: string, headings: {id: string, html: string}[]}[]}[]}
 */
export function renderDocs(contents) {
  const groups = Object.entries(JSON.parse(readFileSync(contents, 'utf8')));
  const names = groups.flatMap(([, pages]) => pages);
  const dir = dirname(contents);
  return groups.map(([title, pages]) => ({ title, pages: pages.map((name) => renderPage({ dir, name, names })) }));
}

function renderPage({ dir, name, names }) {
  const markdown = readFileSync(join(dir, `${name}.md`), 'utf8');
  const [, title = name] = /^# (.*)$/m.exec(markdown) ?? [];
  const headings = [];
  const ids = new Set();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const [id, html] = [anchorOf(text), this.parser.parseInline(tokens)];
        ids.add(id);
        if (depth === 2) headings.push({ id, html: html.replace(/<\/?a\b[^>]*>/g, '') });
        return `<h${depth} id="${id}">${html}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const to = hrefOf(href, names, name === START ? 'docs/' : '');
        return to === null ? text : `<a href="${to}">${text}</a>`;
      },
      image({ href, text }) {
        const data = readFileSync(join(dir, href), 'base64');
        return `<img src="data:image/${extname(href).slice(1)};base64,${data}" alt="${text}" loading="lazy">`;
      },
      table({ header, rows }) {
        const inline = (cell) => this.parser.parseInline(cell.tokens);
        const body = rows.map(([first, ...cells]) => {
          const named = cells.map((cell, i) => `<td data-name="${header[i + 1].text}">${inline(cell)}</td>`);
          return `<tr${rowId(first, ids)}><th scope="row">${inline(first)}</th>${named.join('')}</tr>\n`;
        });
        const head = header.map((cell) => `<th scope="col">${inline(cell)}</th>`).join('');
        return `<div class="table"><table class="stacked"><thead><tr>${head}</tr></thead><tbody>\n${body.join('')}</tbody></table></div>\n`;
      },
    },
  });
  const text = markdown.replace(/^# .*\n/m, '');
  const html = marked.parse(text);
  const [first = ''] = /(?<=^<p>).*?(?=<\/p>$)/ms.exec(html) ?? [];
  return { name: name === START ? '' : name, title, lead: sentenceOf(first), html, headings };
}

/** The anchor of a row that begins with a name, such as an option or a setting, so that a search can lead to it. */
function rowId({ tokens: [first] }, ids) {
  if (first?.type !== 'codespan' || !/^[\w.-]+$/.test(first.text) || ids.has(first.text)) return '';
  ids.add(first.text);
  return ` id="${first.text}"`;
}

/** The first sentence, without its links. */
function sentenceOf(paragraph) {
  const text = paragraph.replace(/<\/?a\b[^>]*>/g, '');
  return /^.*?[.:](?=\s|$)/s.exec(text)?.[0].replace(/:$/, '.') ?? text;
}

/** As GitHub makes them. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** null for a file of the repository, which the server does not have. */
function hrefOf(link, names, prefix) {
  if (/^(https:|#)/.test(link)) return link;
  const [, name, anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(link) ?? [];
  if (!names.includes(name)) return null;
  return name === START ? `../docs${anchor}` : `${prefix}${name}${anchor}`;
}
