import type { Answer, Resolve } from './resolve-host.js';
import { waitAtMost } from './wait-at-most.js';

/** decisions.md, Added: names of one capture are looked up once and kept for it. */
const KEPT_MS = 30_000;
/** What a name server that has been silent about one name is given for each other, until it says something. */
const SILENT_MAX_MS = 1_000;
const SILENCE = { unresolvable: 'ETIMEOUT', temporary: true };
/** A page that makes up names has no use for the first of them any more. */
const KEPT_NAMES = 2_000;

/**
 * Look-ups of one capture: a name is asked for once however many ask at the same time, and its answer, a negative one too, serves that
 * capture for 30 s. Nothing is shared between captures. Scripts that hold up a page are loaded one after the other: a silent name server
 * costs its whole time once, not once for each of their hosts.
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
