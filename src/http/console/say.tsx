const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DAY = new Intl.DateTimeFormat('en-GB', { year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' });

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
  return `${DAY.format(at)}, ${new Date(at).toISOString().slice(11, 19)} UTC`;
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
  const ms = Math.max(0, now - at);
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s ago`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  return ms < DAY_MS ? `${Math.floor(ms / HOUR_MS)} h ago` : DAY.format(at);
}
