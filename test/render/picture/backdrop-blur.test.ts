import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { take } from './take.js';

const browser = await browserOfFile();

describe('a page with backdrop filters', () => {
  it('shows blurred content like one large view of it', async () => {
    const stripes = 'repeating-linear-gradient(45deg, #f00 0 30px, #00f 30px 60px)';
    const html = `<style>body{margin:0;height:1800px;background:${stripes}}div{position:absolute;left:50px;width:300px}</style>
      <div style="top:200px;height:1100px;backdrop-filter:blur(20px)"></div><div style="left:420px;top:500px;height:900px" id=host></div>
      <script>host.attachShadow({ mode: 'open' }).innerHTML = '<p style="margin:0;height:100%;backdrop-filter:saturate(2) blur(8px)"></p>'</script>`;
    const [bySections, inOne] = await Promise.all(
      [600, 1_800].map((height) => take(browser, html, { full_page: true, viewport: { width: 800, height, deviceScaleFactor: 1 } })),
    );
    expect(bySections).toMatchObject({ height: 1_800 });
    expect(await furthestApart(bySections?.content, inOne?.content)).toBeLessThan(4);
  });

  // The browser samples a blur by the size of its view: alike for whole numbers of its own steps, which no view has at the last density.
  it.each([
    [2, 4],
    [2.625, 20],
  ])('shows a blur that begins inside a view like one large view, at density %s', async (deviceScaleFactor, apart) => {
    const cards = [248, 480, 704].map((top) => `<p style="top:${top}px;height:200px"></p>`).join('');
    const html = `<style>body{margin:0;height:1792px;background:repeating-linear-gradient(45deg, #f00 0 30px, #00f 30px 60px)}
      p{position:absolute;margin:0;left:24px;width:168px;backdrop-filter:blur(10px)}
      i{position:absolute;left:200px;width:104px;top:104px;height:1504px;backdrop-filter:invert(1) blur(5px)}
      b{position:fixed;bottom:0;left:350px;width:40px;height:30px;background:#0f0}</style>
      ${cards}<p style="top:304px;left:312px;width:32px;height:1304px"></p><i></i><b></b>`;
    const [bySections, inOne] = await Promise.all(
      [600, 1_792].map((height) => take(browser, html, { full_page: true, viewport: { width: 400, height, deviceScaleFactor } })),
    );
    expect(bySections?.height).toBe(1_792 * deviceScaleFactor);
    expect(await furthestApart(bySections?.content, inOne?.content)).toBeLessThan(apart);
  });

  const lime = `url('data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path fill="lime" d="M0 0h1v1H0"/></svg>')`;
  const frames = '<script>(function frame() { requestAnimationFrame(frame) })()</script>';
  it.each([
    ['has a fixed ground of a wrapper', '<style>.w::before{content:"";position:fixed;inset:0;background:#0f0;z-index:-1}</style>', ''],
    ['has a fixed background of its own', `<style>body{background:${lime} fixed 0/cover no-repeat}</style>${frames}`, ''],
    ['lays out only what is in view', '<div style="content-visibility:auto;height:50px"><i></i></div>', ''],
    [
      'holds frames',
      '<iframe src="data:text/html,<body bgcolor=lime>" style="border:0;display:block;width:200px;height:50px"></iframe>',
      '',
    ],
  ])('shows all content in a blur of many views if the page %s', async (_, block, how) => {
    const blocks = Array.from({ length: 29 }, (_each, at) => `<section style="top:${at * 50}px">${block}</section>`);
    const html = `<!doctype html><style>body{margin:0;height:1500px}main{position:absolute;inset:0;height:1500px;backdrop-filter:blur(10px)}
      section{position:absolute;left:0;width:200px;height:50px}i{display:block;position:relative;height:50px;background:#0f0}
      .curtain::after{content:'';position:absolute;inset:0;background:#00f}canvas,svg{display:block}@keyframes shade
      {0%,100%{box-shadow:inset 0 0 0 99px #00f}.01%,99.99%{box-shadow:inset 0 0 0 99px #0f0}}</style><div class=w></div><main>${blocks.join('')}</main><script>
      const show = () => { for (const block of document.querySelectorAll('section')) {
        const { top, bottom } = block.getBoundingClientRect();
        const seen = bottom > 0 && top < 300;
        ${how};
      } };
      show(); addEventListener('scroll', show);</script>`;
    const { content, height } = await take(browser, html, { full_page: true, viewport: { width: 320, height: 300, deviceScaleFactor: 2 } });
    expect(height).toBe(3_000);
    const shown = await sharp(content).extract({ left: 0, top: 0, width: 400, height: 2_900 }).removeAlpha().raw().toBuffer();
    expect(shown.equals(Buffer.alloc(400 * 2_900 * 3, Buffer.from([0, 255, 0])))).toBe(true);
  });

  it('takes no additional sections for invisible blurs', async () => {
    const shade = (how: string) => `<div style="position:absolute;inset:0;backdrop-filter:blur(40px);${how}"></div>`;
    const html = `<style>body{margin:0;height:1800px;position:relative;background:red}</style>${shade('visibility:hidden')}${shade('opacity:0')}`;
    const viewport = { width: 400, height: 600, deviceScaleFactor: 2 };
    expect((await take(browser, html, { full_page: true, viewport })).diagnostics).toMatchObject({ sections: 1 });
  });
});

/** The greatest difference of a channel of a pixel. */
async function furthestApart(...pictures: (Uint8Array | undefined)[]): Promise<number> {
  const [one, other] = await Promise.all(pictures.map((content) => sharp(content).removeAlpha().raw().toBuffer()));
  if (one === undefined || other === undefined) return Number.NaN;
  let most = 0;
  for (let at = 0; at < one.length; at++) {
    const step = Math.abs((one[at] ?? 0) - (other[at] ?? 0));
    if (step > most) most = step;
  }
  return most;
}
