import { describe, expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { blotOf } from './blots.js';
import { SHELL_ROWS } from './shell-pages.js';
import { take } from './take.js';

const browser = await browserOfFile();

const MARK = [1, 2, 3] as const;
const END = `<div style="height:40px;background:rgb(${MARK})"></div>`;

describe.concurrent('a scroller in a document slightly higher than the view', () => {
  it.each([
    { what: 'by a margin and a border', css: '#s{height:100vh;overflow:auto;border:1px solid}', after: '', height: 3_240 + 18 },
    {
      what: 'by a footer',
      css: 'body{margin:0}#s{height:100vh;overflow:auto}',
      after: '<footer style="height:40px"></footer>',
      height: 3_280,
    },
  ])('is expanded: $what', async ({ css, after, height }) => {
    const html = `<!doctype html><style>${css}</style><div id=s>${SHELL_ROWS}${END}</div>${after}`;
    const picture = await take(browser, html, { full_page: true });
    expect(picture.height).toBe(height);
    expect(await blotOf(picture.content, MARK)).toMatchObject({ height: 40 });
  });

  it('is expanded in a form with a field named like a property', async () => {
    const form = `<form style="height:100vh;overflow:hidden"><input name="children" hidden><input name="style" hidden><div style="height:100%;overflow:auto">${SHELL_ROWS}</div></form>`;
    expect(await take(browser, `<!doctype html><style>body{margin:0}</style>${form}`, { full_page: true })).toMatchObject({
      height: 3_200,
    });
  });

  it.each([
    { what: 'the document scrolls by itself', box: 320, hides: 900, below: 600, height: 920 },
    { what: 'it hides no more than the document', box: 400, hides: 90, below: 300, height: 700 },
  ])('is unchanged when $what', async ({ box, hides, below, height }) => {
    const inner = `<div style="height:${box}px;overflow:auto"><div style="height:${box + hides}px;background:red"></div></div>`;
    const html = `<!doctype html><style>body{margin:0}</style>${inner}<div style="height:${below}px"></div>`;
    expect(await take(browser, html, { full_page: true })).toMatchObject({ height });
  });
});

describe.concurrent('a list in an inner scroller', () => {
  const scroller = '<!doctype html><style>html,body{margin:0;height:100%}#s{height:100vh;overflow:auto}</style><div id=s></div>';

  const adder = (adds: number, later: string) =>
    `${scroller}<script>const add = () => { s.insertAdjacentHTML('beforeend', '<div style="height:400px;background:rgb(${MARK})">'); asked = false };
      let left = ${adds}, asked = false; s.innerHTML = '<div style="height:1800px">';
      s.addEventListener('scroll', () => { if (asked || left === 0 || s.scrollTop + s.clientHeight < s.scrollHeight - 200) return; left--; asked = true; ${later} })</script>`;

  it.each([
    { what: 'after a sign that it loads', later: 's.append(new Comment()); setTimeout(add, 150)', adds: 2, height: 1_800 + 2 * 400 },
  ])('loads more when its end is reached ($what)', async ({ later, adds, height }) => {
    const html = adder(adds, later);
    const picture = await take(browser, html, { full_page: true });
    expect(picture).toMatchObject({ height, diagnostics: { stoppedReason: 'end_of_page', truncated: false } });
    expect(await blotOf(picture.content, MARK)).toMatchObject({ height: height - 1_800 });
  });

  it('is not awaited when it loads endlessly, which is reported', async () => {
    const { height, diagnostics } = await take(browser, adder(1_000, 'add()'), { full_page: true });
    expect(height).toBeGreaterThan(1_800 + 3 * 400);
    expect(height).toBeLessThan(1_800 + 20 * 400);
    expect(diagnostics).toMatchObject({ scrollHeight: height, stoppedReason: 'time_limit', truncated: true });
  });

  it('ends where scrolling the document finds its end', async () => {
    const html = `${scroller}<script>let left = 20; s.innerHTML = '<div style="height:1800px"></div><i id=end style="display:block;height:1px"></i>';
      const more = new IntersectionObserver(([{ isIntersecting }]) => { if (!isIntersecting || left-- <= 0) return; more.unobserve(end); more.observe(end);
        s.insertBefore(document.createElement('div'), end).style.height = '400px' });
      more.observe(end)</script>`;
    const { height, diagnostics } = await take(browser, html, { full_page: true });
    expect(height).toBe(1_801 + 20 * 400);
    expect(diagnostics).toMatchObject({ stoppedReason: 'end_of_page', truncated: false });
  });
});

describe.concurrent('a frame that fills the view', () => {
  const inFrame = (html: string, css = 'html,body{margin:0;height:100%;overflow:hidden}iframe{border:0;width:100%;height:100%}') =>
    `<!doctype html><style>${css}</style><iframe srcdoc='<!doctype html><style>body{margin:0}</style>${html}'></iframe>`;

  it.each([
    { what: 'in a document that does not scroll', css: undefined },
    { what: 'pinned to it', css: 'body{margin:0}iframe{position:fixed;inset:0;width:100%;height:100%;border:0}' },
    { what: 'as high as it', css: 'body{margin:0}iframe{width:100vw;height:100vh;border:0;display:block}' },
  ])('is expanded to all of its content: $what', async ({ css }) => {
    const picture = await take(browser, inFrame(SHELL_ROWS + END, css), { full_page: true });
    expect(picture).toMatchObject({ height: 3_240, diagnostics: { stoppedReason: 'end_of_page', truncated: false } });
    expect(await blotOf(picture.content, MARK)).toMatchObject({ top: 3_200, height: 40, pixels: 40 * 800 });
  });

  it('keeps elements as high as its view, and loads content that waits to be seen', async () => {
    const hero = `<section style="min-height:100vh;position:relative"><div style="position:absolute;inset:0;height:100%;background:rgb(${MARK})"></div></section>`;
    const lazy = `<p id=p style="height:90px;margin:0"></p><script>new IntersectionObserver(([e]) => { if (e.isIntersecting) p.style.background = "rgb(4,5,6)" }).observe(p)</script>`;
    const { content, height } = await take(browser, inFrame(`${hero}${SHELL_ROWS}${lazy}`), { full_page: true });
    expect(height).toBe(600 + 3_200 + 90);
    expect(await blotOf(content, MARK)).toMatchObject({ top: 0, height: 600, pixels: 600 * 800 });
    expect(await blotOf(content, [4, 5, 6])).toMatchObject({ top: 3_800, height: 90 });
  });

  it('is unchanged when its content grows with it endlessly', async () => {
    const html = `<style>body{padding-bottom:100vh}</style>${SHELL_ROWS}`;
    expect((await take(browser, inFrame(html), { full_page: true })).height).toBe(600);
  });

  it('does not prevent the expansion of a scroller beside it when it cannot be expanded', async () => {
    const css = 'html,body{margin:0;height:100%;overflow:hidden}iframe{border:0;float:right;width:60%;height:100%}';
    const beside = `<div style="float:left;width:40%;height:100%;overflow:auto">${SHELL_ROWS}</div>`;
    const html = inFrame(`<style>body{padding-bottom:100vh}</style>${SHELL_ROWS}`, css).replace('<iframe', `${beside}<iframe`);
    expect((await take(browser, html, { full_page: true })).height).toBe(3_200);
  });

  it.each([
    ['when it does not scroll', '<style>html{overflow:hidden}</style>', ''],
    ['when it is told not to scroll', '', ' scrolling="no"'],
    ['when nobody sees it', '', ' style="opacity:0"'],
  ])('is unchanged %s', async (_when, head, attribute) => {
    const html = inFrame(head + SHELL_ROWS).replace('<iframe', `<iframe${attribute}`);
    expect((await take(browser, html, { full_page: true })).height).toBe(600);
  });
});

describe.concurrent('content that a script moves by a transform', () => {
  const slides = '<div style="height:100vh;background:red"></div><div style="height:100vh;background:blue"></div>';
  const css = 'html,body{margin:0;height:100%}#box{height:100vh;overflow:hidden;position:relative}';

  it('stays clipped if the document scrolls by itself', async () => {
    const moved = `<div id=box><div style="transform:translate3d(0,0,0)">${slides}</div></div>${END.replace('40px', '700px')}`;
    const { content, height } = await take(browser, `<!doctype html><style>${css}</style>${moved}`, { full_page: true });
    expect(height).toBe(600 + 700);
    expect(await blotOf(content, MARK)).toMatchObject({ top: 600, height: 700 });
  });

  it.each([
    { what: 'centred', style: 'position:absolute;left:0;right:0;top:50%;transform:translateY(-50%)' },
    { what: 'made smaller', style: 'transform:scale(.5);transform-origin:0 0' },
  ])('is unchanged when it is $what', async ({ style }) => {
    const html = `<!doctype html><style>${css}</style><div id=box><div style="${style}">${slides}</div></div>`;
    const { content, height } = await take(browser, html, { full_page: true });
    expect(height).toBe(600);
    expect(await blotOf(content, [255, 0, 0])).toMatchObject({ top: 0, height: 300 });
  });
});
