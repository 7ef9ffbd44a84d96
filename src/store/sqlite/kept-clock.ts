import { GAP_MS, type KeptClock } from '../../contract/kept-clock.js';
import type { Tables } from './tables.js';

const MARK = 'clock';
/** How old the kept time may be; a write for each call would wear out a disk that has nothing else to do. */
const KEPT_FOR_MS = 60_000;
const ACCEPTED = 'accepted';

/** The clock of the last run, in a mark: the trusted time, then how far and for how long the machine's clock has been off, or `accepted`. */
export function keptClock({ marks }: Pick<Tables, 'marks'>): KeptClock | null {
  const [trusted = 0, aheadMs = Number.NaN, forMs = 0] = (marks.get(MARK) ?? '').split(' ').map(Number);
  return trusted > 0 ? { trusted, doubt: Number.isNaN(aheadMs) ? null : { aheadMs, forMs } } : null;
}

/** Runs inside the caller's transaction. */
export function keepClock({ marks }: Pick<Tables, 'marks'>, { trusted, doubt }: KeptClock): boolean {
  const before = keptClock({ marks });
  if (before !== null && marks.get(MARK)?.endsWith(ACCEPTED)) {
    marks.set(MARK, String(before.trusted));
    // A clock that was accepted while no server ran says nothing of one that is wrong since.
    const wall = trusted + (doubt?.aheadMs ?? 0);
    if (Math.abs(wall - before.trusted) <= GAP_MS) return false;
  }
  const ageMs = trusted - (before?.trusted ?? 0);
  const isKept = ageMs >= 0 && ageMs < KEPT_FOR_MS && (before?.doubt === null) === (doubt === null);
  if (!isKept) marks.set(MARK, doubt === null ? String(trusted) : `${trusted} ${doubt.aheadMs} ${doubt.forMs}`);
  return true;
}

/** Runs inside the caller's transaction. */
export function acceptClock({ marks }: Pick<Tables, 'marks'>, now: number): void {
  marks.set(MARK, `${now} ${ACCEPTED}`);
}
