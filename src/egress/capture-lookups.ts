import type { Answer, Resolve } from './resolve-host.js';

/** decisions.md, Added: names of one capture are looked up once and kept for it. */
const KEPT_MS = 30_000;
/** A page that makes up names has no use for the first of them any more. */
const KEPT_NAMES = 2_000;

/**
 * Look-ups of one capture: a name is asked for once however many ask at the same time, and its answer, a negative one too, serves that
 * capture for 30 s. Nothing is shared between captures.
 */
export function rememberLookups(resolve: Resolve, now: () => number = () => performance.now()): Resolve {
  const known = new Map<string, { answer: Promise<Answer>; until: number }>();
  return (name) => {
    const kept = known.get(name);
    if (kept !== undefined && kept.until > now()) return kept.answer;
    const answer = resolve(name);
    known.delete(name);
    known.set(name, { answer, until: now() + KEPT_MS });
    const [oldest] = known.keys();
    if (known.size > KEPT_NAMES && oldest !== undefined) known.delete(oldest);
    return answer;
  };
}
