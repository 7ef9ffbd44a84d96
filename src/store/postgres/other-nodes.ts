/** A node that had no lock and told nothing on so many beats has ended. */
const LOST_AFTER_BEATS = 3;
/** A node that has told something within this time lives, whatever the times in its rows say. */
const ALIVE_MS = 5_000;

export interface SeenNode {
  id: string;
  seenAt: number;
  /** Whether it has its advisory lock. */
  locked: boolean;
}

/** What the beats of a node have shown of the others, by this machine's monotonic clock: that of the database may be set. */
export class OtherNodes {
  #known = new Map<string, { seenAt: number; toldAt: number; silentBeats: number }>();

  /** To be called with each beat. */
  see(nodes: readonly SeenNode[]): void {
    const now = performance.now();
    const seen = nodes.map(({ id, seenAt, locked }) => {
      const before = this.#known.get(id);
      if (before === undefined || before.seenAt !== seenAt) return [id, { seenAt, toldAt: now, silentBeats: locked ? 0 : 1 }] as const;
      return [id, { ...before, silentBeats: locked ? 0 : before.silentBeats + 1 }] as const;
    });
    this.#known = new Map(seen);
  }

  /** To be called after a gap between beats, in which others may have had no connection either. */
  forgetSilence(): void {
    for (const node of this.#known.values()) node.silentBeats = 0;
  }

  /** Those that have ended. */
  lost(): string[] {
    return [...this.#known].filter(([, { silentBeats }]) => silentBeats >= LOST_AFTER_BEATS).map(([id]) => id);
  }

  /** Those that live for certain. */
  alive(): string[] {
    const since = performance.now() - ALIVE_MS;
    return [...this.#known].filter(([, { toldAt }]) => toldAt > since).map(([id]) => id);
  }
}
