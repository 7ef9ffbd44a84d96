import { expect, it } from 'vitest';
import { run } from '../trials/fuzz.js';

it('answers hostile bodies and requests in the envelope, with declared statuses only (short form of the trial "fuzz")', async () => {
  const result = await run({ bodies: 1_000 });
  // How long the event loop stood still is judged by the full form, on a machine with nothing else to do.
  expect(result.problems.filter((problem) => !problem.startsWith('the event loop'))).toEqual([]);
});
