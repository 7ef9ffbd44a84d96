import { describe, expect, it } from 'vitest';
import type { Schedule } from '../../src/contract/watch.js';
import { clampNextTimes } from '../../src/watch/advance-run.js';
import { checkSchedule, describeSchedule, nextTime, nextTimes } from '../../src/watch/schedule.js';
import { SteadyClock } from '../../src/work/steady-clock.js';
import { test } from '../store/store-test.js';
import { aRoom } from './a-room.js';

const at = (iso: string) => Date.parse(iso);
const ALWAYS = { startsAt: null, endsAt: null, createdAt: 0 };
const times = (schedule: Schedule, after: string, count: number) =>
  nextTimes({ ...ALWAYS, schedule }, at(after), count).map((time) => new Date(time).toISOString().slice(0, 16));
const berlin = (cron: string): Schedule => ({ cron, timezone: 'Europe/Berlin' });

describe('the times of a pattern', () => {
  it.each([
    [
      'a time that the clock skips comes after the change',
      '30 2 * * *',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00', '2026-03-30T00:30'],
    ],
    [
      'a time that the clock has twice comes once',
      '30 2 * * *',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    [
      'every hour comes in both',
      '0 * * * *',
      '2026-10-24T23:30Z',
      ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
    ],
    ['eight in the morning stays it', '0 8 * * *', '2026-10-24T00:00Z', ['2026-10-24T06:00', '2026-10-25T07:00']],
    ['the leap day', '0 8 29 2 *', '2026-01-01T00:00Z', ['2028-02-29T07:00', '2032-02-29T07:00']],
    [
      'months without the day are left out',
      '0 8 31 * *',
      '2026-03-31T12:00Z',
      ['2026-05-31T06:00', '2026-07-31T06:00'],
    ],
    ['the last day of a month', '0 8 L * *', '2028-02-01T00:00Z', ['2028-02-29T07:00', '2028-03-31T06:00']],
    ['names', '0 8 * JAN mon-tue', '2026-12-01T00:00Z', ['2027-01-04T07:00', '2027-01-05T07:00']],
    ['@daily', '@daily', '2026-10-24T12:00Z', ['2026-10-24T22:00', '2026-10-25T23:00']],
  ])('%s', (_, cron, after, expected) => {
    expect(times(berlin(cron), after, expected.length)).toEqual(expected);
  });

  it('an interval counts hours across changes of daylight saving time, from its start on and until its end', () => {
    const schedule = { every: '12h' };
    expect(times(schedule, '2026-10-25T00:30Z', 2)).toEqual(['2026-10-25T12:00', '2026-10-26T00:00']);
    const bounded = {
      schedule,
      startsAt: at('2026-01-01T08:30Z'),
      endsAt: at('2026-01-02T09:00Z'),
      createdAt: at('2025-12-01T00:00Z'),
    };
    expect(nextTimes(bounded, 0, 9)).toEqual(['2026-01-01T08:30Z', '2026-01-01T20:30Z', '2026-01-02T08:30Z'].map(at));
    expect(nextTime({ ...bounded, schedule: berlin('0 8 * * *') }, 0)).toBe(at('2026-01-02T07:00Z'));
  });

  it.each([
    ['* * * * * *', 'five fields'],
    ['0 8 * *', 'five fields'],
    ['2026-12-01T00:00:00', 'five fields'],
    ['99 8 * * *', 'is not valid'],
    ['0 8 30 2 *', 'no time'],
    ['0,1 8 * * *', 'at least 2 min'],
    ['*/1 * * * *', 'at least 2 min'],
  ])('%s is refused: %s', (cron, words) => {
    expect(() => checkSchedule({ ...ALWAYS, schedule: { cron } }, at('2026-01-01T00:00Z'), 120_000)).toThrow(words);
  });

  it.each([
    [berlin('0 8 * * MON'), 'every Monday at 08:00 (Europe/Berlin)'],
    [{ cron: '30 6,18 * * 1-5' }, 'from Monday to Friday at 06:30, 18:30 (UTC)'],
    [{ cron: '@hourly' }, 'every hour (UTC)'],
    [{ cron: '*/5 * * * *' }, 'every 5 minutes (UTC)'],
    [{ cron: '0 9 1 * *' }, 'on day 1 of every month at 09:00 (UTC)'],
    [{ cron: '0 9 1-7 * MON#1' }, 'at the times of 0 9 1-7 * MON#1 (UTC)'],
    [{ every: '1d' }, 'every day'],
    [{ every: '90m' }, 'every 90 minutes'],
  ])('%o is described as: %s', (schedule, words) => {
    expect(describeSchedule(schedule)).toBe(words);
  });
});

describe('a clock that jumps', () => {
  test('by a year, forward and back, runs a watch once for each, and goes on as before', async ({ store, user }) => {
    const { create, room, deps, watches, work } = aRoom(store, user);
    const clock = { wall: room.now, monotonic: 0 };
    const steady = new SteadyClock(
      () => clock.wall,
      () => clock.monotonic,
    );
    const pass = async (ms: number, jumpMs = 0) => {
      clock.wall += ms + jumpMs;
      clock.monotonic += ms;
      const before = room.now;
      room.now = steady.now();
      if (room.now < before) await clampNextTimes(deps);
      await work();
    };
    const { id } = await create({ schedule: { cron: '0 * * * *' } });
    const YEAR_MS = 365 * 86_400_000;
    await pass(3_600_000);
    await pass(60_000, YEAR_MS);
    await pass(60_000);
    await pass(60_000, -YEAR_MS);
    await pass(3_600_000);
    await pass(3_600_000);
    const { runs } = await watches.runs(user, id, { before: null, limit: 100 });
    expect(runs.map(({ due_at: due }) => new Date(due).getUTCHours())).toEqual([15, 14, 12]);
    expect(new Set(runs.map(({ due_at: due }) => new Date(due).toDateString())).size).toBe(1);
    expect((await watches.read(user, id)).next_run_at).toBeLessThan(clock.wall + 3_600_000);
  });
});
