import { rm } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { inspect, MarkdownWorker } from '../../../src/render/inspect/inspect.js';
import { aPageSession, browserOfFile, options } from '../picture/a-page-session.js';
import { builtThread } from './thread.js';

const article = `<!doctype html><title>Tea - Site</title>
<nav><a href="/home">Home</a><a href="/shop">Shop</a></nav>
<main><article><h1>How to brew tea</h1>
<p>${'Warm the pot first, then pour the water over the leaves and wait. '.repeat(8)}</p>
<h2>Steps</h2><ul><li>Boil <a href="https://me:hush@fixture.test/water">water</a></li><li>Wait</li></ul>
<table><thead><tr><th>Tea</th><th>Minutes</th></tr></thead><tbody><tr><td>Green</td><td>2</td></tr></tbody></table>
<pre><code>kettle --boil</code></pre>
<p>${'Serve at once, in cups that have been warmed as well. '.repeat(8)}</p>
<p style="display:none">A secret nobody sees</p><script>document.title += ''; const hidden = 'SCRIPT TEXT';</script>
<x-note></x-note></article></main><footer>Imprint</footer>
<script>document.querySelector('x-note').attachShadow({mode:'open'}).innerHTML='<p>${'A note from the shadow tree about the cup. '.repeat(5)}</p>'</script>`;

const [browser, thread] = await Promise.all([browserOfFile(), builtThread()]);
const worker = new MarkdownWorker({ thread });

afterAll(async () => {
  await worker[Symbol.asyncDispose]();
  await rm(thread, { force: true });
});

async function inspected(html: string, timeoutMs = 60_000) {
  await using session = await aPageSession(browser, { html, options: options() });
  return await inspect(session, { timeoutMs, worker });
}

