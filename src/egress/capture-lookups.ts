import pTimeout from 'p-timeout';
import { CaptureMemory } from './capture-memory.js';
import type { Answer, Resolve } from './resolve-host.js';

/** Time limit of further look-ups while the name server has left one unanswered. */
const SILENT_MAX_MS = 1_000;
const SILENCE = { unresolvable: 'ETIMEOUT', temporary: true };

/**
 * Look-ups of one capture. Concurrent look-ups of a name share one query, and its answer, positive or negative, is kept for 30 s. Nothing is
 * shared between captures. Since blocking scripts load one after the other, a silent name server may take its full time only once, not once
 * per host.
 */
export function rememberLookups(resolve: Resolve, now?: () => number): Resolve {
  const known = new CaptureMemory<Promise<Answer>>(now);
  let isSilent = false;
  const ask: Resolve = async (name) => {
    const asked = resolve(name).then((answer) => {
      isSilent = isSilence(answer);
      return answer;
    });
    return isSilent ? await pTimeout(asked, { milliseconds: SILENT_MAX_MS, fallback: () => SILENCE }) : await asked;
  };
  return (name) => {
    const kept = known.get(name);
    if (kept !== undefined) return kept;
    const answer = ask(name);
    known.set(name, answer);
    return answer;
  };
}

function isSilence(answer: Answer): boolean {
  return 'unresolvable' in answer && answer.unresolvable === SILENCE.unresolvable;
}
