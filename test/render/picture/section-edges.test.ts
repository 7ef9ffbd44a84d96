import { expect, it } from 'vitest';
import { edgesOf } from '../../../src/render/picture/section-edges.js';

const BLURS = { reach: 60, spans: [{ top: 2_000, bottom: 2_200 }] };

/** The edges of a page of 16,000 px in views of 800, at density 2, when there is time for about so many sections. */
function edges(sections: number, how: { reveals?: boolean; blurs?: typeof BLURS } = {}) {
  const band = { from: 0, to: 16_000, viewHeight: 800, ratio: 2, lastStart: Date.now() + (sections + 0.5) * 600 };
  return edgesOf(band, { reveals: true, blurs: BLURS, ...how });
}

it('leaves out what is revealed late and what blurs lack, and begins in no blur, as long as there is time', () => {
  expect(edges(54)).toEqual({ head: 60, foot: 200, blurs: BLURS.spans });
});

it('gives up first where views begin, then the blurs, and last what is revealed late', () => {
  expect(edges(52)).toEqual({ head: 60, foot: 200, blurs: [] });
  expect(edges(28)).toEqual({ head: 0, foot: 200, blurs: [] });
  expect(edges(25)).toEqual({ head: 0, foot: 0, blurs: [] });
});

it('leaves out nothing of a page that neither reveals nor blurs', () => {
  expect(edges(100, { reveals: false, blurs: { reach: 0, spans: [] } })).toEqual({ head: 0, foot: 0, blurs: [] });
});
