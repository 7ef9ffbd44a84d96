import { expect, it } from 'vitest';
import { pageLoadsOf } from '../../src/contract/page-loads.js';
import { estimateBytes, MemoryBudget } from '../../src/render/memory.js';
import { NEVER, someOptions } from './pool/fixture.js';

const MB = 1_000_000;
const estimate = (wish: Record<string, unknown>, alone = false) =>
  estimateBytes({ pictures: pageLoadsOf(someOptions(wish))[0]?.pictures ?? [] }, alone) / MB;

/** A budget that notes in which order captures start. */
function aBudget(bytes: number) {
  let now = 0;
  const started: string[] = [];
  const budget = new MemoryBudget(bytes, () => now);
  const reserve = async (name: string, share: number, signal = NEVER) => {
    const held = await budget.reserve(share, signal);
    started.push(name);
    return { end: () => held[Symbol.dispose]() };
  };
  const later = (ms: number) => {
    now += ms;
  };
  /** The captures that have started once all others had a turn. */
  const order = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return started.join(' ');
  };
  return { reserve, later, order };
}

it('captures run concurrently while they fit together, and the next one starts when one has ended', async () => {
  const { reserve, order } = aBudget(100);
  const one = await reserve('one', 60);
  await reserve('two', 40);
  const third = reserve('three', 50);
  expect(await order()).toBe('one two');
  one.end();
  one.end();
  await third;
  void reserve('four', 50);
  expect(await order()).toBe('one two three');
});

it.each([100, -50])('a capture larger than the budget of %d runs alone', async (bytes) => {
  const { reserve, order } = aBudget(bytes);
  const large = await reserve('large', 500);
  const small = reserve('small', 10);
  expect(await order()).toBe('large');
  large.end();
  await small;
});

it('a small capture starts before a waiting large one, unless that has waited for long', async () => {
  const { reserve, later, order } = aBudget(100);
  const first = await reserve('first', 60);
  const large = reserve('large', 80);
  const small = await reserve('small', 30);
  later(6_000);
  small.end();
  const next = reserve('next', 30);
  expect(await order()).toBe('first small');
  first.end();
  (await large).end();
  await next;
  expect(await order()).toBe('first small large next');
});

it('a capture that is aborted while it waits blocks no other', async () => {
  const { reserve, later, order } = aBudget(100);
  await reserve('first', 60);
  const ends = new AbortController();
  const large = reserve('large', 80, ends.signal);
  later(6_000);
  const small = reserve('small', 30);
  expect(await order()).toBe('first');
  ends.abort(new Error('enough'));
  await expect(large).rejects.toThrow('enough');
  await small;
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
  const [short, long] = [
    estimate({ animate: { duration: 1_000 } }),
    estimate({ animate: { duration: 20_000, fps: 30 } }),
  ];
  expect(short - estimate({ viewport: { deviceScaleFactor: 1 } })).toBeCloseTo(155);
  expect(long - short).toBeCloseTo(295);
});

it('the attachments of a PDF are expected to take memory', () => {
  const content = 'a'.repeat(4_000_000);
  const pdf = { attachments: [{ name: 'a.bin', content }] };
  expect(estimate({ format: 'pdf', pdf })).toBeCloseTo(estimate({ format: 'pdf', pdf: {} }) + 24);
});
