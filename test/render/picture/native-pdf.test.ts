import { describe, expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { blotOf } from './blots.js';
import { joinedImages, printedBoxes } from './pdf-pages.js';
import { take } from './take.js';

const browser = await browserOfFile();

const NATIVE = { format: 'pdf', full_page: true, full_page_algorithm: 'native' };
const HERO = 'rgb(10,20,30)';
const rows = Array.from(
  { length: 20 },
  (_, i) => `<div class=row style="height:100px;background:rgb(${200 - i},9,9)"></div>`,
).join('');
const page = (hero: string, style = '') =>
  `<!doctype html><style>body{margin:0}.hero{background:${HERO}}${style}</style>${hero}${rows}`;
/** A lossy format mixes the px rows of an edge. */
const nearly = (px: number) => expect.closeTo(px, -1);
/** In a shadow tree. */
const shadow = (mode: 'open' | 'closed', inner: string) =>
  `<x-hero style="display:block"></x-hero><script>document.querySelector('x-hero').attachShadow({mode:'${mode}'}).innerHTML='${inner}'</script>`;

describe('a native PDF of a whole page', () => {
  const tops = async (content: Uint8Array) => {
    const boxes = await printedBoxes(content);
    return Array.from({ length: 20 }, (_, i) => boxes.find(({ color }) => color === `rgb(${200 - i},9,9)`)?.top);
  };
  const below = (heroPx: number) => Array.from({ length: 20 }, (_, i) => heroPx + 100 * i);

  const hero = (style: string) => `<div class=hero style="${style}"></div>`;

  it.each([
    ['the height of an element', page(hero('height:100vh')), 600],
    ['a padding', page(hero('padding:25vh 0')), 300],
    ['the size of a text', page('<div class=hero style="font-size:20vmin;line-height:1">x</div>'), 120],
    ['a query of the height', page(hero('height:40px'), '@media(min-height:900px){.row{height:200px!important}}'), 40],
    ['an open shadow tree', page(shadow('open', `<div style="height:100vh;background:${HERO}"></div>`)), 600],
  ])(
    'has every row at its place in the view, as boxes, although the view’s height determines %s',
    async (_, html, heroPx) => {
      const { content, height, diagnostics } = await take(browser, html, NATIVE);
      const boxes = await printedBoxes(content);
      expect(boxes.find(({ color }) => color === HERO)).toMatchObject({ top: 0, height: heroPx });
      expect(await tops(content)).toEqual(below(heroPx));
      expect(height).toBe(2_000 + heroPx);
      expect(diagnostics).toMatchObject({ algorithm: 'native', truncated: false });
    },
  );

  it('has the colors that height queries set in the view, and the content before an element at its height', async () => {
    const style = `@media(min-height:900px){.hero{background:red}}@media(orientation:portrait){.hero{background:red}}
      .hero::before{content:"";display:block;height:50vh;background:rgb(1,2,3)}`;
    const { content } = await take(browser, page(hero('padding-top:100px'), style), NATIVE);
    const boxes = await printedBoxes(content);
    expect(boxes.find(({ color }) => color === HERO)).toMatchObject({ top: 0, height: 400 });
    expect(boxes.find(({ color }) => color === 'rgb(1,2,3)')).toMatchObject({ top: 100, height: 300 });
    expect(await tops(content)).toEqual(below(400));
  });

  it('is made of pixels if the view’s height determines something that cannot be fixed, with a warning', async () => {
    const html = page(
      shadow('closed', `<div style="height:50vh;background:${HERO}"></div><div style="height:200px"></div>`),
    );
    const { content, diagnostics } = await take(browser, html, NATIVE);
    expect(diagnostics).toMatchObject({
      algorithm: 'by_sections',
      scrollHeight: 2_500,
      stoppedReason: 'end_of_page',
      truncated: false,
    });
    const picture = await joinedImages(content);
    expect(await blotOf(picture, [10, 20, 30])).toMatchObject({ top: 0, height: nearly(300) });
    expect(await blotOf(picture, [181, 9, 9])).toMatchObject({ top: nearly(2_400), height: nearly(100) });
  });
});

it('fails with the limit if the document has more sheets than there is time for', async () => {
  const html = '<p style="break-after:page">Words</p>'.repeat(2_000);
  await expect(take(browser, html, { format: 'pdf', pdf: {} }, { pictureMs: 1_000 })).rejects.toMatchObject({
    code: 'render_timeout',
    message: expect.stringMatching(/within 1 s.*`pdf\.page_ranges`/),
  });
});
