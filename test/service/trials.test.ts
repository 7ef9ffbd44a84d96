import { describe, expect, it } from 'vitest';
import { run as backup } from '../stress/backup.js';
import { run as clocks } from '../stress/clocks.js';
import { run as drain } from '../stress/drain.js';
import { run as fair } from '../stress/fair.js';
import { run as followers } from '../stress/followers.js';
import { run as fullDisk } from '../stress/full-disk.js';
import { run as kill } from '../stress/kill.js';
import { run as overload } from '../stress/overload.js';
import { run as restart } from '../stress/restart.js';
import { run as retention } from '../stress/retention.js';
import { run as secrets } from '../stress/secrets.js';
import { run as stampede } from '../stress/stampede.js';
import { run as troubles } from '../stress/troubles.js';

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
    const { problems, figures } = await stampede({ keys: 3, times: 40, pairs: 90 });
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ jobs: 3, charged: 3, same_pairs: 90, different_pairs: 90 });
  });

  it('drain: takes nothing more and loses nothing when it is told to end', async () => {
    const { problems } = await drain({ rounds: 5 });
    expect(beside(problems, /^(a drain took|after a second)/)).toEqual([]);
  });

  it('overload: refuses what is too much, and answers the rest', async () => {
    const { problems, figures } = await overload({ seconds: 6, calm: 2, queue: 60, wait: 1_000 });
    expect(beside(problems, /^(goodput|a refusal|memory|\d+ sync)/)).toEqual([]);
    expect(figures.refused).toBeGreaterThan(0);
  });

  it('clocks: deletes and repeats nothing when the clock jumps', async () => {
    const { problems } = await clocks({ jumps: [31, -31, 0], holdMs: 6_000 });
    expect(problems).toEqual([]);
  });

  it('followers: ends those who share a render slice by slice', async () => {
    const { problems } = await followers({ followers: 1_000 });
    expect(problems).toEqual([]);
  });

  it('fair: gives quick captures their turn beside slow ones of another account', async () => {
    const { problems } = await fair({ seconds: 5, startMs: 8_000, endMs: 9_000 });
    expect(problems).toEqual([]);
  });

  it('full-disk: says no while the disk is full, and yes when it is not', async () => {
    const { problems } = await fullDisk({ rounds: 1, submissions: 5 });
    expect(problems).toEqual([]);
  });

  it('backup: holds what was promised, and can be put back', async () => {
    const { problems, figures } = await backup({ rounds: 3 });
    expect(problems).toEqual([]);
    expect(figures.pictures_copied).toBeGreaterThan(0);
  });

  it('secrets: are found nowhere', async () => {
    const { problems } = await secrets({ rounds: 1 });
    expect(problems).toEqual([]);
  });

  it('retention: deletes what is old, and that alone', async () => {
    const { problems } = await retention({ jobs: 5_000 });
    expect(beside(problems, /^a statement took/)).toEqual([]);
  });

  it('troubles: a lock, a closed directory and a clock that jumps pass without a restart', async () => {
    const { problems } = await troubles({ lockSeconds: 1 });
    expect(problems).toEqual([]);
  });
});
