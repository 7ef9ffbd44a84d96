import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/webhook/deliver.js';

const NOW = Date.parse('Sun, 06 Nov 1994 08:49:37 GMT');

test.each([
  ['7', 7_000],
  [' 7 ', 7_000],
  ['0', 0],
  ['3600', 3_600_000],
  ['3601', 3_600_000],
  ['99999999999999999999999999', 3_600_000],
  ['Sun, 06 Nov 1994 08:50:37 GMT', 60_000],
  ['Sunday, 06-Nov-94 08:50:37 GMT', 60_000],
  ['Sun Nov  6 08:50:37 1994', 60_000],
  ['Sun, 06 Nov 1994 12:50:37 GMT', 3_600_000],
  ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
  ['-5', 0],
  ['1.5', 0],
  ['soon', 0],
  ['2099', 2_099_000],
  ['1e9', 0],
  ['Sun, 99 Nov 1994 99:99:99 GMT', 0],
  ['', 0],
  [null, 0],
])('Retry-After %j waits %d ms', (value, expected) => {
  expect(retryAfterMs(value, NOW)).toBe(expected);
});
