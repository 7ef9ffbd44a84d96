import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { siteAndRig } from '../page/capture-rig.js';

const { site, rig, serve } = await siteAndRig();
const page = (body: string) => serve(body, '<style>body { margin: 0 }</style>');

const VIEW = { width: 400, height: 240, deviceScaleFactor: 1 };

async function animation(url: string, animate: object, wish: object = {}) {
  return await rig.capture(url, { viewport: VIEW, animate: { duration: 500, fps: 10, ...animate }, ...wish });
}

/** The frames of an animated picture as raw RGB, and for how long each is shown. */
async function framesOf(content: Uint8Array) {
  const { pages = 1, delay } = await sharp(content).metadata();
  const frames = await Promise.all(
    Array.from({ length: pages }, (_, at) =>
      sharp(content, { page: at }).removeAlpha().raw().toBuffer({ resolveWithObject: true }),
    ),
  );
  return { frames, delay };
}

type Frame = Awaited<ReturnType<typeof framesOf>>['frames'][number];

/** Red, green and blue of a pixel. */
function at({ data, info }: Frame, x: number, y: number): number[] {
  const start = (y * info.width + x) * 3;
  return [...data.subarray(start, start + 3)];
}

/** How many px of a row, from its left, are darker than white. */
function barWidth(frame: Frame, y: number): number {
  let width = 0;
  while (width < frame.info.width && (at(frame, width, y)[1] ?? 0) < 128) width++;
  return width;
}

const ROW = 'position: absolute; left: 0; height: 20px; background: #00f';
const GROW = '@keyframes grow { from { width: 0 } to { width: 200px } }';
const bar = (id: string, top: number, rules = 'width: 0') =>
  `<div id="${id}" style="${ROW}; top: ${top}px; ${rules}"></div>`;
const endless = 'animation: grow 1s linear infinite';
const framed = `<style>body { margin: 0 } ${GROW}</style><div style='height: 20px; background: #00f; ${endless}'></div>`;
/** One bar per kind of motion, each 20 px wider in every tenth of a second, and at 0 once the page has loaded. */
const BARS = {
  'a CSS animation without end': (y) => `<style>${GROW}</style>${bar('endless', y, endless)}`,
  'a CSS animation that ends': (y) => bar('ends', y, 'animation: grow 1s linear forwards'),
  'a transition': (y) =>
    `${bar('moved', y, 'width: 0; transition: width 1s linear')}<script>moved.offsetWidth; moved.style.width = '200px'</script>`,
  'animation frames on a canvas': (
    y,
  ) => `<canvas id="drawn" width="400" height="20" style="position: absolute; left: 0; top: ${y}px"></canvas><script>
    (function draw() { const c = drawn.getContext('2d'); c.clearRect(0, 0, 400, 20); c.fillStyle = '#00f'; c.fillRect(0, 0, performance.now() / 5, 20); requestAnimationFrame(draw) })()
  </script>`,
  'an interval': (y) =>
    `${bar('counted', y)}<script>setInterval(() => { counted.style.width = counted.offsetWidth + 10 + 'px' }, 50)</script>`,
  'the date': (y) =>
    `${bar('dated', y)}<script>const since = Date.now(); setInterval(() => { dated.style.width = (Date.now() - since) / 5 + 'px' }, 10)</script>`,
  'an animation in a shadow tree': (y) =>
    `<p id="host"></p><script>host.attachShadow({ mode: 'open' }).innerHTML = \`<style>${GROW}</style>${bar('inner', y, endless)}\`</script>`,
  'an animation in a frame': (y) =>
    `<iframe style="position: absolute; left: 0; top: ${y}px; border: 0; width: 400px; height: 20px" srcdoc="${framed}"></iframe>`,
} satisfies Record<string, (y: number) => string>;
const BAR_PX = 24;

async function gifOf(colors: string[]): Promise<Buffer> {
  const stills = colors.map((background) =>
    sharp({ create: { width: 20, height: 20, channels: 3, background } })
      .png()
      .toBuffer(),
  );
  return await sharp(await Promise.all(stills), { join: { animated: true } })
    .gif({ delay: colors.map(() => 100), loop: 0 })
    .toBuffer();
}

const GIF = await gifOf(['#f00', '#0f0', '#00f']);
site.route('/animation/blinks.gif', (_request, response) =>
  response.writeHead(200, { 'content-type': 'image/gif' }).end(GIF),
);
const ALL = `${Object.values(BARS)
  .map((body, nth) => body(nth * BAR_PX))
  .join('')}<img src="/animation/blinks.gif" style="position: absolute; left: 300px; top: 200px">`;

