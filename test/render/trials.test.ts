import { expect, it } from 'vitest';
import { run as isolation } from '../trials/isolation.js';
import { run as realPages } from '../trials/real-pages.js';

it('real-pages: Markdown holds the text', async () => {
  const { problems } = await realPages({ pictures: 0 });
  expect(problems).toEqual([]);
});

it('isolation: nothing is found of another visit or account', async () => {
  const { problems } = await isolation({ pairs: 2 });
  expect(problems).toEqual([]);
});
