const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A time as a reader wants it: how long ago, or the date. The whole time is in the attribute. @param at Unix ms */
export function When({ at, now }: { at: number; now: number }) {
  return (
    <time datetime={new Date(at).toISOString()} title={instant(at)}>
      {ago(at, now)}
    </time>
  );
}

/** `24 Nov 2026, 23:58:36 UTC` */
export function instant(at: number): string {
  const iso = new Date(at).toISOString();
  return `${day(at)}, ${iso.slice(11, 19)} UTC`;
}

/** `1,234` */
export function amount(value: number): string {
  return value.toLocaleString('en-US');
}

/** `21.0 kB` */
export function bytes(count: number): string {
  if (count < 1_000) return `${count} bytes`;
  if (count < 1_000_000) return `${(count / 1_000).toFixed(1)} kB`;
  return count < 1_000_000_000 ? `${(count / 1_000_000).toFixed(1)} MB` : `${(count / 1_000_000_000).toFixed(1)} GB`;
}

/** `812 ms`, `3.2 s` */
export function duration(ms: number): string {
  return ms < SECOND_MS ? `${Math.round(ms)} ms` : `${(ms / SECOND_MS).toFixed(1)} s`;
}

function ago(at: number, now: number): string {
  const ms = now - at;
  if (ms < 0) return `in ${span(-ms)}`;
  return ms < DAY_MS ? `${span(ms)} ago` : day(at);
}

function span(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  return ms < HOUR_MS ? `${Math.floor(ms / MINUTE_MS)} min` : `${Math.floor(ms / HOUR_MS)} h`;
}

function day(at: number): string {
  const [, month = '', date = '', year = ''] = /^\w+, (\w+) (\d+), (\d+)$/.exec(DAY.format(at)) ?? [];
  return `${date} ${month} ${year}`;
}

const DAY = new Intl.DateTimeFormat('en-US', { weekday: 'short', year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' });
