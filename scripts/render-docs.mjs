/** Makes the pages that the server shows at /docs: the Markdown of docs/, in the order of docs/contents.json. */
import { readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { Marked } from 'marked';

/**
 * @param {string} contents the path of contents.json
 * @returns {{name: string, title: string, html: string}[]}
 */
export function renderDocs(contents) {
  const names = JSON.parse(readFileSync(contents, 'utf8'));
  const dir = dirname(contents);
  return names.map((name) => renderPage({ dir, name, names }));
}

function renderPage({ dir, name, names }) {
  const markdown = readFileSync(join(dir, `${name}.md`), 'utf8');
  const [, title = name] = /^# (.*)$/m.exec(markdown) ?? [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const to = hrefOf(href, names);
        return to === null ? text : `<a href="${to}">${text}</a>`;
      },
      image({ href, text }) {
        const data = readFileSync(join(dir, href), 'base64');
        return `<img src="data:image/${extname(href).slice(1)};base64,${data}" alt="${text}" loading="lazy">`;
      },
    },
  });
  const html = marked.parse(markdown.replace(/^# .*\n/, ''));
  return { name, title, html: html.replaceAll('<table>', '<div class="table"><table>').replaceAll('</table>', '</table></div>') };
}

/** As GitHub makes them. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** null for a file of the repository, which the server does not have. */
function hrefOf(link, names) {
  if (/^(https:|#)/.test(link)) return link;
  const [, name, anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(link) ?? [];
  return names.includes(name) ? `${name}${anchor}` : null;
}
