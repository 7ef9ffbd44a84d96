import { describe, expect, it } from 'vitest';
import { renderTemplate } from '../../src/templates/render-template.js';

const PAGE = (body: string) => `<!DOCTYPE html><html><head></head><body>${body}</body></html>`;

async function bodyOf(source: string, data: Record<string, unknown> = {}, partials: Record<string, string> = {}) {
  const html = await renderTemplate({ sources: { 'index.html': source, ...partials }, data });
  return html.replace(/^<html><head><\/head><body>|<\/body><\/html>$/g, '');
}

const HOSTILE = `</title></style></script>"'><img src=x onerror=alert(1)>&{{ x }}`;

describe('a value in a template', () => {
  it.each([
    [
      'text',
      '<p>{{ x }}</p>',
      `<p>&lt;/title&gt;&lt;/style&gt;&lt;/script&gt;"'&gt;&lt;img src=x onerror=alert(1)&gt;&amp;{{ x }}</p>`,
    ],
    ['an attribute', '<p title="{{ x }}">a</p>', /^<p title="[^"<]*&quot;[^"]*">a<\/p>$/],
    ['an attribute without quotes', '<p title={{ x }}>a</p>', /^<p title="[^"]*&quot;[^"]*">a<\/p>$/],
    ['a textarea', '<textarea>{{ x }}</textarea>', /^<textarea>&lt;\/title&gt;[^<]*<\/textarea>$/],
    ['a comment', '<p>a</p><!-- {{ x }} -->', '<p>a</p><!---->'],
    ['a string of CSS', '<p style="--a: \'{{ x }}\'">a</p>', /^<p style="--a: '[^'<>]*'">a<\/p>$/],
    ['a comment of CSS', '<p style="/* {{ x }} */ color: red">a</p>', '<p style="/*  */ color: red">a</p>'],
    ['a part of an address', '<a href="/find?q={{ x }}">a</a>', /^<a href="\/find\?q=%3C%2Ftitle[^"<>]*">a<\/a>$/],
    [
      'JSON',
      '<p></p><script type="application/json">{"a": {{ x }}}</script>',
      /^<p><\/p><script type="application\/json">\{"a": "\\u003c\/title[^<]*\}<\/script>$/,
    ],
    [
      'a captured text',
      '{% capture y %}<b>{{ x }}</b>{% endcapture %}<p>{{ y }}</p>',
      /^<p>&lt;b&gt;&lt;\/title&gt;[^<]*<\/p>$/,
    ],
    ['a cycle', '<p>{% cycle x, "b" %}</p>', /^<p>&lt;\/title&gt;[^<]*<\/p>$/],
    ['an echo', '<p>{% echo x %}</p>', /^<p>&lt;\/title&gt;[^<]*<\/p>$/],
  ])('is escaped in %s', async (_, source, expected) => {
    const body = await bodyOf(source, { x: HOSTILE });
    if (typeof expected === 'string') expect(body).toBe(expected);
    else expect(body).toMatch(expected);
  });

  it.each([
    ['<script>let a = "{{ x }}"</script>', 'a script'],
    ['<p onclick="a({{ x }})">', 'the attribute `onclick` of <p>'],
    ['<a{{ x }}>', 'the name of an element'],
    ['<p {{ x }}="a">', 'the name of an attribute'],
    ['<iframe srcdoc="{{ x }}"></iframe>', 'the attribute `srcdoc` of <iframe>'],
    ['<noscript>{{ x }}</noscript>', 'the text of <noscript>'],
    ['<a href="{{ x }}">a</a>', 'the attribute `href` of <a>'],
    ['<img src=" {{ x }}">', 'the attribute `src` of <img>'],
    ['<script src="{{ y }}"></script>', 'the attribute `src` of <script>'],
    ['<base href="{{ y }}">', 'the attribute `href` of <base>'],
    ['<svg><a><animate attributeName="href" to="{{ y }}" /></a></svg>', 'the attribute `to` of <animate>'],
    ['<meta http-equiv="refresh" content="{{ y }}">', 'the attribute `content` of <meta>'],
    ['<p style="color: {{ z }}">', 'a style'],
    ['<style>@import "{{ y }}";</style>', 'a style'],
    ['<style>p { background: url({{ x }}) }</style>', 'a style'],
  ])('is refused where it could become more: %s', async (source, place) => {
    const data = { x: 'javascript:alert(1)', y: 'https://example.com/', z: 'red;}p{' };
    await expect(bodyOf(source, data)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(`\`index.html\` has a value in ${place}`),
    });
  });

  it('keeps what is meant: addresses, pictures, colors, numbers and words', async () => {
    const data = {
      url: 'https://example.com/a?b=1&c=2',
      image: 'data:image/png;base64,AAAA',
      file: 'img/logo (1).png',
      color: 'rgb(10, 20, 30)',
      width: 12.5,
      none: null,
      items: [{ a: '<' }, { a: 'ש' }],
    };
    const source = `<a href="{{ url }}" style="color: {{ color }}; width: {{ width }}px; background: url('{{ file }}')">
      <img src="{{ image }}" alt="{{ none }}"><i>{% for item in items %}{{ item.a | upcase }}{% endfor %}</i></a>`;
    expect(await bodyOf(source, data)).toBe(
      `<a href="https://example.com/a?b=1&amp;c=2" style="color: rgb(10, 20, 30); width: 12.5px; background: url('img/logo%20%281%29.png')">
      <img src="data:image/png;base64,AAAA" alt=""><i>&lt;ש</i></a>`,
    );
  });

  it('cannot forge the mark of another value, or take part in one that a filter has cut', async () => {
    const forged = '\uFDD010000000000000.0\uFDD1';
    expect(await bodyOf('{{ a }}<p>{{ b }}</p>', { a: 'secret', b: forged })).not.toMatch(/<p>.*secret/);
    expect(
      await bodyOf('{% capture c %}{{ a }}{% endcapture %}<p>{{ c | truncate: 6 }}</p>', { a: '<b>' }),
    ).not.toContain('<b>');
  });
});

