import { pino } from 'pino';
import { expect, test } from 'vitest';
import { CaptureError } from '../../src/contract/capture-error.js';
import { loopErrors } from '../../src/service/loop-errors.js';

test('a database that is away is told in one line without a stack, other errors each time and whole', () => {
  const lines: string[] = [];
  const told = loopErrors(pino({ base: null }, { write: (line: string) => lines.push(line) }));
  const away = new CaptureError({ code: 'internal_error', message: 'away', status: 503, cause: new Error('connect ECONNREFUSED') });
  for (let i = 0; i < 5; i++) told(away);
  for (let i = 0; i < 2; i++) told(new TypeError('a bug'));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ reason: 'connect ECONNREFUSED', msg: 'background steps fail; they will be retried' }),
    ...Array(2).fill(expect.objectContaining({ err: expect.objectContaining({ type: 'TypeError' }) })),
  ]);
  expect(lines[0]).not.toContain('stack');
});
