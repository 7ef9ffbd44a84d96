import type { Emulation } from '../emulate/emulation-of.js';

const REMEMBERED = 16;

/** Which shape is most asked for lately: that of most of the last 16 captures, the latest among equals. */
export class MostUsedEmulation {
  private recent: Emulation[] = [];

  note(shape: Emulation): void {
    this.recent = [...this.recent.slice(1 - REMEMBERED), shape];
  }

  /** The latest of the favourite rigid shape; null before the first capture. */
  get current(): Emulation | null {
    const counts = new Map<string, number>();
    for (const { key } of this.recent) counts.set(key, (counts.get(key) ?? 0) + 1);
    let best: Emulation | null = null;
    for (const shape of this.recent) {
      if (best === null || (counts.get(shape.key) ?? 0) >= (counts.get(best.key) ?? 0)) best = shape;
    }
    return best;
  }
}
