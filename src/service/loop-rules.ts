/** What both loops of the service go by. */
export interface LoopRules {
  /** ms: how soon a change made by another process (queue resume, a delivery made due) is acted on. */
  pollMs: number;
  /** Aborted when what is under way can be waited for no longer. */
  cut: AbortSignal;
  now(): number;
  onError(error: unknown): void;
}