describe('an animated picture', () => {
  it('has each kind of motion as far as the time of its frame, in the same bytes each time', async () => {
    const url = page(ALL);
    const { content, format, width, height } = await animation(url, { format: 'gif' });
    expect(Buffer.compare(content, (await animation(url, { format: 'gif' })).content)).toBe(0);
    const { frames, delay } = await framesOf(content);
    expect({ format, width, height, delay }).toEqual({
      format: 'gif',
      width: 400,
      height: 240,
      delay: [100, 100, 100, 100, 100],
    });
    const widths = Object.keys(BARS).map(
      (what, nth) => [what, ...frames.map((frame) => barWidth(frame, nth * BAR_PX + 10))] as const,
    );
    const off = widths.filter(([, ...seen]) => seen.some((one, frame) => Math.abs(one - 20 * frame) > 4));
    expect(off).toEqual([]);
    const blinks = frames.map((frame) => ['red', 'green', 'blue'][at(frame, 310, 215).indexOf(255)]);
    expect(blinks).toEqual(['red', 'green', 'blue', 'red', 'green']);
  });

  it('is a still picture of a page that does not move', async () => {
    const { content, format } = await animation(page('<h1>Nothing moves</h1>'), {});
    expect(format).toBe('webp');
    expect((await sharp(content).metadata()).pages ?? 1).toBe(1);
  });

  it('begins after `delay` of the time of the page', async () => {
    const url = page(
      `${bar('late', 0)}<p>Later</p><script>setTimeout(() => { late.style.width = '100px' }, 1000)</script>`,
    );
    const { frames } = await framesOf((await animation(url, {}, { delay: 900 })).content);
    expect(frames.map((frame) => barWidth(frame, 10))).toEqual([0, 100]);
  });

  it('scrolls from the top of the page to its end', async () => {
    const rows = ['#f00', '#0f0', '#00f']
      .map((color) => `<div style="height: 240px; background: ${color}"></div>`)
      .join('');
    const { content, diagnostics } = await animation(page(rows), { scroll: true });
    const { frames } = await framesOf(content);
    const [first, last] = [frames[0], frames.at(-1)];
    if (first === undefined || last === undefined) throw new Error('no frames');
    expect(
      [at(first, 200, 2), at(first, 200, 237), at(last, 200, 2), at(last, 200, 237)].map((rgb) =>
        rgb.indexOf(Math.max(...rgb)),
      ),
    ).toEqual([0, 0, 2, 2]);
    expect(diagnostics.stoppedReason).toBe('end_of_page');
  });

  it('shows the part of the view that is an element, or a clip, scaled down like any other picture', async () => {
    const url = page(`<p style="height: 500px">Above</p>
      <div id="box" style="width: 120px; height: 40px; background: #f00"></div><div style="height: 500px"></div>`);
    const [element, clip] = await Promise.all([
      animation(url, {}, { selector: '#box', resize: { width: 60 } }),
      animation(url, {}, { clip: { x: 10, y: 520, width: 50, height: 20 } }),
    ]);
    expect([element.width, element.height, element.diagnostics.algorithm]).toEqual([60, 20, 'element']);
    expect([clip.width, clip.height]).toEqual([50, 20]);
    const [frame] = (await framesOf(clip.content)).frames;
    expect(frame && at(frame, 25, 10)[0]).toBeGreaterThan(200);
  });

  it('takes less time than it shows', async () => {
    const began = performance.now();
    await animation(page(ALL), { duration: 12_000, fps: 4 });
    expect(performance.now() - began).toBeLessThan(12_000);
  });

  it('begins after the steps, which pass on the same clock', async () => {
    const url = page(`<button onclick="setTimeout(() => { grown.style.width = '200px' }, 600)">Grow</button>
      ${bar('grown', 100, 'width: 0; transition: width 1s linear')}`);
    const steps = [
      { action: 'click', selector: 'button' },
      { action: 'wait_for', ms: 700 },
    ];
    const widths = (await framesOf((await animation(url, {}, { steps })).content)).frames.map((frame) =>
      barWidth(frame, 110),
    );
    expect(widths.map((width) => width - (widths[0] ?? 0))).toEqual([0, 20, 40, 60, 80]);
  });

  it('is of the view if its element or clip does not exist, and that is tolerated', async () => {
    const url = page(ALL);
    for (const missing of [{ selector: '#nowhere' }, { clip: { x: 0, y: 90_000, width: 20, height: 20 } }]) {
      const { width, height, warnings } = await animation(url, {}, { ...missing, tolerate: ['render_incomplete'] });
      expect([width, height]).toEqual([VIEW.width, VIEW.height]);
      expect(warnings.map(({ code }) => code)).toEqual(['render_incomplete']);
    }
  });
});
