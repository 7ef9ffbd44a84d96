import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { INVENTED_PAGES } from '../../fixtures/invented-pages.js';
import { browserOfFile } from './a-page-session.js';
import { blotOf, difference } from './blots.js';
import { PINNED, pinnedPage } from './pinned-page.js';
import { judgeRows, rowsPage } from './rows.js';
import { SHELL_FOOTER, SHELL_HEIGHT, SHELL_NAV, SHELL_ROWS, SHELLS } from './shell-pages.js';
import { type Taken, take } from './take.js';

const browser = await browserOfFile();

const density = (deviceScaleFactor: number, size = { width: 320, height: 600 }) => ({
  viewport: { ...size, deviceScaleFactor },
});

describe.concurrent('the rows of a full page', () => {
  it.each([
    { height: 5_001, scale: 2.625, format: 'png', algorithm: 'by_sections' },
    { height: 4_000, scale: 3, format: 'jpeg', algorithm: 'by_sections' },
    { height: 4_000, scale: 3, format: 'png', algorithm: 'native' },
  ])(
    'each occur once: $height px at density $scale as $format, $algorithm',
    async ({ height, scale, format, algorithm }) => {
      const picture = await take(browser, rowsPage(height), {
        full_page: true,
        format,
        full_page_algorithm: algorithm,
        ...density(scale),
      });
      const verdict = await judgeRows(picture.content, {
        ratio: scale,
        tolerance: format === 'png' ? 0 : 24,
        pageHeight: height,
      });
      expect(verdict).toMatchObject({ width: 320 * scale, height: Math.round(height * scale), wrong: 0 });
      expect(picture).toMatchObject({ width: verdict.width, height: verdict.height });
      const end = { scrollHeight: height, stoppedReason: 'end_of_page', truncated: false };
      expect(picture.diagnostics).toMatchObject({ algorithm, deviceScaleFactor: scale, ...end });
    },
  );

  it('are those of the view when the page is shorter', async () => {
    const picture = await take(browser, rowsPage(300), { full_page: true, ...density(1) });
    expect(picture).toMatchObject({ height: 600, diagnostics: { sections: 1, scrollHeight: 600, truncated: false } });
  });
});

// The trial real-pages compares all of them, at two widths and densities.
it.concurrent.each(INVENTED_PAGES.slice(0, 1))(
  'a page with nothing pinned is the same by both algorithms: $name',
  async ({ html }) => {
    const viewport = { width: 800, height: 720, deviceScaleFactor: 1 };
    const sections = await take(browser, html, { full_page: true, viewport });
    const native = await take(browser, html, { full_page: true, full_page_algorithm: 'native', viewport });
    // A rounded edge may be drawn in another tile: one of 255 shades, in a few samples of ten million.
    const { most, changed } = await difference(sections.content, native.content);
    expect(most).toBeLessThanOrEqual(1);
    expect(changed).toBeLessThanOrEqual(1e-5);
  },
);

