import type { PendingGroup } from './pending-requests.js';

/** How far the clock of a page has run. The names are keys of the debug files. */
export interface ClockRun {
  /** ms of the page's time that passed ahead of real time. */
  aheadMs: number;
  realPaceMs: number;
  /** Real ms for which requests held the clock. */
  heldMs: number;
  /** Why the clock kept to real time; null if it did not. */
  talk: string | null;
}

const HOLDERS_MAX = 20;

/** The sum of a page's runs, and the requests that held its clock. */
export class ClockTotal implements ClockRun {
  aheadMs = 0;
  realPaceMs = 0;
  heldMs = 0;
  talk: string | null = null;
  readonly heldBy: PendingGroup[] = [];

  add({ aheadMs, realPaceMs, heldMs, talk }: ClockRun): void {
    this.aheadMs += aheadMs;
    this.realPaceMs += realPaceMs;
    this.heldMs += heldMs;
    this.talk ??= talk;
  }

  addHolders(holding: readonly PendingGroup[]): void {
    for (const one of holding) {
      const known = this.heldBy.find(({ kind, host }) => kind === one.kind && host === one.host);
      if (known !== undefined) known.count = Math.max(known.count, one.count);
      else if (this.heldBy.length < HOLDERS_MAX) this.heldBy.push(one);
    }
  }
}
