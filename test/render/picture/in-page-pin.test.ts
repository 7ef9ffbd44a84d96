import { describe, expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { blotOf } from './blots.js';
import { take } from './take.js';

const browser = await browserOfFile();

const ROWS =
  '<div style="height:100px;background:rgb(240,240,240)"></div><div style="height:100px;background:rgb(225,225,225)"></div>'.repeat(10);
const PINNED = [200, 0, 0] as const;
const pinned = (rules: string) => `style="position:fixed;width:80px;height:40px;background:rgb(${PINNED});${rules}"`;
const fullPage = async (html: string) => {
  const { content } = await take(browser, `<!doctype html><style>body{margin:0}</style>${html}`, { full_page: true });
  return await blotOf(content, PINNED);
};
const onceAt = (top: number) => ({ top, height: 40, pixels: 3_200 });

describe.concurrent('a fixed element in the view', () => {
  it.each([
    { name: 'under a root with a filter', html: `<html style="filter:contrast(1)"><b ${pinned('top:0')}></b>${ROWS}` },
    { name: 'in a transformed inline box', html: `<x-app style="transform:translateZ(0)"><b ${pinned('top:0')}></b>${ROWS}</x-app>` },
  ])('appears once $name', async ({ html }) => {
    expect(await fullPage(html)).toMatchObject(onceAt(0));
  });

  it('appears once in the top layer, whatever contains it', async () => {
    const dialog = `<dialog ${pinned('top:90px;margin:0;border:0;padding:0;outline:0')}></dialog><script>document.querySelector('dialog').showModal()</script>`;
    expect(await fullPage(`<div style="transform:translateZ(0)">${ROWS}${dialog}</div>`)).toMatchObject(onceAt(90));
  });

  it.each(['filter:contrast(1)', 'transform-style:preserve-3d', 'content-visibility:auto'])(
    'stays in the box that contains it by %s',
    async (rules) => {
      const box = `<div style="height:300px;${rules}"><b ${pinned('top:20px')}></b></div>`;
      expect(await fullPage(`${ROWS}${box}${ROWS}`)).toMatchObject(onceAt(2_020));
    },
  );
});

describe.concurrent('a sticky element', () => {
  const sticky = (rules: string) => `style="position:sticky;width:80px;height:40px;background:rgb(${PINNED});${rules}"`;
  const scrolled = (rules: string, content: string, by: string) =>
    `${ROWS.slice(0, ROWS.length / 2)}<div id="box" style="${rules}">${content}</div>${ROWS}<script>box.scrollTo(${by})</script>`;

  it('keeps its position in a box with its own scrolling, sideways and down', async () => {
    const column = `<div style="width:3000px"><div ${sticky('left:0')}></div></div>`;
    expect(await fullPage(scrolled('overflow-x:auto;width:400px', column, '700,0'))).toMatchObject({ left: 0, ...onceAt(1_000) });
    const log = `<div ${sticky('top:0')}></div><div style="height:2000px"></div>`;
    expect(await fullPage(scrolled('overflow:auto;height:200px', log, '0,9999'))).toMatchObject(onceAt(1_000));
  });

  it('is in the flow when the page scrolls it, even if the body clips wide content', async () => {
    const html = `<style>body{overflow-x:hidden}</style><div style="height:100px"></div><div ${sticky('top:0')}></div>${ROWS}`;
    expect(await fullPage(html)).toMatchObject(onceAt(100));
  });
});

describe.concurrent('an element fixed to the bottom edge', () => {
  it.each([400, 600])('is revealed completely at the end by content that moves away, %i px high', async (height) => {
    const main = `<main style="position:relative;z-index:1;margin-bottom:${height}px">${ROWS}</main>`;
    const blot = await fullPage(`${main}<footer ${pinned(`bottom:0;height:${height}px`)}></footer>`);
    expect(blot).toMatchObject({ top: 2_000, height, pixels: 80 * height });
  });

  it.each(['width:100%', 'width:80px'])('is at the top when it extends up over the content, %s', async (width) => {
    const html = `${ROWS}<div ${pinned(`bottom:0;left:0;height:100%;${width}`)}>text</div>`;
    expect(await fullPage(html)).toMatchObject({ top: 0, height: 600 });
  });
});

describe.concurrent('a fixed element inside a fixed one', () => {
  const BAR = [0, 0, 200] as const;
  const bar = `<b style="position:fixed;bottom:0;left:300px;width:80px;height:40px;background:rgb(${BAR})"></b>`;

  it.each([
    { name: 'a wrapper without size', html: `<div style="position:fixed;top:0;width:0;height:0">${bar}</div>` },
    { name: 'a header', html: `<div ${pinned('top:0')}>${bar}</div>` },
  ])('is at the end when it is at the bottom edge, in $name', async ({ html, name }) => {
    const { content } = await take(browser, `<!doctype html><style>body{margin:0}</style>${ROWS}${html}`, { full_page: true });
    expect(await blotOf(content, BAR)).toMatchObject(onceAt(1_960));
    if (name === 'a header') expect(await blotOf(content, PINNED)).toMatchObject(onceAt(0));
  });

  it.each(['position:fixed;bottom:0', 'position:sticky;top:0'])(
    'appears once when it is a form with a field named like a property: %s',
    async (rules) => {
      const form = `<form style="margin:0;width:80px;height:40px;background:rgb(${PINNED});${rules}"><input name="style" hidden></form>`;
      expect(await fullPage(form + ROWS)).toMatchObject({ height: 40, pixels: 3_200 });
    },
  );

  it('stays with the element that it overlaps', async () => {
    const { content } = await take(browser, `${ROWS}<div ${pinned('inset:0;width:auto;height:auto')}>text${bar}</div>`, {
      full_page: true,
    });
    expect(await blotOf(content, BAR)).toMatchObject(onceAt(560));
  });
});

describe.concurrent('an element that covers the view', () => {
  const narrow = `<div><main style="position:relative;z-index:1;width:200px;margin:auto">${ROWS}</main></div>`;
  const cover = (rules: string) => `<div ${pinned(`inset:0;width:auto;height:auto;${rules}`)}></div>`;

  it('is behind every section when the content is above it, even if most of it is visible', async () => {
    expect(await fullPage(cover('z-index:0') + narrow)).toMatchObject({ top: 0, height: 2_000, pixels: 600 * 2_000 });
  });

  it('covers the first section only when it is above the content, with a dialog in the flow', async () => {
    const dialog = '<div style="position:absolute;z-index:3;top:200px;left:300px;width:200px;height:200px;background:#fff"></div>';
    expect(await fullPage(cover('z-index:2') + ROWS + dialog)).toMatchObject({ top: 0, height: 600, pixels: 800 * 600 - 200 * 200 });
  });
});

describe.concurrent('an element in a shadow tree that covers the view', () => {
  const narrow = `<main style="position:relative;z-index:1;width:200px;margin:auto">${ROWS}</main>`;
  const cover = (rules: string, content: string) => `<div ${pinned(`inset:0;width:auto;height:auto;${rules}`)}>${content}</div>`;
  const inTree = (mode: string, html: string) =>
    `<x-a><b>text</b></x-a><script>customElements.define('x-a', class extends HTMLElement {});document.querySelector('x-a').attachShadow({ mode: '${mode}' }).innerHTML = '${html}'</script>`;

  it('covers the first section only, unless the content is above it', async () => {
    const empty = '<p style="position:absolute;margin:0;left:0;top:0;width:800px;height:100px"></p>';
    expect(await fullPage(narrow + inTree('open', cover('z-index:2', empty)))).toMatchObject({ top: 0, height: 600, pixels: 800 * 600 });
    expect(await fullPage(narrow + inTree('open', cover('z-index:0', '')))).toMatchObject({ top: 0, height: 2_000, pixels: 600 * 2_000 });
  });
});

describe.concurrent('the backdrop of a modal dialog', () => {
  const BACKDROP = [0, 200, 0] as const;
  const html = `<!doctype html><style>::backdrop{background:rgb(${BACKDROP})}dialog{border:0;border-radius:40px}</style>
    <p style="width:80px;height:40px;background:rgb(${PINNED})"></p><dialog>text</dialog><script>document.querySelector('dialog').showModal()</script>`;

  it('does not cover an element below it, and stays around one inside the dialog', async () => {
    const under = await take(browser, html, { selector: 'p' });
    expect(await blotOf(under.content, PINNED)).toMatchObject(onceAt(0));
    const dialog = await take(browser, html, { selector: 'dialog' });
    expect((await blotOf(dialog.content, BACKDROP)).pixels).toBeGreaterThan(100);
  });
});

describe.concurrent('a fixed pseudo-element of the page', () => {
  it.each([
    ['top:0', 0],
    ['bottom:10px', 1_950],
  ])('appears once, in its place: %s', async (edge, top) => {
    const rules = `content:'';position:fixed;left:0;width:80px;height:40px;background:rgb(${PINNED});${edge}`;
    expect(await fullPage(`<style>body::before{${rules}}</style>${ROWS}`)).toMatchObject(onceAt(top));
  });

  it.each([
    ['when it covers the view', 'inset:0;z-index:-1', '', { top: 2_000, pixels: 800 * 500 }],
    ['when its box scrolls along', 'top:0;width:80px;height:40px', 'transform:translateZ(0)', onceAt(0)],
  ])('is unchanged %s', async (_, edges, box, seen) => {
    const rules = `content:'';position:fixed;background:rgb(${PINNED});${edges}`;
    const gap = '<div style="height:500px"></div>';
    expect(await fullPage(`<style>main::before{${rules}}</style><main style="${box}">${ROWS}${gap}</main>`)).toMatchObject(seen);
  });
});
