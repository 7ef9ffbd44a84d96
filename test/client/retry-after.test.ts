import { expect, it } from 'vitest';
import { readRetryAfter } from '../../src/client/read-answer.js';

const NOW = Date.UTC(2026, 10, 24, 12, 0, 0);

it.each<[string | null, number | undefined]>([
  ['0', 0],
  [' 7 ', 7],
  ['Tue, 24 Nov 2026 12:00:30 GMT', 30],
  ['999999999', 86_400],
  ['Tue, 24 Nov 2099 12:00:00 GMT', 86_400],
  [null, undefined],
  ['', undefined],
  ['soon', undefined],
])('Retry-After %j is read as %j', (header, seconds) => {
  expect(readRetryAfter(header, NOW)).toBe(seconds);
});
