import type { Artifacts } from './artifacts/artifacts.js';
import { findMissing, removeOrphans, type SweepDeps, sweep } from './capture/sweep.js';

/** How late a picture may be gone, or a lost lease noticed; a sweep that finds nothing costs next to nothing. */
const SWEEP_EVERY_MS = 5_000;

export interface HouseKeepingOptions {
  deps: SweepDeps & { artifacts: Pick<Artifacts, 'open'> };
  /** Unix ms: what lay in the artifact directory before, without a job, is an orphan. */
  startedAt: number;
  /** Takes the pictures whose files are not there. */
  missing: Set<string>;
  /** Ends a step under way between two of its parts. */
  signal: AbortSignal;
  onError(error: unknown): void;
}

/** Keeps the data directory in order while the server runs, one step after the other: orphans and missing files once, a sweep every 5 s. */
export class HouseKeeping implements AsyncDisposable {
  private readonly timer: NodeJS.Timeout;
  private steps: Promise<void> = Promise.resolve();

  constructor(private readonly options: HouseKeepingOptions) {
    const { deps, startedAt, missing, signal } = options;
    const sweepOnce = () => this.add(() => sweep(deps, signal));
    sweepOnce();
    this.add(() => removeOrphans(deps, startedAt, signal));
    this.add(() => findMissing(deps, missing, signal));
    this.timer = setInterval(sweepOnce, SWEEP_EVERY_MS);
  }

  /** Begins no further sweep. */
  pause(): void {
    clearInterval(this.timer);
  }

  /** Settles when the last step has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.pause();
    await this.steps;
  }

  private add(step: () => Promise<void>): void {
    this.steps = this.steps.then(step).catch(this.options.onError);
  }
}
