import { expect, it } from 'vitest';
import { run as isolation } from '../trials/isolation.js';
import { run as killed } from '../trials/killed.js';
import { run as realPages } from '../trials/real-pages.js';
import { run as unmoved } from '../trials/unmoved.js';

it('real-pages: Markdown holds the text', async () => {
  const { problems } = await realPages({ pictures: 0 });
  expect(problems).toEqual([]);
});

it('isolation: nothing is found of another visit or account', async () => {
  const { problems } = await isolation({ pairs: 1 });
  expect(problems).toEqual([]);
});

it('killed: a process that dies or stops at any stage costs an attempt at most, and no other capture', async () => {
  const { problems, figures } = await killed({ every: 47, judge: 0, timeout: 30_000 });
  expect(problems).toEqual([]);
  expect(figures.cases).toBe(8);
});

it('unmoved: nothing moves between the stop of a page and its last picture', async () => {
  const { problems, figures } = await unmoved({ only: 'whole' });
  expect(problems).toEqual([]);
  expect(figures.pages).toBe(18);
});
