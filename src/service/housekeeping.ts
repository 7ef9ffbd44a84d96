import type { Artifacts } from '../artifacts/artifacts.js';
import { findMissing, recoverLeases, removeOrphans, type SweepDeps, sweep } from '../capture/sweep.js';

/** Interval of sweeps: how late a picture may be deleted or a lost lease noticed. A sweep that finds nothing is cheap. */
const SWEEP_EVERY_MS = 5_000;
/** Interval at which rows and files are compared. */
const COMPARE_EVERY_MS = 3_600_000;

export interface HousekeepingOptions {
  deps: SweepDeps & { artifacts: Pick<Artifacts, 'open' | 'isLocal'> };
  /** Called before each sweep. */
  keepClock(): Promise<void>;
  /** Unix ms. Older files in the artifact directory without a job are orphans. */
  startedAt: number;
  /** Ends the current step at the next batch. */
  signal: AbortSignal;
  onError(error: unknown): void;
}

/**
 * Cleans up the data directory while the server runs, one step at a time: a sweep every 5 s, and a search for orphans and missing files at
 * the start and every hour.
 */
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
      // In a bucket, that would be a request for each picture, so a missing one is found only when it is requested.
      if (deps.artifacts.isLocal) this.add(() => findMissing(deps, signal));
    };
    compareOnce(startedAt);
    this.comparing = setInterval(() => compareOnce(deps.cautiousNow() - COMPARE_EVERY_MS), COMPARE_EVERY_MS);
    this.timer = setInterval(sweepOnce, SWEEP_EVERY_MS);
  }

  /** Recovers lost leases at once, without waiting for the next sweep or for the current step. */
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

  /** Resolves when the last step has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.pause();
    await this.steps;
  }

  private add(step: () => Promise<void>): void {
    this.steps = this.steps.then(step).catch(this.options.onError);
  }
}
