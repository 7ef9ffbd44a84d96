import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { difference } from './blots.js';
import { take } from './take.js';

const browser = await browserOfFile();

describe('a page with backdrop filters', () => {
  const stripes = 'repeating-linear-gradient(45deg, #f00 0 30px, #00f 30px 60px)';
  const large = `<style>body{margin:0;height:1792px;background:${stripes}}div{position:absolute;left:20px;width:200px}</style>
    <div style="top:200px;height:1100px;backdrop-filter:blur(20px)"></div><div style="left:240px;top:500px;height:900px" id=host></div>
    <script>host.attachShadow({ mode: 'open' }).innerHTML = '<p style="margin:0;height:100%;backdrop-filter:saturate(2) blur(8px)"></p>'</script>`;
  const cards = `<style>body{margin:0;height:1792px;background:${stripes}}p{position:absolute;margin:0;left:24px;width:168px;backdrop-filter:blur(10px)}
    i{position:absolute;left:200px;width:104px;top:104px;height:1504px;backdrop-filter:invert(1) blur(5px)}
    b{position:fixed;bottom:0;left:350px;width:40px;height:30px;background:#0f0}</style>
    ${[248, 480, 704].map((top) => `<p style="top:${top}px;height:200px"></p>`).join('')}
    <p style="top:304px;left:312px;width:32px;height:1304px"></p><i></i><b></b>`;

  // The browser samples a blur by the size of its view: alike for whole numbers of its own steps, which no view has at the last density.
  it.each([
    ['over the page', large, 1, 4],
    ['that begins inside a view', cards, 2, 4],
    ['that begins inside a view', cards, 2.625, 20],
  ])('shows a blur %s like one large view', async (_where, html, deviceScaleFactor, apart) => {
    const of = (height: number) =>
      take(browser, html, { full_page: true, viewport: { width: 400, height, deviceScaleFactor } });
    const [bySections, inOne] = await Promise.all([of(600), of(1_792)]);
    expect(bySections.height).toBe(1_792 * deviceScaleFactor);
    expect((await difference(bySections.content, inOne.content)).most).toBeLessThan(apart);
  });

  const lime = `url('data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path fill="lime" d="M0 0h1v1H0"/></svg>')`;
  const frames = '<script>(function frame() { requestAnimationFrame(frame) })()</script>';
  const frame =
    '<iframe src="data:text/html,<body bgcolor=lime>" style="border:0;display:block;width:200px;height:50px"></iframe>';
  it.each([
    [
      'has a fixed ground of a wrapper',
      '<style>.w::before{content:"";position:fixed;inset:0;background:#0f0;z-index:-1}</style>',
    ],
    ['has a fixed background of its own', `<style>body{background:${lime} fixed 0/cover no-repeat}</style>${frames}`],
    ['lays out only what is in view', '<div style="content-visibility:auto;height:50px"><i></i></div>'],
    ['holds frames', frame],
  ])('shows all content in a blur of many views if the page %s', async (_, block) => {
    const blocks = Array.from({ length: 29 }, (_each, at) => `<section style="top:${at * 50}px">${block}</section>`);
    const html = `<!doctype html><style>body{margin:0;height:1500px}main{position:absolute;inset:0;height:1500px;backdrop-filter:blur(10px)}
      section{position:absolute;left:0;width:200px;height:50px}i{display:block;position:relative;height:50px;background:#0f0}</style>
      <div class=w></div><main>${blocks.join('')}</main>`;
    const { content, height } = await take(browser, html, {
      full_page: true,
      viewport: { width: 320, height: 300, deviceScaleFactor: 2 },
    });
    expect(height).toBe(3_000);
    const shown = await sharp(content)
      .extract({ left: 0, top: 0, width: 400, height: 2_900 })
      .removeAlpha()
      .raw()
      .toBuffer();
    expect(shown.equals(Buffer.alloc(400 * 2_900 * 3, Buffer.from([0, 255, 0])))).toBe(true);
  });

  it('takes no additional bands for invisible blurs', async () => {
    const shade = (how: string) => `<div style="position:absolute;inset:0;backdrop-filter:blur(40px);${how}"></div>`;
    const html = `<style>body{margin:0;height:1800px;position:relative;background:red}</style>${shade('visibility:hidden')}${shade('opacity:0')}`;
    const viewport = { width: 400, height: 600, deviceScaleFactor: 2 };
    expect((await take(browser, html, { full_page: true, viewport })).diagnostics).toMatchObject({ sections: 3 });
  });
});
