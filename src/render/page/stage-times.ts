/** How far a capture is and where its time went. One stage at a time; each may come again, and adds up. */
export class StageTimes {
  readonly #ms = new Map<string, number>();
  readonly #onProgress: (progress: number) => void;
  #current: { name: string; began: number } | null = null;
  #told = 0;

  constructor(onProgress: (progress: number) => void) {
    this.#onProgress = onProgress;
  }

  /** @param progress 0–100; told to the outside when it is more than before */
  enter(name: string, progress: number): void {
    this.#leave();
    this.#current = { name, began: performance.now() };
    if (progress <= this.#told) return;
    this.#told = progress;
    this.#onProgress(progress);
  }

  /** Whole ms by stage, so far; leaves the current one. */
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