describe('a template', () => {
  it('may have more elements beside each other than a call has arguments', async () => {
    expect(await bodyOf('<br>'.repeat(200_000))).toHaveLength(4 * 200_000);
  });

  it('may use its own partials, and nothing else', async () => {
    const partials = { 'row.liquid': '<li>{{ name }}</li>' };
    expect(await bodyOf("{% render 'row', name: 'a' %}", {}, partials)).toBe('<li>a</li>');
    for (const name of ['index.html', '../../etc/passwd', '/etc/passwd', 'package.json'])
      await expect(bodyOf(`{% render '${name}' %}`, {}, partials)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it.each([
    ['a loop', '{% for i in (1..100000000) %}a{% endfor %}'],
    ['nested loops', '{% for i in (1..9999) %}{% for j in (1..9999) %}{{ j }}{% endfor %}{% endfor %}'],
    ['a partial of itself', "{% render 'self' %}"],
    ['doubling', `{% assign a = "aaaaaaaaaa" %}${'{% assign a = a | append: a %}'.repeat(40)}{{ a }}`],
    [
      'captures of captures',
      `{% capture a %}x{% endcapture %}${'{% capture a %}{{ a }}{{ a }}{% endcapture %}'.repeat(60)}{{ a }}`,
    ],
  ])('that is a bomb fails: %s', async (_, source) => {
    const outcome = bodyOf(source, {}, { 'self.liquid': "{% render 'self' %}" });
    await expect(outcome).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('is refused when it is checked with names that no parameter has, and has neither `raw` nor unknown filters', async () => {
    const check = (source: string) =>
      renderTemplate({ sources: { 'index.html': source }, data: { a: 1 }, isChecked: true });
    expect(await check(PAGE('{{ a }}'))).toBe(PAGE('1'));
    await expect(check('{% if a == 2 %}{{ titel }}{% endif %}')).rejects.toThrow('uses `titel`');
    await expect(check('{{ a | raw }}')).rejects.toThrow('undefined filter: raw');
    await expect(check('{{ a ')).rejects.toThrow('not closed');
    await expect(check('{% layout "x" %}')).rejects.toThrow('tag "layout" not found');
    await expect(check('{{ a | date: "%Y" | no_such }}')).rejects.toThrow('undefined filter: no_such');
  });

  it.each([
    ['a page that renders it', '{% render "row" %}', {}],
    ['a branch that is not taken', '{% if a == 2 %}{% include "row" %}{% endif %}', {}],
    ['a name in a variable', '{% assign file = "row" %}{% render file %}', {}],
    ['another file', '{% render "list" %}', { 'list.liquid': '<ul>{% render "row" %}</ul>' }],
    ['a subfolder', '{% render "list" %}', { 'list.liquid': '<ul>{% render "row" %}</ul>', 'parts/row.liquid': 'a' }],
  ])('is refused with the name of a file that it does not have: %s', async (_, source, partials) => {
    const task = { sources: { 'index.html': source, ...partials }, data: { a: 1 } };
    const refusal = { code: 'invalid_request', message: expect.stringContaining('`row` is not a .liquid file') };
    await expect(renderTemplate({ ...task, isChecked: true })).rejects.toMatchObject(refusal);
    if (!source.includes('if')) await expect(renderTemplate(task)).rejects.toMatchObject(refusal);
  });

  it.each([
    ['the limit of parsing', `{{ a }}${' '.repeat(1_000_001)}`, 'parse length limit exceeded'],
    [
      'the limit of memory',
      '{% assign b = "0123456789" %}{% for i in (1..30) %}{% assign b = b | append: b %}{% endfor %}',
      'memory alloc limit',
    ],
    ['an error of another file', '{% render "row" %}', 'undefined filter: nope, file:row.liquid, line:1'],
    ['a wrong type', '{{ a | where: "b" | sort: 1 | divided_by: "x" | slice }}{% render a %}', 'cannot be rendered'],
  ])('is refused with the error of the engine: %s', async (_, source, message) => {
    const sources = { 'index.html': source, 'row.liquid': '{{ 1 | nope }}' };
    const outcome = renderTemplate({ sources, data: { a: 1 } });
    await expect(outcome).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringContaining(message) });
  });
});
