import { expect, test } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import { loopErrors } from '../../src/service/loops.js';
import { readableLog } from '../fixtures/readable-log.js';

test('the same error is logged once every 30 s, and other errors as well', () => {
  const { lines, log } = readableLog();
  let now = 0;
  const report = loopErrors(log, () => now);
  const away = (reason: string, code?: string) =>
    new CaptureError({
      code: 'internal_error',
      message: 'away',
      status: 503,
      cause: Object.assign(new Error(reason), { code }),
    });
  for (; now < 60_000; now += 500) {
    report(away('connect ECONNREFUSED'));
    report(away(`PUT of picture ${now}`, 'ETIMEDOUT'));
  }
  report(new TypeError('a bug'));
  expect(lines.map(({ err }) => err.message)).toEqual([
    'away: connect ECONNREFUSED',
    'away: PUT of picture 0',
    'away: connect ECONNREFUSED',
    'away: PUT of picture 30000',
    'a bug',
  ]);
});
