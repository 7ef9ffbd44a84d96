/** Progress of a capture, and its time per stage. One stage at a time; the times of repeated stages are added up. */
export class StageTimes {
  readonly #ms = new Map<string, number>();
  readonly #onProgress: (progress: number) => void;
  #current: { name: string; began: number } | null = null;
  #told = 0;

  constructor(onProgress: (progress: number) => void) {
    this.#onProgress = onProgress;
  }

  /** @param progress 0–100; reported if it has increased */
  enter(name: string, progress: number): void {
    this.#leave();
    this.#current = { name, began: performance.now() };
    if (progress <= this.#told) return;
    this.#told = progress;
    this.#onProgress(progress);
  }

  /** Whole ms by stage so far; ends the current stage. */
  taken(): Record<string, number> {
    this.#leave();
    return Object.fromEntries([...this.#ms].map(([name, ms]) => [name, Math.round(ms)]));
  }

  #leave(): void {
    if (this.#current === null) return;
    const { name, began } = this.#current;
    this.#ms.set(name, (this.#ms.get(name) ?? 0) + performance.now() - began);
    this.#current = null;
  }
}
