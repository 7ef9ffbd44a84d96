import type { Emulation } from '../emulate/emulation-of.js';

const REMEMBERED = 16;

/** The emulation that most of the last 16 captures used; the latest one if several are equal. */
export class MostUsedEmulation {
  private recent: Emulation[] = [];

  note(emulation: Emulation): void {
    this.recent = [...this.recent.slice(1 - REMEMBERED), emulation];
  }

  /** The latest with the most used context options; null before the first capture. */
  get current(): Emulation | null {
    const counts = new Map<string, number>();
    for (const { key } of this.recent) counts.set(key, (counts.get(key) ?? 0) + 1);
    let best: Emulation | null = null;
    for (const emulation of this.recent) {
      if (best === null || (counts.get(emulation.key) ?? 0) >= (counts.get(best.key) ?? 0)) best = emulation;
    }
    return best;
  }
}
