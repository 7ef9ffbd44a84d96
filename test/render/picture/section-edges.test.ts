import { expect, it } from 'vitest';
import { monotonicNow } from '../../../src/render/monotonic-now.js';
import { edgesOf } from '../../../src/render/picture/section-edges.js';

/** The edges of a page of 16,000 px in views of 800, when there is time for about so many sections. */
function edges(sections: number, how: { reveals?: boolean; blur?: number } = {}) {
  const band = { from: 0, to: 16_000, viewHeight: 800, ratio: 2, lastStart: monotonicNow() + (sections + 0.5) * 600 };
  return edgesOf(band, { reveals: true, blur: 60, ...how });
}

it('leaves out what is revealed late and what blurs lack, as long as there is time', () => {
  expect(edges(30)).toEqual({ head: 60, foot: 200 });
});

it('gives up first the blurs, then what is revealed late', () => {
  expect(edges(28)).toEqual({ head: 0, foot: 200 });
  expect(edges(25)).toEqual({ head: 0, foot: 0 });
});

it('leaves out nothing of a page that neither reveals nor blurs', () => {
  expect(edges(100, { reveals: false, blur: 0 })).toEqual({ head: 0, foot: 0 });
});
