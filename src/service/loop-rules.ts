/** Options that both loops of the service share. */
export interface LoopRules {
  /** Delay in ms before a change made by another process (queue resume, a delivery made due) takes effect. */
  pollMs: number;
  /** Aborted when the shutdown can no longer wait for running tasks. */
  shutdown: AbortSignal;
  now(): number;
  onError(error: unknown): void;
}
