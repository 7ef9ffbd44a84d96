import { setTimeout as pause } from 'node:timers/promises';

/** Longer than an honest look-up takes, the system's search domains included; one that takes longer still waits for the next multiple. */
const STEP_MS = 100;
/** What is left of a difference within a step is less than this. */
const JITTER_MS = 10;

/**
 * Holds a refusal back until a common, jittered time after its question, so that a private name, a missing one and one that had to be
 * looked for in search domains take the same (decisions.md, Added).
 *
 * @param since performance.now() of the question
 */
export async function evenRefusal(since: number): Promise<void> {
  const taken = performance.now() - since;
  await pause(Math.ceil((taken + 1) / STEP_MS) * STEP_MS + Math.random() * JITTER_MS - taken);
}
