/** A node has ended if it had no lock and reported nothing during this many beats. */
const LOST_AFTER_BEATS = 3;
/** A node that has reported within this time is alive, whatever the times in its rows say. */
const ALIVE_MS = 5_000;

export interface SeenNode {
  id: string;
  seenAt: number;
  /** Whether it holds its advisory lock. */
  locked: boolean;
}

/** Observations of other nodes from this node's beats, by this machine's monotonic clock, since the database's clock may be set. */
export class OtherNodes {
  #known = new Map<string, { seenAt: number; reportedAt: number; silentBeats: number }>();

  /** Called with each beat. */
  see(nodes: readonly SeenNode[]): void {
    const now = performance.now();
    const seen = nodes.map(({ id, seenAt, locked }) => {
      const before = this.#known.get(id);
      if (before === undefined || before.seenAt !== seenAt) return [id, { seenAt, reportedAt: now, silentBeats: locked ? 0 : 1 }] as const;
      return [id, { ...before, silentBeats: locked ? 0 : before.silentBeats + 1 }] as const;
    });
    this.#known = new Map(seen);
  }

  /** Called after a gap between beats, in which others may have had no connection either. */
  forgetSilence(): void {
    for (const node of this.#known.values()) node.silentBeats = 0;
  }

  /** Lists the nodes that have ended. */
  lost(): string[] {
    return [...this.#known].filter(([, { silentBeats }]) => silentBeats >= LOST_AFTER_BEATS).map(([id]) => id);
  }

  /** Lists the nodes that are certainly alive. */
  alive(): string[] {
    const since = performance.now() - ALIVE_MS;
    return [...this.#known].filter(([, { reportedAt }]) => reportedAt > since).map(([id]) => id);
  }
}
