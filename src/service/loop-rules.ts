/** Options of both loops of the service. */
export interface LoopRules {
  /** ms: how soon a change made by another process (queue resume, a delivery made due) takes effect. */
  pollMs: number;
  /** Aborted when running tasks can be waited for no longer. */
  cut: AbortSignal;
  now(): number;
  onError(error: unknown): void;
}
