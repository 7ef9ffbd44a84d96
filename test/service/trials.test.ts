import { describe, expect, it } from 'vitest';
import { run as kill } from '../trials/kill.js';
import { run as restart } from '../trials/restart.js';
import { run as stampede } from '../trials/stampede.js';

/** Figures of time are judged by the full forms, on a machine with nothing else to do. */
const beside = (problems: string[], times: RegExp) => problems.filter((problem) => !times.test(problem));

describe('trials of durability, in short', () => {
  it('kill: loses, repeats and charges nothing wrongly when the server is killed', async () => {
    const { problems, figures } = await kill({ rounds: 5 });
    expect(problems).toEqual([]);
    expect(figures.damaged_databases).toBe(0);
  });

  it('restart: goes on where it was, and gives a page up that kills the server twice', async () => {
    const { problems, figures } = await restart({ rounds: 1 });
    expect(beside(problems, /^(health|orphaned)/)).toEqual([]);
    expect(figures.poison_attempts).toBe(2);
  });

  it('stampede: makes one job of submissions with one key, and refuses what differs in any field', async () => {
    const { problems, figures } = await stampede({ keys: 3, times: 40, pairs: 55 });
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ jobs: 3, charged: 3, same_pairs: 55, different_pairs: 55 });
  });
});