describe('inspect', () => {
  it('returns the main content as Markdown, under its heading, with absolute links, without what is invisible', async () => {
    const { markdown } = await inspected(article);
    expect(markdown).toMatch(/^# How to brew tea\n/);
    expect(markdown.match(/How to brew tea/g)).toHaveLength(1);
    expect(markdown).toContain('## Steps');
    expect(markdown).toMatch(/- +Boil \[water\]\(https:\/\/fixture\.test\/water\)/);
    expect(markdown).toMatch(/\| Tea \| Minutes \|\n\| --- \| --- \|\n\| Green \| 2 +\|/);
    expect(markdown).toContain('```\nkettle --boil\n```');
    expect(markdown).toContain('A note from the shadow tree');
    expect(markdown).not.toMatch(/A secret nobody sees|SCRIPT TEXT/);
  });

  const hidden =
    '<main><h1>Tea</h1><section style="visibility:hidden"><p>Secret <img src="/s.png" alt="Pot"><span style="visibility:visible">Public</span></p><a href="/x">Way</a><table><tr><td>Cell</td></tr></table></section></main>';
  const lists =
    '<main><h1>Lists</h1><ol start="3"><li>three</li><li>four<ul><li>inner</li></ul></li></ol><blockquote><p>Said by someone</p></blockquote></main>';

  const words = 'The kettle stands on the stove, and the stove stands by the window. ';
  const around = (main: string) =>
    `<title>Tea</title><h1>Tea</h1><p><a href="/print">Print this page</a></p><main><p>${main}</p></main><div><p>Read more about cups</p></div>`;
  const loading = `${around('Loading')}<div>${`<p>${words.repeat(6)}</p>`.repeat(3)}</div>`;

  const within =
    '<h2>Tea</h2><p>Pour <a href=/water>water</a>.</p><p style=display:none>Secret</p><ul><li><input type=checkbox checked>Wait</ul>';
  const framed = (before: string, style = 'width:100vw;height:100vh', attributes = '') =>
    `<title>T</title>${before}<iframe style="${style}"${attributes} srcdoc="${within}"></iframe>`;
  const filled = /^# T\n\nMenu\n\n## Tea\n\nPour \[water\]\(https:\/\/fixture\.test\/water\)\.\n\n- \[x\] Wait$/;

  const tasks =
    '<ul><li><input type="checkbox" checked disabled>boil</li><li><label><input type="checkbox"> </label>wait</li><li><p><input type="checkbox" hidden></p>serve</li></ul>';
  const card = '<main><h1>Shop</h1><a href="/tea"><h3>Green <b>tea</b></h3><p>From the hills.</p></a></main>';
  const cells =
    '<table><tr><th>Tea</th><th>How</th></tr><tr><td><h4>Green</h4>mild</td><td>Do <ul> <li>boil<ol><li>long</li></ol></li> <li>wait</li> </ul></td></tr><tr><td>Black<hr></td><td><pre>a_b\n\nc</pre></td></tr></table>';
  const rows =
    '| Tea | How |\n| --- | --- |\n| **Green** <br>mild | Do <br>boil <br>long <br>wait |\n| Black | `a_b` <br>`c` |';
  const layout = '<table><tr><td><ul><li>Home</li></ul></td><td><h2>Black</h2><p>Strong.</p></td></tr></table>';
  const json = JSON.stringify({ snake_case: 1, list: ['a*b'] });

  it.each<[string, string, string | RegExp]>([
    ['includes visible content inside hidden elements, and nothing else of them', hidden, '# Tea\n\nPublic'],
    ['omits everything around the only main element', around(words.repeat(6)), `# Tea\n\n${words.repeat(6).trim()}`],
    ['includes what is around a main element that is a small part of the page', loading, /The kettle/],
    ['returns nothing for an empty page', '<body></body>', ''],
    ['accepts a page without a body', '<frameset><frame src="about:blank"></frameset>', ''],
    ['converts quotations, ordered lists and nested ones', lists, /3\. three\n4\. four\n+ - inner.*> Said by someone/s],
    ["reads a frame that is the page's content", framed('<p>Menu</p>'), filled],
    ['reads no small frame', framed('<p>Menu</p>', 'width:300px;height:100px'), '# T\n\nMenu'],
    ['reads no frame beside content', framed(`<p>${'Words. '.repeat(20)}</p>`), /^(?!.*Pour)/s],
    ['reads no closed frame', framed('<p>Menu</p>', undefined, ' sandbox=""'), '# T\n\nMenu'],
    [
      'marks for each task in a list whether it is done',
      `<main><h1>Tea</h1>${tasks}<p><input type="checkbox" checked>I agree</p></main>`,
      '# Tea\n\n- [x] boil\n- [ ] wait\n- serve\n\nI agree',
    ],
    [
      'marks the tasks of an article',
      `<article><h1>Tea</h1><p>${words.repeat(9)}</p>${tasks}<p>${words}</p></article>`,
      /- \[x\] boil\n- \[ \] wait\n/,
    ],
    [
      'takes the whole body if there is no article, and the title as heading',
      '<title>Prices</title><ul><li>Tea 2</li></ul>',
      '# Prices\n\n- Tea 2',
    ],
    [
      'moves the link around a card into its heading',
      card,
      '# Shop\n\n### [Green **tea**](https://fixture.test/tea)\n\nFrom the hills.',
    ],
    ['keeps a table a table whatever is in its cells', `<main><h1>Tea</h1>${cells}</main>`, `# Tea\n\n${rows}`],
    ['unwraps layout tables', `<h1>Tea</h1>${layout}`, /^# Tea\n\n- Home\n\n## Black\n\nStrong\.$/],
    ['converts code when the page has nothing else', `<body><pre>${json}</pre></body>`, `\`\`\`\n${json}\n\`\`\``],
  ])('%s', async (_title, html, expected) => {
    const text = (await inspected(html)).markdown.replace(/ +/g, ' ');
    if (typeof expected === 'string') expect(text).toBe(expected);
    else expect(text).toMatch(expected);
  });

  describe('converts code to code', () => {
    const text = `<p>${'Install it with the tool that came with the system. '.repeat(6)}</p>`;
    const codeOf = async (html: string) =>
      (await inspected(`<main><h1>Install</h1>${text}${html}${text}</main>`)).markdown;

    it('without a code element, with the language of an element around it', async () => {
      const sphinx = `<div class="highlight-bash notranslate"><div class="highlight"><pre><span></span>pip<span class="w"> </span>install my_pkg
export A_B=1   <span class="c1"># *note*</span>
</pre></div></div>`;
      expect(await codeOf(sphinx)).toContain('\n\n```bash\npip install my_pkg\nexport A_B=1   # *note*\n```\n\n');
    });

    it.each([
      ['<pre><code class="language-js">let a_b = 1;\n</code></pre>', 'js'],
      ['<pre class="sourceCode python"><code class="sourceCode python">let a_b = 1;</code></pre>', 'python'],
      ['<pre class="brush: c#; gutter: false">let a_b = 1;</pre>', 'c#'],
      ['<figure data-lang="rust"><pre>let a_b = 1;</pre><figcaption>main.rs</figcaption></figure>', 'rust'],
      ['<div class="highlight highlight-source-shell"><pre>let a_b = 1;</pre></div>', 'shell'],
      ['<div class="highlight-default notranslate"><pre>let a_b = 1;</pre></div>', ''],
    ])('with the language that %s states', async (html, language) => {
      expect(await codeOf(html)).toContain(`\n\n\`\`\`${language}\nlet a_b = 1;\n\`\`\`\n\n`);
    });

    it.each(
      Object.entries({
        breaks: '<pre>if (a) {<br><br>  b();<br>}</pre>',
        'a block a line': '<pre><div>if (a) {</div><div>\n</div><div>  b();</div><div>}</div></pre>',
        'numbers of lines':
          '<pre><span class="lineno">1 </span>if (a) {\n<span class="lineno">2 </span>\n<span class="lineno">3 </span>  b();\n<span class="lineno">4 </span>}</pre>',
        'a column of numbers':
          '<div class="highlight"><table class="highlighttable"><tr> <td class="linenos"><div class="linenodiv"><pre>1\n2\n3\n4</pre></div></td> <td class="code"><div><pre>if (a) {\n\n  b();\n}\n</pre></div></td> </tr></table></div>',
        'a table in it':
          '<pre><code><table class="rouge-table"><tbody><tr><td class="rouge-gutter gl"><pre class="lineno">1\n2\n3\n4\n</pre></td><td class="rouge-code"><pre>if (a) {\n\n  b();\n}\n</pre></td></tr></tbody></table></code></pre>',
        'a row a line':
          '<table class="highlight"><tr><td class="blob-num"></td> <td class="blob-code">if (a) {</td></tr> <tr><td class="blob-num"></td><td class="blob-code">\n</td></tr><tr><td class="blob-num"></td><td class="blob-code">  b();</td></tr><tr><td class="blob-num"></td><td class="blob-code">}</td></tr></table>',
      }),
    )('with line breaks, from %s', async (_made, html) => {
      expect(await codeOf(`<style>td,pre{white-space:pre}</style>${html}`)).toContain(
        '\n\n```\nif (a) {\n\n  b();\n}\n```\n\n',
      );
    });

    it('in a fence longer than any inside it, without taking a comment for the heading', async () => {
      const markdown = await codeOf('<pre># Install\n```js\n````\n</pre>');
      expect(markdown).toContain('\n`````\n# Install\n```js\n````\n`````\n');
      expect(markdown).toMatch(/^# Install\n/);
    });
  });

  it('returns the accessibility tree as an outline of roles and names', async () => {
    const { accessibleTree } = await inspected(article);
    expect(accessibleTree).toContain('- heading "How to brew tea" [level=1]');
    expect(accessibleTree).toMatch(/- link "water"/);
    expect(accessibleTree).not.toContain('A secret nobody sees');
  });

  it('returns the outline of a form with fields named like the properties that are read', async () => {
    const { accessibleTree } = await inspected(
      '<form><input name="children" aria-label="How many"><button>Book</button></form>',
    );
    expect(accessibleTree).toContain('button "Book"');
  });

  it('truncates both at the limit, never inside a surrogate pair', async () => {
    const { markdown, accessibleTree } = await inspected(`<main><h1>x</h1><p>${'😀'.repeat(9_000)}</p></main>`);
    for (const text of [markdown, accessibleTree]) {
      expect(text.length).toBeLessThanOrEqual(12_000);
      expect(text.length).toBeGreaterThan(11_990);
      expect(text).not.toMatch(/[\ud800-\udbff]$/);
    }
  });

  it('reads the beginning of a page of 20,000 elements as fast as a small one', async () => {
    const rows = Array.from(
      { length: 5_000 },
      (_, i) => `<section><h2>Title ${i}</h2><p><a href="/${i}">link ${i}</a></p></section>`,
    );
    const { markdown, accessibleTree } = await inspected(`<main>${rows.join('')}</main>`);
    expect(accessibleTree).toMatch(/^- main:\n {2}- heading "Title 0" \[level=2\]/);
    expect(accessibleTree.length).toBeGreaterThan(11_900);
    expect(markdown).toContain('## Title 0');
    expect(markdown).toHaveLength(12_000);
  });
});

describe('long page content', () => {
  it('is truncated before the outline is made: texts and labels together, in any number of nodes', async () => {
    const html = `<main></main><script>const main = document.querySelector('main');
      for (let i = 0; i < 300; i++) main.append('t'.repeat(30_000), document.createComment(''));
      for (let i = 0; i < 300; i++) { const b = document.createElement('button'); b.title = 'l'.repeat(30_000); main.prepend(b); }</script>`;
    await using session = await aPageSession(browser, { html, options: options() });
    expect(await session.world.call('source.shorten')).toBe(true);
    const chars = await session.page.evaluate(() => {
      const labels = [...document.querySelectorAll('button')].map(({ title }) => title.length);
      return labels.reduce((sum, length) => sum + length, (document.body.textContent ?? '').length);
    });
    expect(chars).toBeGreaterThan(100_000);
    expect(chars).toBeLessThan(300_000);
  });

  it('is truncated in the thread that makes Markdown', async () => {
    const link = `<a href="https://long.test/${'u'.repeat(1_900)}">x</a> `;
    const html = `<!doctype html><html><head></head><body><p>${link.repeat(2_000)}</p></body></html>`;
    expect(await worker.convert({ html, url: 'https://fixture.test/', title: 'T' }, 60_000)).toHaveLength(12_001);
  });
});

describe('MarkdownWorker', () => {
  it('gives up in time on a document that takes too long, and converts the next', async () => {
    await using own = new MarkdownWorker({ thread });
    const deep = `<div>${'<table><tr><td>'.repeat(3_000)}x`;
    expect(await own.convert({ html: deep.repeat(20), url: 'https://fixture.test/', title: '' }, 300)).toBeNull();
    const short = {
      html: '<!doctype html><html><body><p>hello</p></body></html>',
      url: 'https://fixture.test/',
      title: 'T',
    };
    expect(await own.convert(short, 60_000)).toBe('# T\n\nhello');
  });

  it('returns null if the system refuses a new thread', async () => {
    // The constructor throws, as it does at a limit of processes (ERR_WORKER_INIT_FAILED).
    await using own = new MarkdownWorker({ thread: new URL('http://127.0.0.1/markdown-thread.js') });
    expect(await own.convert({ html: '<p>hello</p>', url: 'https://fixture.test/', title: 'T' }, 1_000)).toBeNull();
  });
});
