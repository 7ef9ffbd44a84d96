import { expect, it } from 'vitest';
import { run as fuzz } from '../trials/fuzz.js';
import { run as linear } from '../trials/linear.js';
import { run as oracle } from '../trials/oracle.js';

/** Figures of time are judged by the full forms, on a machine with nothing else to do. */
const beside = (problems: string[], times: RegExp) => problems.filter((problem) => !times.test(problem));

it('fuzz: answers hostile bodies and requests in the envelope, with declared statuses only', async () => {
  const { problems } = await fuzz({ bodies: 500 });
  expect(beside(problems, /^the event loop/)).toEqual([]);
});

it('linear: long repeated text in any field holds up nobody', async () => {
  const { figures, problems } = await linear({ every: 193 });
  expect(figures.requests).toBeGreaterThan(50);
  expect(beside(problems, /^(the event loop|answered after)/)).toEqual([]);
});

it('oracle: reveals to nobody whether another key has such a job', async () => {
  const { problems } = await oracle({ lookups: 200 });
  expect(beside(problems, /^the medians/)).toEqual([]);
});
