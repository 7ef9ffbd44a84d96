import { pino } from 'pino';
import { expect, test } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import { loopErrors } from '../../src/service/loop-errors.js';

test('the same error is logged once every 30 s, other errors beside it', () => {
  const lines: string[] = [];
  let now = 0;
  const report = loopErrors(pino({ base: null }, { write: (line: string) => lines.push(line) }), () => now);
  const away = (reason: string) => new CaptureError({ code: 'internal_error', message: 'away', status: 503, cause: new Error(reason) });
  for (; now < 60_000; now += 500) {
    report(away('connect ECONNREFUSED'));
    report(away('canceling statement due to lock timeout'));
  }
  expect(lines.map((line) => JSON.parse(line).err.message)).toEqual([
    'away: connect ECONNREFUSED',
    'away: canceling statement due to lock timeout',
    'away: connect ECONNREFUSED',
    'away: canceling statement due to lock timeout',
  ]);
});
