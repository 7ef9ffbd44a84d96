import { describe, expect, it } from 'vitest';
import { bandFrom, type CutBand, columnsAround } from '../../../src/render/picture/bands.js';

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
    const bands: CutBand[] = [];
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

describe('the columns that are captured of an element wider than the view', () => {
  const glass = (left: number, right: number) => ({ reach: 30, spans: [{ left, right, top: 0, bottom: 900 }] });
  const columns = { left: 56.9, right: 1_456.9 };
  it.each([
    [
      'begin where a filter begins and go on beside it',
      columns,
      { originX: 0, ratio: 2, filters: glass(20.5, 2_000) },
      { left: 20, right: 1_487 },
    ],
    ['are whole where a filter lies within', columns, { originX: 0, ratio: 3, filters: glass(90, 400) }, { left: 56, right: 1_457 }],
    ['begin on the page', columns, { originX: 0, ratio: 2, filters: glass(-40, 1_457.5) }, { left: 0, right: 1_487 }],
    [
      'are as the browser counts them',
      { left: -600.76, right: 400 },
      { originX: 600, ratio: 2, filters: glass(-700, 400) },
      { left: 0, right: 1_000 },
    ],
    ["are the element's own without a filter in them", columns, { originX: 0, ratio: 2, filters: glass(1_500, 2_000) }, null],
    [
      'are so where one capture cannot be as wide',
      { left: 9_000, right: 10_500 },
      { originX: 0, ratio: 2, filters: glass(0, 12_000) },
      null,
    ],
  ])('%s', (_, columns, how, around) => {
    expect(columnsAround(columns, how)).toEqual(around);
  });
});
