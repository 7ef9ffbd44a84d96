import { describe, expect, it } from 'vitest';
import { run as backup } from '../stress/backup.js';
import { run as followers } from '../stress/followers.js';
import { run as retention } from '../stress/retention.js';
import { run as secrets } from '../stress/secrets.js';
import { run as stampede } from '../stress/stampede.js';

/** Figures of time are judged by the full forms, on a machine with nothing else to do. */
const beside = (problems: string[], times: RegExp) => problems.filter((problem) => !times.test(problem));

describe('trials of durability, in short', () => {
  it('stampede: makes one job of submissions with one key, and refuses one that differs in any field', async () => {
    const { problems, figures } = await stampede({ keys: 2, times: 20, pairs: 90 });
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ jobs: 2, charged: 2, same_pairs: 90, different_pairs: 90 });
  });

  it('followers: ends jobs that share a render slice by slice', async () => {
    const { problems } = await followers({ followers: 1_000 });
    expect(problems).toEqual([]);
  });

  it('backup: contains everything acknowledged, and can be restored', async () => {
    const { problems, figures } = await backup({ rounds: 2 });
    expect(problems).toEqual([]);
    expect(figures.pictures_copied).toBeGreaterThan(0);
  });

  it('secrets: appear nowhere', async () => {
    const { problems } = await secrets({ rounds: 1 });
    expect(problems).toEqual([]);
  });

  it('retention: deletes expired data, and nothing else', async () => {
    const { problems } = await retention({ jobs: 5_000 });
    expect(beside(problems, /^a statement took/)).toEqual([]);
  });
});
