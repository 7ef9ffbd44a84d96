import { describe, expect, it } from 'vitest';
import { type Band, bandFrom } from '../../../src/render/picture/bands.js';

describe('the bands of a page that is captured beyond the view', () => {
  it.each([
    [8_192, 2, 30],
    [8_192, 2, 0],
    [400, 3, 600],
    [90, 2.625, 60],
    [20, 1.5, 9],
  ])('hold each of its rows once, within what they capture: %s CSS px at most, at density %s', (most, ratio, reach) => {
    const spans = [
      { top: 40, bottom: 700 },
      { top: 7_000, bottom: 9_000 },
      { top: 100, bottom: 12_000 },
    ];
    const plan = { to: 12_000 * Math.min(1, most / 400), ratio };
    const bands: Band[] = [];
    for (let y = 250.4; y < plan.to && bands.length < 1_000; y = bands.at(-1)?.end ?? plan.to)
      bands.push(bandFrom(y, { most, plan, filters: { reach, spans } }));
    expect(bands.at(-1)?.end).toBe(plan.to);
    for (const [at, { top, bottom, end }] of bands.entries()) {
      const from = bands[at - 1]?.end ?? 250.4;
      expect([top <= from, from < end, end <= bottom, bottom - top <= most]).toEqual([true, true, true, true]);
    }
  });

  it('begin above a filter that they would begin within, and end above what it lacks at the foot', () => {
    const how = { most: 8_000, plan: { to: 20_000, ratio: 2 }, filters: { reach: 30, spans: [{ top: 7_000, bottom: 9_000 }] } };
    expect(bandFrom(0, how)).toEqual({ top: 0, bottom: 8_000, end: 7_970 });
    expect(bandFrom(7_970, how)).toEqual({ top: 7_000, bottom: 15_000, end: 15_000 });
  });

  it('end where they may where no filter goes on', () => {
    const how = { most: 8_000, plan: { to: 20_000, ratio: 2 }, filters: { reach: 30, spans: [{ top: 1_000, bottom: 3_000 }] } };
    expect(bandFrom(0, how)).toEqual({ top: 0, bottom: 8_000, end: 8_000 });
  });
});