describe.concurrent('a pinned element', () => {
  const at = (name: keyof typeof PINNED, content: Uint8Array) => blotOf(content, PINNED[name]);
  const once = (top: number) => ({ top, width: 60, height: 40, pixels: 2_400 });
  let plain: Promise<Taken>;
  beforeAll(() => {
    plain = take(browser, pinnedPage(1_000), { full_page: true });
  });

  it('appears once: at the top, at the end if it is fixed to the bottom, in the flow if it is sticky', async () => {
    const { content, height } = await plain;
    expect(height).toBe(2_620);
    const tops = {
      fixedTop: 0,
      fixedMiddle: 240,
      shadowFixed: 60,
      carried: 300,
      lateFixed: 600,
      stickyTop: 640,
      stickyInSection: 680,
    };
    for (const [name, top] of Object.entries({ ...tops, stickyBottom: 2_580, fixedBottom: 2_580 }))
      expect(await at(name as keyof typeof PINNED, content), name).toMatchObject(once(top));
    // A page at its top shows no way back to it.
    expect((await at('backToTop', content)).pixels).toBe(0);
    expect((await at('lateClone', content)).pixels).toBe(0);
  });

  it('does not move the page when its placeholder comes and goes', async () => {
    const padded = pinnedPage(1_000).replace("location.hash === '#padded'", 'true');
    const { content } = await take(browser, padded, { full_page: true });
    const unpadded = (await plain).content;
    expect(await at('stickyBottom', content)).toEqual(await at('stickyBottom', unpadded));
    const [one, other] = [content, unpadded].map((png) =>
      sharp(png).extract({ left: 760, top: 700, width: 1, height: 1_800 }).raw().toBuffer(),
    );
    expect(await one).toEqual(await other);
  });

  it('is complete at the bottom even if it is higher than the last section', async () => {
    const bar = '<div style="position:fixed;bottom:0;left:0;width:60px;height:90px;background:rgb(1,2,3)"></div>';
    const { content } = await take(browser, rowsPage(1_220, bar), { full_page: true });
    expect(await blotOf(content, [1, 2, 3])).toMatchObject({ top: 1_130, height: 90, pixels: 5_400 });
  });

  it.each(['by_sections', 'native'])("that fills the view keeps the view's height, %s", async (full_page_algorithm) => {
    const html =
      '<style>body{margin:0}</style><div style="height:100vh;background:rgb(1,2,3)"></div><div style="height:700px"></div>';
    const { content } = await take(browser, html, { full_page: true, full_page_algorithm });
    expect(await blotOf(content, [1, 2, 3])).toMatchObject({ height: 600, pixels: 480_000 });
  });
});

describe.concurrent('a page that does not scroll by itself', () => {
  it.each(SHELLS.map((html, index) => ({ html, index })))(
    'is expanded to all of its content: shell $index',
    async ({ html }) => {
      const { content, height } = await take(browser, html, { full_page: true });
      expect(height).toBe(SHELL_HEIGHT);
      expect(await blotOf(content, SHELL_FOOTER)).toMatchObject({ top: SHELL_HEIGHT - 50, height: 50, pixels: 30_000 });
      expect(await blotOf(content, SHELL_NAV)).toMatchObject({
        top: 0,
        height: SHELL_HEIGHT,
        pixels: 200 * SHELL_HEIGHT,
      });
    },
  );

  it('is scrolled even if a banner has locked it', async () => {
    const locked = `<!doctype html><html style="overflow:hidden"><body style="position:fixed;top:0;width:100%;overflow:hidden;margin:0">${SHELL_ROWS}</body></html>`;
    expect(await take(browser, locked, { full_page: true })).toMatchObject({ height: 3_200 });
  });
});

