/** A stage that has ended, with times by `performance.now()`. */
export interface StageTime {
  name: string;
  began: number;
  ended: number;
  /** Whether the capture failed in this stage. */
  failed: boolean;
}

/** The progress of a capture, and its time per stage. There is one stage at a time; the times of repeated stages are added. */
export class StageTimes {
  readonly #stages: StageTime[] = [];
  readonly #onProgress: (progress: number) => void;
  #current: { name: string; began: number } | null = null;
  #reported = 0;

  constructor(onProgress: (progress: number) => void) {
    this.#onProgress = onProgress;
  }

  /** @param progress 0–100; reported if it has increased */
  enter(name: string, progress: number): void {
    this.#leave();
    this.#current = { name, began: performance.now() };
    if (progress <= this.#reported) return;
    this.#reported = progress;
    this.#onProgress(progress);
  }

  /** Whole ms by stage so far. Ends the current stage. */
  taken(): Record<string, number> {
    this.#leave();
    const ms = new Map<string, number>();
    for (const { name, began, ended } of this.#stages) ms.set(name, (ms.get(name) ?? 0) + ended - began);
    return Object.fromEntries([...ms].map(([name, sum]) => [name, Math.round(sum)]));
  }

  /**
   * All stages so far, in order. Ends the current one.
   * @param failed whether the capture failed in it
   */
  stages({ failed }: { failed: boolean }): StageTime[] {
    this.#leave(failed);
    return [...this.#stages];
  }

  #leave(failed = false): void {
    if (this.#current === null) return;
    this.#stages.push({ ...this.#current, ended: performance.now(), failed });
    this.#current = null;
  }
}
