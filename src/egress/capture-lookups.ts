import type { Answer, Resolve } from './resolve-host.js';
import { waitAtMost } from './wait-at-most.js';

/** decisions.md, Added: a capture looks up each name once, and keeps the answer. */
const KEPT_MS = 30_000;
/** Time limit of further look-ups while the name server has left one unanswered. */
const SILENT_MAX_MS = 1_000;
const SILENCE = { unresolvable: 'ETIMEOUT', temporary: true };
/** Limits the memory that a page with many made-up names can take. */
const KEPT_NAMES = 2_000;

/**
 * Look-ups of one capture. Concurrent look-ups of a name share one query, and its answer, positive or negative, is kept for 30 s. Nothing is
 * shared between captures. Since blocking scripts load one after the other, a silent name server may take its full time only once, not once
 * per host.
 */
export function rememberLookups(resolve: Resolve, now: () => number = () => performance.now()): Resolve {
  const known = new Map<string, { answer: Promise<Answer>; until: number }>();
  let isSilent = false;
  const ask: Resolve = async (name) => {
    const asked = resolve(name).then((answer) => {
      isSilent = isSilence(answer);
      return answer;
    });
    return isSilent ? await waitAtMost(asked, SILENT_MAX_MS, SILENCE) : await asked;
  };
  return (name) => {
    const kept = known.get(name);
    if (kept !== undefined && kept.until > now()) return kept.answer;
    const answer = ask(name);
    known.delete(name);
    known.set(name, { answer, until: now() + KEPT_MS });
    const [oldest] = known.keys();
    if (known.size > KEPT_NAMES && oldest !== undefined) known.delete(oldest);
    return answer;
  };
}

function isSilence(answer: Answer): boolean {
  return 'unresolvable' in answer && answer.unresolvable === SILENCE.unresolvable;
}