describe.concurrent('scrolling through', () => {
  const feed = `<style>body{margin:0}div{height:500px;border-top:1px solid}</style><main></main><script>
    const more = () => { for (let i = 0; i < 6; i++) document.querySelector('main').append(document.createElement('div')) };
    more(); addEventListener('scroll', () => { if (scrollY + innerHeight > document.body.scrollHeight - 1500) more() })</script>`;

  const style = (rules: string) => `<style>body{margin:0}${rules}</style>`;
  const divs = (count: number) => '<div></div>'.repeat(count);
  /** Marks what is seen. */
  const observe = (options: object, act = "e.target.className = 'seen'") => `<script>
    const observer = new IntersectionObserver((entries) => { for (const e of entries) if (e.isIntersecting) ${act} }, ${JSON.stringify(options)});
    for (const div of document.querySelectorAll('div')) observer.observe(div);</script>`;
  const cards = (height: number, seenAt: object) =>
    `${style(`div{height:${height}px}.seen{background:rgb(1,2,3)}`)}${divs(3_000 / height)}${observe(seenAt)}`;
  const lazy = `${style('div{height:500px}.seen{background:rgb(1,2,3)}')}${divs(12)}${observe({}, "setTimeout(() => e.target.className = 'seen', 20)")}`;
  /** Acts once the scrolling has paused. */
  const debounced = (work: string, ms = 100) => `<script>let timer; const work = () => { ${work} };
    addEventListener('scroll', () => { clearTimeout(timer); timer = setTimeout(work, ${ms}) })</script>`;
  const images = (
    above: number,
  ) => `${style('img{display:block;width:800px;height:300px}')}<div style="height:${above}px"></div>
    ${'<img data-src="data:image/gif;base64,R0lGODlhAQABAPAAAAECAwAAACwAAAAAAQABAAACAkQBADs=">'.repeat(4)}<div style="height:1200px"></div>${debounced(`
      for (const image of document.images) {
        const { top, bottom } = image.getBoundingClientRect();
        if (top < innerHeight && bottom > 0) image.src = image.dataset.src;
      }`)}`;

  it.each([
    ['waits to be seen', lazy, { top: 0, pixels: 6_000 * 800 }],
    // The first and the last 100 px are never well inside a view.
    ['waits to be well inside the view', cards(60, { rootMargin: '-100px' }), { top: 60, pixels: 2_880 * 800 }],
    ['waits to be completely inside the view', cards(250, { threshold: 1 }), { top: 0, pixels: 3_000 * 800 }],
    ['waits for a pause in scrolling', images(600), { top: 600, pixels: 1_200 * 800 }],
    ['waits for a pause in scrolling, far below', images(2_400), { top: 2_400, pixels: 1_200 * 800 }],
  ])('shows content that %s', async (_waits, html, seen) => {
    const { content, diagnostics } = await take(browser, html, { full_page: true });
    expect(diagnostics).toMatchObject({ stoppedReason: 'end_of_page' });
    expect(await blotOf(content, [1, 2, 3])).toMatchObject(seen);
  });

  // The first step is half a view, and so is each one once the page has reacted.
  it.each([
    ['does not react', '', "document.body.className = 'same'", 10],
    [
      'has a header that changes',
      '<nav>0</nav>',
      "const nav = document.querySelector('nav'); nav.textContent = scrollY; nav.style.opacity = 1",
      10,
    ],
    [
      'has a header that changes very often',
      '<nav>0</nav>',
      "for (let i = 0; i <= 1_000; i++) document.querySelector('nav').dataset.i = i",
      18,
    ],
    ['reacts', '<p>0</p>', "document.querySelector('p').textContent = scrollY", 18],
    ['changes far above', '<p>0</p>', "if (scrollY > 2000) document.querySelector('p').textContent = scrollY", 10],
  ])('scrolls by a view as long as the page %s', async (_page, part, act, steps) => {
    const html = `<!doctype html><body class="same">${style('div{height:500px}nav{position:fixed;top:0;opacity:0.9;transition:opacity 9s}p{position:absolute;top:0}')}${part}${divs(12)}
      <script>addEventListener('scroll', () => { ${act} })</script>`;
    const { scroll } = await take(browser, html, { full_page: true });
    expect(scroll).toMatchObject({ steps, stoppedReason: 'end_of_page' });
  });

  it.each([
    ['what it has passed over once the page reacts', [850, 4_000]],
    ['the only part that reacts', [850]],
  ])('goes back to %s', async (_what, tops) => {
    // The first block is whole in no view but the one that is passed over, and is empty again outside of it.
    const blocks = tops.map((top) => `<div style="position:absolute;top:${top}px"></div>`).join('');
    const rules =
      'body{height:6000px}div{width:100%;background:#ddd}div,p{height:100px;margin:0}p{background:rgb(1,2,3)}';
    const act = "e.target.innerHTML = '<p></p>'; else e.target.innerHTML = ''";
    const html = `<!doctype html>${style(rules)}${blocks}${observe({ threshold: 1 }, act)}`;
    const { content } = await take(browser, html, { full_page: true });
    expect(await blotOf(content, [1, 2, 3])).toMatchObject({ top: 850, pixels: tops.length * 100 * 800 });
  });

  it('keeps what it has scrolled through when the time ends while it goes back', async () => {
    const html = `<!doctype html>${style('body{height:6000px}p{position:absolute;top:5900px}')}<p></p><script>
      const busy = (ms) => { for (const end = performance.now() + ms; performance.now() < end; ); };
      addEventListener('scroll', () => {
        const p = document.querySelector('p');
        if (p.textContent !== '') busy(1_000);
        else if (scrollY > 5_000) p.textContent = 'end';
      })</script>`;
    const { scroll } = await take(browser, html, { full_page: true }, { scrollMs: 5_000 });
    expect(scroll).toMatchObject({ stoppedReason: 'time_limit' });
    expect(scroll?.captureHeight).toBeGreaterThan(4_500);
  });

  it('finds the end of a feed that waits for a pause in scrolling', async () => {
    const grow = `if (document.body.scrollHeight < 9000 && scrollY + innerHeight > document.body.scrollHeight - 200)
      for (let i = 0; i < 6; i++) document.querySelector('main').append(document.createElement('div'));`;
    const html = `${style('div{height:500px}')}<main>${divs(6)}</main>${debounced(grow, 220)}`;
    const { scroll } = await take(browser, html, { full_page: true });
    expect(scroll).toMatchObject({ captureHeight: 9_000, stoppedReason: 'end_of_page' });
  });

  it('is scrolled once if it begins again at its end', async () => {
    const html = `<!doctype html><style>body{margin:0;height:4000px}b{position:absolute;top:3960px;width:100%;height:40px;background:rgb(1,2,3)}</style><b></b>
      <script>addEventListener('scroll', () => { if (scrollY >= 4000 - innerHeight) scrollTo(0, 0) })</script>`;
    const { content, diagnostics } = await take(browser, html, { full_page: true });
    expect(diagnostics).toMatchObject({ stoppedReason: 'end_of_page', truncated: false });
    expect(await blotOf(content, [1, 2, 3])).toMatchObject({ top: 3_960, height: 40 });
  });

  it('stops on an endless page, and reports it', async () => {
    const picture = await take(browser, feed, {
      full_page: true,
      viewport: { width: 320, height: 2_000, deviceScaleFactor: 1 },
    });
    expect(picture).toMatchObject({ height: 30_000, diagnostics: { stoppedReason: 'max_height', truncated: true } });
    expect(picture.diagnostics.scrollHeight).toBeGreaterThan(30_000);
  });

  it('is whole where the browser had estimated the height of what it lays out only in view', async () => {
    const section = '<section><div style="height:400px"></div></section>';
    const html = `${style('section{content-visibility:auto;contain-intrinsic-size:auto 20px}')}${section.repeat(90)}<script>addEventListener('scroll', () => {})</script>`;
    const picture = await take(browser, html, {
      full_page: true,
      full_page_scroll_by: 2_000,
      ...density(1, { width: 320, height: 2_000 }),
    });
    expect(picture).toMatchObject({ height: 36_000, diagnostics: { stoppedReason: 'end_of_page', truncated: false } });
  });

  it('stops where the format ends at any density, and reports it', async () => {
    const wish = { full_page: true, format: 'webp', full_page_scroll_by: 2_000, ...density(1) };
    const picture = await take(browser, rowsPage(60_000), wish);
    // At the lowest density of 0.5, webp has 32,766 CSS px.
    expect(picture.scroll?.steps).toBe(17);
    expect(picture.diagnostics).toMatchObject({
      deviceScaleFactor: 0.5,
      stoppedReason: 'format_limit',
      truncated: true,
    });
    expect(await judgeRows(picture.content, { ratio: 0.5, tolerance: 60 })).toMatchObject({ height: 16_383, wrong: 0 });
  });

  it('shows the last row of a page that ends between two px', async () => {
    const { content } = await take(browser, rowsPage(1_691), { full_page: true, ...density(1.5) });
    expect(await judgeRows(content, { ratio: 1.5, tolerance: 0, pageHeight: 1_691 })).toMatchObject({
      height: 2_537,
      wrong: 0,
    });
  });

  it('is not misled by elements that a transform moves into place', async () => {
    const card = (left: number, row: number) => `<b style="top:${row * 100}px;left:${left}px"></b>`;
    const cards = `<style>b{position:absolute;height:100px;width:160px;background:#eee;transform:translateY(60px)}.on{transform:none}</style>
      ${Array.from({ length: 24 }, (_, row) => [0, 160, 480, 640].map((left) => card(left, row)).join('')).join('')}
      <script>const rise = () => { for (const b of document.querySelectorAll('b')) b.className = b.offsetTop < scrollY + innerHeight - 300 ? 'on' : '' };
      addEventListener('scroll', rise); rise()</script>`;
    const picture = await take(browser, rowsPage(2_500, cards), { full_page: true });
    expect(await judgeRows(picture.content, { ratio: 1, tolerance: 0, pageHeight: 2_500 })).toMatchObject({
      height: 2_500,
      wrong: 0,
    });
  });

  it.each([true, false])(
    "shows elements completely that are revealed above the view's edge and hidden again, reduce_motion %s",
    async (still) => {
      const cards = `<style>body{margin:0}p{height:200px;margin:0 0 10px;background:rgb(1,2,3);opacity:0;transform:translateY(90px);transition:all .3s linear}
      .on{opacity:1;transform:none}</style>${'<p></p>'.repeat(20)}<script>
      let busy = false;
      const reveal = () => { busy = false; for (const p of document.querySelectorAll('p')) p.className = p.offsetTop + 120 < scrollY + innerHeight ? 'on' : '' };
      addEventListener('scroll', () => { if (!busy) setTimeout(reveal, 99); busy = true }); reveal()</script>`;
      const { content, height } = await take(browser, cards, { full_page: true, reduce_motion: still });
      // Cards that are hidden again stand lower.
      expect(height).toBeLessThanOrEqual(4_290);
      expect((await blotOf(content, [1, 2, 3])).pixels).toBe(20 * 200 * 800);
    },
  );

  it('shows pinned elements once and in place where frames are captured at their own scroll position', async () => {
    const bar = (rules: string, color: string) =>
      `<b style="position:fixed;left:0;width:60px;height:40px;background:rgb(${color});${rules}"></b>`;
    const frame = (top: number) =>
      `<iframe style="position:absolute;top:${top}px;left:200px;border:0" width="100" height="100"></iframe>`;
    const pseudo =
      '<style>body{margin:0;height:2000px}body::before{content:"";position:fixed;top:0;left:100px;width:60px;height:40px;background:rgb(7,8,9)}</style>';
    const once = (top: number) => ({ top, height: 40, pixels: 2_400 });
    const html = `${pseudo}${bar('top:0', '1,2,3')}${bar('bottom:0', '4,5,6')}${frame(900)}${frame(1_850)}`;
    const { content } = await take(browser, html, { full_page: true });
    expect(await blotOf(content, [1, 2, 3]), 'top bar').toMatchObject(once(0));
    expect(await blotOf(content, [4, 5, 6]), 'bottom bar').toMatchObject(once(1_960));
    expect(await blotOf(content, [7, 8, 9]), 'pseudo-element').toMatchObject(once(0));
  });
});

// Alone, since it measures time.
it('scrolling ends at its deadline, which is reported', async () => {
  const wish = { full_page: true, full_page_scroll_delay: 100, ...density(1) };
  const picture = await take(browser, rowsPage(8_000), wish, { scrollMs: 250 });
  expect(picture.diagnostics).toMatchObject({ stoppedReason: 'time_limit', truncated: true, scrollHeight: 8_000 });
  expect(picture.height).toBeGreaterThanOrEqual(600);
  expect(picture.height).toBeLessThan(8_000);
  expect(await judgeRows(picture.content, { ratio: 1, tolerance: 0 })).toMatchObject({ wrong: 0 });
});
