import sharp from 'sharp';
import { expect, it } from 'vitest';
import { SectionShots } from '../../../src/render/picture/section-shot.js';
import type { Stage } from '../../../src/render/stage.js';

const png = (height: number) =>
  sharp({ create: { width: 4, height, channels: 3, background: '#fff' } })
    .png()
    .toBuffer();

/**
 * How many captures beyond the view, of 10 rows, are taken for a view of the same at y = 100, in what has a filter, of a page of so many
 * views; when there is time for about so many sections.
 */
async function beyond(views: number, sections: number, answers: { fails?: boolean } = {}) {
  let count = 0;
  const send = async (_method: string, how?: { captureBeyondViewport?: boolean; clip?: { height: number } }) => {
    const view = { pageX: 0, pageY: 100, offsetX: 0, clientWidth: 4, clientHeight: 10 };
    if (how === undefined) return { cssVisualViewport: view, cssLayoutViewport: view };
    if (how.captureBeyondViewport) count++;
    if (how.captureBeyondViewport && answers.fails) throw new Error('no surface');
    return { data: (await png((how.clip?.height ?? 10) * 2)).toString('base64') };
  };
  const stage = { cdp: { send }, lost: new AbortController().signal } as unknown as Stage;
  const [from, lastStart, deadline] = [100, Date.now() + (sections + 0.5) * 600, Date.now() + 60_000];
  const plan = { from, to: 100 + views * 10, viewHeight: 10, step: 10, ratio: 2, zoom: 1, lastStart, deadline };
  const shots = new SectionShots(stage, plan, [{ top: 95, bottom: 500 }]);
  const { height } = await sharp(await shots.take(100)).metadata();
  return { count, height };
}

it('begins above what has a filter, where that leaves time for the sections to come', async () => {
  expect(await beyond(20, 20)).toEqual({ count: 1, height: 20 });
  expect(await beyond(20, 18)).toEqual({ count: 0, height: 20 });
});

it('keeps the view as it was captured when what is beyond it is refused', async () => {
  expect(await beyond(20, 20, { fails: true })).toEqual({ count: 1, height: 20 });
});
