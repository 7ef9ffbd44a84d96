import sharp from 'sharp';
import { expect, it } from 'vitest';
import { monotonicNow } from '../../../src/render/monotonic-now.js';
import type { PageSession } from '../../../src/render/page-session.js';
import type { BoundedPage } from '../../../src/render/picture/bounded-page.js';
import { shootSection } from '../../../src/render/picture/section-shot.js';
import { pngSize, SHOT_MAX_ROWS } from '../../../src/render/picture/shoot.js';

const png = (height: number) =>
  sharp({ create: { width: 4, height, channels: 3, background: '#fff' } })
    .png()
    .toBuffer();

/**
 * What is captured beyond a view of 10 CSS px, CSS px of the page, and the height of the answer, px; of a page of so many views, from
 * y = 100, that has a filter from 95 to 100,000, when there is time for about so many sections.
 */
async function beyond(given: { views: number; sections: number; y?: number; fails?: boolean }) {
  const captured: [from: number, to: number][] = [];
  const y = given.y ?? 100;
  const send = async (_method: string, how?: { captureBeyondViewport?: boolean; clip?: { y: number; height: number } }) => {
    const view = { pageX: 0, pageY: y, offsetX: 0, clientWidth: 4, clientHeight: 10 };
    if (how === undefined) return { cssVisualViewport: view, cssLayoutViewport: view };
    if (how.clip !== undefined) captured.push([how.clip.y, how.clip.y + how.clip.height]);
    if (how.clip !== undefined && given.fails) throw new Error('no surface');
    return { data: (await png((how.clip?.height ?? 10) * 2)).toString('base64') };
  };
  const session = { cdp: { send }, lost: new AbortController().signal } as unknown as PageSession;
  const page = { call: async () => undefined } as unknown as BoundedPage;
  const lastStart = monotonicNow() + (given.sections + 0.5) * 600;
  const band = { from: 100, to: y + given.views * 10, viewHeight: 10, ratio: 2, zoom: 1, lastStart, deadline: lastStart + 60_000 };
  const shot = await shootSection({ session, page }, band, { y, spans: [{ top: 95, bottom: 100_000 }] });
  return { captured, height: pngSize(shot).height };
}

it('begins above what has a filter, where that leaves time for the sections to come', async () => {
  expect(await beyond({ views: 20, sections: 20 })).toEqual({ captured: [[95, 110]], height: 20 });
  expect(await beyond({ views: 20, sections: 18 })).toEqual({ captured: [], height: 20 });
});

it('keeps the view as it was captured when what is beyond it is refused', async () => {
  expect(await beyond({ views: 20, sections: 20, fails: true })).toEqual({ captured: [[95, 110]], height: 20 });
});

it('captures no more rows at once than the browser draws rightly', async () => {
  const most = 95 + SHOT_MAX_ROWS / 2 - 10;
  expect((await beyond({ views: 1, sections: 5, y: most })).captured).toEqual([[95, most + 10]]);
  expect((await beyond({ views: 1, sections: 5, y: most + 1 })).captured).toEqual([]);
});
