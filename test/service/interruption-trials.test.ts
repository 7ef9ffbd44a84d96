import { describe, expect, it } from 'vitest';
import { run as clock } from '../stress/clock.js';
import { run as clocks } from '../stress/clocks.js';
import { run as drain } from '../stress/drain.js';
import { run as fullDisk } from '../stress/full-disk.js';
import { run as restart } from '../stress/restart.js';
import { run as troubles } from '../stress/troubles.js';

/** Figures of time are judged by the full forms, on a machine with nothing else to do. */
const beside = (problems: string[], times: RegExp) => problems.filter((problem) => !times.test(problem));

describe('trials of interruptions, in short', () => {
  it('restart: fails a page that kills the server twice, and continues', async () => {
    const { problems, figures } = await restart({ rounds: 0 });
    expect(problems).toEqual([]);
    expect(figures.poison_attempts).toBe(2);
  });

  it('drain: accepts nothing more and loses nothing when the server is asked to end', async () => {
    const { problems } = await drain({ rounds: 2, secondEvery: 2 });
    expect(beside(problems, /^(a drain took|after a second)/)).toEqual([]);
  });

  it('clocks: deletes and repeats nothing when the clock jumps', async () => {
    const { problems } = await clocks({ jumps: [-31, 31], holdMs: 6_000 });
    expect(problems).toEqual([]);
  });

  it('clock: deletes nothing when the clock has changed before a start', async () => {
    const { problems } = await clock({ holdMs: 6_000, jobs: 2, starts: 1 });
    expect(problems).toEqual([]);
  });

  it('full-disk: refuses captures while the disk is full, and accepts them when it is not', async () => {
    const { problems } = await fullDisk({ rounds: 1, submissions: 3, recoveryMs: 30_000, prints: 0 });
    expect(problems).toEqual([]);
  });

  it('troubles: a lock, a closed directory and a clock that jumps pass without a restart', async () => {
    const { problems } = await troubles({ lockSeconds: 1, jumps: [2, -2] });
    expect(problems).toEqual([]);
  });
});
