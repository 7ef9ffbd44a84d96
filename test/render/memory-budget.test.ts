import { expect, it } from 'vitest';
import { pageLoadsOf } from '../../src/contract/page-loads.js';
import { estimateBytes, MemoryBudget } from '../../src/render/budgets.js';
import { NEVER, someOptions } from './pool/fixture.js';

const MB = 1_000_000;
const estimate = (wish: Record<string, unknown>, alone = false) =>
  estimateBytes({ pictures: pageLoadsOf(someOptions(wish))[0]?.pictures ?? [] }, alone) / MB;

/** Notes in which order captures start. */
function aBudget(bytes: number) {
  let now = 0;
  const started: string[] = [];
  const budget = new MemoryBudget(bytes, () => now);
  const reserve = async (name: string, share: number, signal = NEVER) => {
    const held = await budget.reserve(share, signal);
    started.push(name);
    return held;
  };
  const later = (ms: number) => {
    now += ms;
  };
  return { started, reserve, later };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('captures run concurrently while they fit together, and the next one starts when one has ended', async () => {
  const { started, reserve } = aBudget(100);
  const one = await reserve('one', 60);
  await reserve('two', 40);
  const third = reserve('three', 50);
  await turn();
  expect(started).toEqual(['one', 'two']);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  await third;
  void reserve('four', 50);
  await turn();
  expect(started).toEqual(['one', 'two', 'three']);
});

it('a capture larger than the budget runs alone', async () => {
  for (const bytes of [100, -50]) {
    const { started, reserve } = aBudget(bytes);
    const large = await reserve('large', 500);
    const small = reserve('small', 10);
    await turn();
    expect(started).toEqual(['large']);
    large[Symbol.dispose]();
    await small;
  }
});

it('a small capture starts before a waiting large one, unless that has waited for long', async () => {
  const { started, reserve, later } = aBudget(100);
  const first = await reserve('first', 60);
  const large = reserve('large', 80);
  const small = await reserve('small', 30);
  later(6_000);
  small[Symbol.dispose]();
  const next = reserve('next', 30);
  await turn();
  expect(started).toEqual(['first', 'small']);
  first[Symbol.dispose]();
  (await large)[Symbol.dispose]();
  await next;
  expect(started).toEqual(['first', 'small', 'large', 'next']);
});

it('a capture that is aborted while it waits blocks no other', async () => {
  const { started, reserve, later } = aBudget(100);
  await reserve('first', 60);
  const ends = new AbortController();
  const large = reserve('large', 80, ends.signal);
  later(6_000);
  const small = reserve('small', 30);
  await turn();
  ends.abort(new Error('enough'));
  await expect(large).rejects.toThrow('enough');
  await small;
  expect(started).toEqual(['first', 'small']);
});

it('the estimate grows with the pixels of one shot, up to the size of a strip', () => {
  const usual = estimate({});
  const large = estimate({ viewport: { width: 3840, height: 2160, deviceScaleFactor: 3 } });
  expect(usual).toBeGreaterThan(200);
  expect(usual).toBeLessThan(350);
  expect(large).toBeGreaterThan(1_000);
  expect(large).toBeLessThan(1_300);
  expect(estimate({ full_page: true })).toBeGreaterThan(usual);
  expect(estimate({ full_page: true, full_page_algorithm: 'native' })).toBe(estimate({ full_page: true }));
  expect(estimate({ clip: { x: 0, y: 0, width: 4_000, height: 90_000 } })).toBe(large);
  expect(estimate({}, true)).toBeGreaterThan(usual);
});

it('an animated picture needs memory for its encoder and each of its frames', () => {
  const [short, long] = [estimate({ animate: { duration: 1_000 } }), estimate({ animate: { duration: 20_000, fps: 30 } })];
  expect(short - estimate({ viewport: { deviceScaleFactor: 1 } })).toBeCloseTo(155);
  expect(long - short).toBeCloseTo(295);
});
