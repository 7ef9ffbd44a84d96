import type { Artifacts } from '../artifacts/artifacts.js';
import { findMissing, recoverLeases, removeOrphans, type SweepDeps, sweep } from '../capture/sweep.js';

/** How late a picture may be deleted, or a lost lease noticed; a sweep that finds nothing is cheap. */
const SWEEP_EVERY_MS = 5_000;
/** How often rows and files are compared. */
const COMPARE_EVERY_MS = 3_600_000;

export interface HousekeepingOptions {
  deps: SweepDeps & { artifacts: Pick<Artifacts, 'open' | 'isLocal'> };
  /** To be called before each sweep. */
  keepClock(): Promise<void>;
  /** Unix ms: older files in the artifact directory without a job are orphans. */
  startedAt: number;
  /** Ends the current step at the next batch. */
  signal: AbortSignal;
  onError(error: unknown): void;
}

/** Cleans up the data directory while the server runs, one step at a time: a sweep every 5 s, orphans and missing files at the start
 * and every hour. */
export class Housekeeping implements AsyncDisposable {
  private readonly timer: NodeJS.Timeout;
  private readonly comparing: NodeJS.Timeout;
  private steps: Promise<void> = Promise.resolve();
  private paused = false;
  private recovering = false;

  constructor(private readonly options: HousekeepingOptions) {
    const { deps, startedAt, signal, keepClock } = options;
    const sweepOnce = () => {
      this.add(keepClock);
      this.add(() => sweep(deps, signal));
    };
    sweepOnce();
    const compareOnce = (before: number) => {
      this.add(() => removeOrphans(deps, before, signal));
      // In a bucket, that would be a request for each picture: a missing one is found when it is asked for.
      if (deps.artifacts.isLocal) this.add(() => findMissing(deps, signal));
    };
    compareOnce(startedAt);
    this.comparing = setInterval(() => compareOnce(deps.cautiousNow() - COMPARE_EVERY_MS), COMPARE_EVERY_MS);
    this.timer = setInterval(sweepOnce, SWEEP_EVERY_MS);
  }

  /** Does not wait for the next sweep, nor for the step under way. */
  recoverNow(): void {
    if (this.paused || this.recovering) return;
    this.recovering = true;
    const recovering = recoverLeases(this.options.deps)
      .catch(this.options.onError)
      .finally(() => {
        this.recovering = false;
      });
    this.add(() => recovering);
  }

  /** Starts no further sweep. */
  pause(): void {
    this.paused = true;
    clearInterval(this.timer);
    clearInterval(this.comparing);
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
