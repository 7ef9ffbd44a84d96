/** One open repetition that may begin anywhere in 2,048 characters, which takes about 30 ms. */
const WAYS_MAX = 4_200_000;
const STEPS_MAX = 3 * WAYS_MAX;
const REGEX_MAX_CHARS = 2_000;
/** Matches one character, class, assertion or parenthesis with its quantifier. */
const ATOM =
  /(\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|\((?:\?(?::|<?[=!]|<[^>]*>))?|[\s\S])(?:([*+?])|\{(\d+)(,?)(\d*)\})?\??/gi;
/** The ASCII characters, and one for all others. */
const CHARACTERS = [...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)), '\u00e9'];

/**
 * Whether a regular expression runs in bounded time on any input, from an upper bound for the number of ways in which it can
 * match and the characters examined. Some harmless expressions count as unbounded.
 * @param maxChars the maximum length of the texts that it is matched against
 */
export function isBoundedRegex(source: string, maxChars: number): boolean {
  // The text that a back-reference repeats is unknown.
  if (source.length > REGEX_MAX_CHARS || /\\[1-9k]/.test(source)) return false;
  const atoms = Array.from(source.matchAll(ATOM), ([, text = '', sign, least, comma, most]) => {
    if (sign !== undefined) return { text, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : maxChars };
    const min = Math.min(Number(least ?? 1), maxChars);
    return { text, min, max: most ? Math.min(Number(most), maxChars) : comma ? maxChars : min };
  });
  const outer: { ways: number; others: number }[] = [];
  let steps = 0;
  /** The ways of the current alternative up to here, and those of the alternatives before it. */
  let ways = 1;
  let others = 0;
  for (const [index, { text, min, max }] of atoms.entries()) {
    if (text.startsWith('(')) {
      outer.push({ ways, others });
      [ways, others] = [1, 0];
    } else if (text === '|') {
      others += ways;
      ways = 1;
    } else if (text === ')') {
      const around = outer.pop();
      const inner = others + ways;
      // A repetition of something ambiguous is exponential.
      if (around === undefined || (max > 1 && inner > 1)) return false;
      ways = around.ways * inner * (max - min + 1);
      others = around.others;
    } else if (max > 1 || min === 0) {
      steps += ways * max;
      const next = atoms.slice(index + 1).find((atom) => atom.text !== ')' || atom.max > 1);
      // If no character can both continue and follow the repetition, only one count can match.
      if (next !== undefined && (next.min === 0 || canMatchSame(text, next.text))) ways *= max - min + 1;
    }
    if (ways > WAYS_MAX) return false;
  }
  const starts = source.startsWith('^') && others === 0 ? 1 : maxChars;
  return outer.length === 0 && starts * (others + ways) <= WAYS_MAX && starts * steps <= STEPS_MAX;
}

function canMatchSame(one: string, other: string): boolean {
  if (other === '$') return false;
  if (/^(?:[()|^]|\\b)/i.test(other)) return true;
  const patterns = [one, other].map((text) => new RegExp(`^${text}$`, 'is'));
  return CHARACTERS.some((character) => patterns.every((pattern) => pattern.test(character)));
}
