import { describe, expect, it } from 'vitest';
import { run as fair } from '../stress/fair.js';
import { run as kill } from '../stress/kill.js';
import { run as overload } from '../stress/overload.js';

/** Figures of time are judged by the full forms, on a machine with nothing else to do. */
const beside = (problems: string[], times: RegExp) => problems.filter((problem) => !times.test(problem));

describe('trials under load, in short', () => {
  it('overload: refuses the surplus, and answers the rest', async () => {
    const { problems, figures } = await overload({ seconds: 4, calm: 0.5, queue: 20, wait: 600 });
    expect(beside(problems, /^(goodput|a refusal|memory|\d+ sync)/)).toEqual([]);
    expect(figures.refused).toBeGreaterThan(0);
  });

  it('fair: gives quick captures their turn beside slow ones of another account', async () => {
    const { problems } = await fair({
      seconds: 8,
      slowJobs: 24,
      quickJobs: 2,
      startMs: 24_000,
      keptStartMs: 7_500,
      endMs: 28_000,
      callbackMs: 5_000,
    });
    expect(problems).toEqual([]);
  });

  it('kill: loses, repeats and wrongly charges nothing when the server is killed', async () => {
    const { problems, figures } = await kill({ rounds: 3, orphanMs: 10_000 });
    expect(problems).toEqual([]);
    expect(figures.damaged_databases).toBe(0);
  });
});
