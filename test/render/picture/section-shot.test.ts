import sharp from 'sharp';
import { expect, it } from 'vitest';
import type { PageHand } from '../../../src/render/picture/page-hand.js';
import { SectionShots } from '../../../src/render/picture/section-shot.js';
import { pngSize, SHOT_MAX_ROWS } from '../../../src/render/picture/shoot.js';
import type { Stage } from '../../../src/render/stage.js';

const png = (height: number) =>
  sharp({ create: { width: 4, height, channels: 3, background: '#fff' } })
    .png()
    .toBuffer();

/**
 * What is captured beyond the view, CSS px of the page, and the height of each answer, px, for views of 10 CSS px at such places of a page
 * of so many views, from y = 100, that has a filter from 95 to 1,000; when there is time for about so many sections.
 */
async function beyond(given: {
  views: number;
  sections: number;
  ys?: number[];
  holds?: boolean;
  fails?: boolean;
  spanEnd?: number;
  tooMuch?: boolean;
}) {
  const captured: [from: number, to: number][] = [];
  let y = 100;
  const send = async (_method: string, how?: { captureBeyondViewport?: boolean; clip?: { y: number; height: number } }) => {
    const view = { pageX: 0, pageY: y, offsetX: 0, clientWidth: 4, clientHeight: 10 };
    if (how === undefined) return { cssVisualViewport: view, cssLayoutViewport: view };
    if (how.clip !== undefined) captured.push([how.clip.y, how.clip.y + how.clip.height]);
    if (how.clip !== undefined && given.fails) throw new Error('no surface');
    return { data: (await png((how.clip?.height ?? 10) * 2)).toString('base64') };
  };
  const stage = { cdp: { send }, lost: new AbortController().signal } as unknown as Stage;
  const hand = {
    run: async (_work: unknown, band: unknown) => (band === null ? given.tooMuch !== true : (given.holds ?? true)),
  } as unknown as PageHand;
  const lastStart = Date.now() + (given.sections + 0.5) * 600;
  const band = { from: 100, to: 100 + given.views * 10, viewHeight: 10, step: 10, ratio: 2, zoom: 1 };
  const spans = [{ top: 95, bottom: given.spanEnd ?? 1_000 }];
  const shots = new SectionShots({ stage, hand }, { ...band, lastStart, deadline: lastStart + 60_000 }, spans);
  const heights: number[] = [];
  for (y of given.ys ?? [100]) heights.push(pngSize(await shots.take(y)).height);
  return { captured, heights };
}

it('begins above what has a filter, where that leaves time for the sections to come', async () => {
  expect(await beyond({ views: 20, sections: 20 })).toEqual({ captured: [[95, 140]], heights: [20] });
  expect(await beyond({ views: 20, sections: 18 })).toEqual({ captured: [], heights: [20] });
});

it('keeps the view as it was captured when what is beyond it is refused', async () => {
  expect(await beyond({ views: 20, sections: 20, fails: true })).toEqual({ captured: [[95, 140]], heights: [20] });
});

it('captures the sections of one filter at once, as long as the page shows the same there', async () => {
  const views = { views: 20, sections: 30, ys: [100, 110, 120, 130, 140, 150, 289.3] };
  expect(await beyond(views)).toEqual({
    captured: [
      [95, 140],
      [95, 300],
    ],
    heights: Array(7).fill(20),
  });
  const { captured } = await beyond({ ...views, holds: false });
  // Goes on below a view twice, for nothing.
  expect(captured.map(([, to]) => to)).toEqual([140, 120, 160, 140, 150, 160, 299.3]);
});

it('goes on below no view where the page has too much to be compared', async () => {
  expect((await beyond({ views: 20, sections: 30, tooMuch: true })).captured).toEqual([[95, 110]]);
});

it('captures no further than a section that the filter ends in may reach', async () => {
  expect((await beyond({ views: 20, sections: 30, spanEnd: 125 })).captured).toEqual([[95, 135]]);
});

it('captures no more rows at once than the browser draws rightly', async () => {
  const far = 95 + SHOT_MAX_ROWS / 2;
  const { captured, heights } = await beyond({ views: 1_000, sections: 2_000, spanEnd: 10_000, ys: [100, 130, 140, far - 10, far - 9] });
  expect(captured).toEqual([
    [95, 140],
    [95, far],
  ]);
  expect(heights).toEqual([20, 20, 20, 20, 20]);
});
