import { expect, it } from 'vitest';
import { run as heaviest } from '../trials/heaviest.js';
import { run as secrets } from '../trials/secrets.js';

it('secrets: appear nowhere', async () => {
  const { problems } = await secrets({ rounds: 1 });
  expect(problems).toEqual([]);
});

/** Bodies that held the event loop for 60 to 500 ms. The full form sends all. */
const HEAVY = [
  'v1/compare, escapes',
  'v1/screenshot, as many values',
  'mcp, the largest message',
  'console/snippets, the largest form',
  'content, HTML of 50 MB in escapes',
  'forms/chromium/convert/html, thousands of cookies',
  'forms/chromium/convert/markdown, the largest form',
];

it('heaviest: large bodies hold the event loop for at most 50 ms', async () => {
  const { problems, figures } = await heaviest({ onlyShort: 1, only: `^POST /(?:${HEAVY.join('|')})` });
  expect(problems).toEqual([]);
  expect(figures.requests).toBe(HEAVY.length);
});
