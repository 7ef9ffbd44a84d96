import { expect, it } from 'vitest';
import type { GroupProcess } from '../../../src/render/launch/process-table.js';
import { SharedLoad } from '../../../src/render/pool/shared-load.js';

const DRAWING = 11;
const STEERING = 12;
const aProcess = (pid: number, cpuTicks: number, renderer = false): GroupProcess => {
  return { pid, cpuTicks, renderer, state: 'S', parent: 1, group: 1, startTime: 1, rssBytes: 0 };
};

it('tells how much of a core the shared processes took between two looks', () => {
  const load = new SharedLoad();
  load.look([aProcess(DRAWING, 500), aProcess(STEERING, 300)], 10_000);
  expect(load.share).toBe(0);
  load.look([aProcess(DRAWING, 530), aProcess(STEERING, 310)], 10_500);
  expect(load.share).toBeCloseTo(0.8);
  load.look([aProcess(DRAWING, 530), aProcess(STEERING, 310)], 11_000);
  expect(load.share).toBe(0);
});

it('counts a process from its second look on, and forgets all when nothing was going on', () => {
  const load = new SharedLoad();
  load.look([aProcess(STEERING, 300)], 10_000);
  load.look([aProcess(STEERING, 300), aProcess(DRAWING, 700)], 10_500);
  expect(load.share).toBe(0);
  load.look([aProcess(STEERING, 300), aProcess(DRAWING, 745)], 11_000);
  expect(load.share).toBeCloseTo(0.9);
  load.forget();
  expect(load.share).toBe(0);
  load.look([aProcess(STEERING, 900), aProcess(DRAWING, 900)], 60_000);
  expect(load.share).toBe(0);
});

it('leaves renderers out', () => {
  const load = new SharedLoad();
  load.look([aProcess(STEERING, 100), aProcess(21, 100, true)], 1_000);
  load.look([aProcess(STEERING, 110), aProcess(21, 200, true)], 2_000);
  expect(load.share).toBeCloseTo(0.1);
  expect(load.spentMs).toBe(100);
});
