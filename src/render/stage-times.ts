/** The progress of a capture, and how long its stages take. */

/** A stage that has ended, with times by `performance.now()`. */
export interface StageTime {
  name: string;
  began: number;
  ended: number;
  /** Whether the capture failed in this stage. */
  failed: boolean;
}

/** When a picture was begun, by `performance.now()`, and the ms for its shots and its encoding. */
export interface PictureTimes {
  begun: number;
  shoot: number;
  encode: number;
}

/** The progress of a capture, and its time per stage. There is one stage at a time. */
export class StageTimes {
  readonly #stages: StageTime[] = [];
  #current: { name: string; began: number } | null = null;
  #reported = 0;

  constructor(private readonly onProgress: (progress: number) => void) {}

  /** @param progress 0–100; reported if it has increased */
  enter(name: string, progress: number): void {
    this.#leave(false);
    this.#current = { name, began: performance.now() };
    if (progress <= this.#reported) return;
    this.#reported = progress;
    this.onProgress(progress);
  }

  /**
   * Ends the current stage.
   * @param options.failed whether the capture failed in it
   * @param options.picture splits the stage `shoot` into itself and `encode`
   * @returns all stages so far
   */
  stages({ failed = false, picture }: { failed?: boolean; picture?: PictureTimes }): StageTime[] {
    this.#leave(failed);
    if (picture === undefined) return this.#stages;
    const { begun, shoot, encode } = picture;
    const shot = { name: 'shoot', began: begun, ended: begun + shoot, failed };
    const encoded = { name: 'encode', began: shot.ended, ended: shot.ended + encode, failed };
    return [...this.#stages.filter(({ name }) => name !== 'shoot'), shot, encoded];
  }

  #leave(failed: boolean): void {
    if (this.#current !== null) this.#stages.push({ ...this.#current, ended: performance.now(), failed });
    this.#current = null;
  }
}

/** Whole ms by stage, but for those that are not part of a capture's own work; the times of repeated stages are added. */
export function timingsOf(stages: readonly StageTime[]): Record<string, number> {
  const ms: Record<string, number> = {};
  for (const { name, began, ended } of stages) ms[name] = (ms[name] ?? 0) + ended - began;
  const { prepare: _prepare, inspect: _inspect, ...told } = ms;
  return Object.fromEntries(Object.entries(told).map(([name, sum]) => [name, Math.round(sum)]));
}
