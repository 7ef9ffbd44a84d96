import { Cron } from 'croner';
import { LRUCache } from 'lru-cache';
import { invalidField } from '../contract/submission.js';
import { intervalMs, type Schedule, type WatchDefinition } from '../contract/watch.js';
import type { WatchTimes } from '../store/store.js';

/** Opening one takes longer than finding its next time. */
const known = new LRUCache<string, Cron>({ max: 1_000 });
/** Number of times between which the minimum is checked: more than an hour has. */
const CHECKED_TIMES = 61;
const MINUTE_MS = 60_000;

/**
 * Finds the first time of a schedule after another time, by the rules of croner for daylight saving time (decisions.md, Watches).
 * @returns Unix ms; null if there is none
 */
export function nextTime({ schedule, startsAt, endsAt, createdAt }: WatchTimes, after: number): number | null {
  const from = Math.max(after, (startsAt ?? 0) - 1);
  const next =
    schedule.cron === undefined ? nextInterval(schedule, startsAt ?? createdAt, from) : nextCron(schedule, from);
  return next === null || (endsAt !== null && next > endsAt) ? null : next;
}

/** Lists the next times of a schedule, at most `count`. */
export function nextTimes(times: WatchTimes, after: number, count: number): number[] {
  const found: number[] = [];
  for (let next = nextTime(times, after); next !== null && found.length < count; next = nextTime(times, next))
    found.push(next);
  return found;
}

export function timesOf({ schedule, starts_at, ends_at }: WatchDefinition, createdAt: number): WatchTimes {
  return { schedule, startsAt: starts_at, endsAt: ends_at, createdAt };
}

/**
 * Refuses a schedule that is not valid, has no time, or runs more often than the operator allows.
 * @throws CaptureError `invalid_request`
 */
export function checkSchedule(times: WatchTimes, now: number, minimumMs: number): void {
  const { schedule } = times;
  const field = schedule.cron === undefined ? 'schedule.every' : 'schedule.cron';
  const shortest = schedule.cron === undefined ? (intervalMs(schedule.every ?? '') ?? 0) : shortestGap(schedule, now);
  if (shortest < minimumMs) throw invalidField(field, `must leave at least ${formatMs(minimumMs)} between two runs`);
  if (nextTime(times, now - 1) === null) throw invalidField('schedule', 'has no time in the future');
}

function nextInterval({ every = '' }: Schedule, anchor: number, after: number): number {
  const step = intervalMs(every) ?? MINUTE_MS;
  return after < anchor ? anchor : anchor + (Math.floor((after - anchor) / step) + 1) * step;
}

function nextCron(schedule: Schedule, after: number): number | null {
  return cronOf(schedule).nextRun(new Date(after))?.getTime() ?? null;
}

function cronOf({ cron = '', timezone = 'UTC' }: Schedule): Cron {
  const name = `${timezone} ${cron}`;
  let opened = known.get(name);
  if (opened === undefined) {
    opened = new Cron(cron, { paused: true, timezone, mode: '5-part' });
    known.set(name, opened);
  }
  return opened;
}

function shortestGap(schedule: Schedule, now: number): number {
  const pattern = schedule.cron ?? '';
  // The library also takes a date for a pattern.
  const isPattern = /^@[a-z]+$/i.test(pattern) || pattern.split(/\s+/).length === 5;
  let times: Date[];
  try {
    if (!isPattern) throw new TypeError('it must have five fields, or be a name such as @daily');
    times = cronOf(schedule).nextRuns(CHECKED_TIMES, new Date(now));
  } catch (error) {
    throw invalidField('schedule.cron', `is not valid: ${(error as Error).message.replace(/^CronPattern: /, '')}`);
  }
  return times.reduce(
    (least, time, i) => Math.min(least, time.getTime() - (times[i - 1]?.getTime() ?? Number.NEGATIVE_INFINITY)),
    Number.POSITIVE_INFINITY,
  );
}

function formatMs(ms: number): string {
  return ms % MINUTE_MS === 0 ? `${ms / MINUTE_MS} min` : `${Math.ceil(ms / 1_000)} s`;
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const UNITS: Record<string, string> = { s: 'second', m: 'minute', h: 'hour', d: 'day', w: 'week' };
const NAMES: Record<string, string> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

/** Says a schedule in words, such as `every Monday at 08:00 (Europe/Berlin)`; a rare pattern is repeated. */
export function describeSchedule({ cron, timezone = 'UTC', every = '' }: Schedule): string {
  if (cron === undefined) {
    const [, amount = '1', unit = 'm'] = /^(\d+) ?(\w)$/.exec(every) ?? [];
    return `every ${Number(amount) === 1 ? '' : `${amount} `}${UNITS[unit]}${Number(amount) === 1 ? '' : 's'}`;
  }
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = (NAMES[cron.toLowerCase()] ?? cron).split(/\s+/);
  const days = daysOf(weekday);
  const when = timeOf(minute, hour);
  const on =
    day === '*' && month === '*'
      ? days
      : month === '*' && weekday === '*' && /^\d+$/.test(day)
        ? `on day ${day} of every month`
        : null;
  if (when === null || on === null) return `at the times of ${cron} (${timezone})`;
  return `${when.startsWith('at') ? `${on} ${when}` : `${when}${on === 'every day' ? '' : `, ${on}`}`} (${timezone})`;
}

function timeOf(minute: string, hour: string): string | null {
  const two = (text: string) => text.padStart(2, '0');
  const step = /^\*\/(\d+)$/.exec(minute)?.[1];
  if (hour === '*' && minute === '*') return 'every minute';
  if (hour === '*' && step !== undefined) return `every ${step} minutes`;
  if (!/^\d{1,2}$/.test(minute)) return null;
  if (hour === '*') return minute === '0' ? 'every hour' : `every hour at minute ${minute}`;
  return /^\d{1,2}(,\d{1,2})*$/.test(hour)
    ? `at ${hour
        .split(',')
        .map((one) => `${two(one)}:${two(minute)}`)
        .join(', ')}`
    : null;
}

function daysOf(weekday: string): string | null {
  if (weekday === '*') return 'every day';
  const numbered = weekday
    .toUpperCase()
    .replaceAll(/SUN|MON|TUE|WED|THU|FRI|SAT/g, (name) =>
      String(DAYS.findIndex((day) => day.toUpperCase().startsWith(name))),
    );
  if (numbered === '1-5') return 'from Monday to Friday';
  return /^[0-7](,[0-7])*$/.test(numbered)
    ? `every ${numbered
        .split(',')
        .map((one) => DAYS[Number(one) % 7])
        .join(', ')}`
    : null;
}
