import { setTimeout as pause } from 'node:timers/promises';

/** Longer than a normal look-up, search domains included; a refusal after a longer one waits for the next multiple. */
const STEP_MS = 100;
/** Hides remaining differences within a step. */
const JITTER_MS = 10;

/**
 * Delays a refusal to a common, jittered time after the query, so that a private name, a missing one and one that was looked up in search
 * domains take the same time (decisions.md, Added).
 *
 * @param since performance.now() of the query
 */
export async function evenRefusal(since: number): Promise<void> {
  const taken = performance.now() - since;
  await pause(Math.ceil((taken + 1) / STEP_MS) * STEP_MS + Math.random() * JITTER_MS - taken);
}
