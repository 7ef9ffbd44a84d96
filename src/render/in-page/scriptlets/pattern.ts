export type Test = (text: string) => boolean;

/**
 * A test whether a text contains the pattern, or matches it if it is `/…/flags`. A leading `!` negates it; an empty pattern
 * and `*` match any text.
 */
export function patternTest(pattern: string): Test {
  if (pattern.startsWith('!')) {
    const test = patternTest(pattern.slice(1));
    return (text) => !test(text);
  }
  if (pattern === '' || pattern === '*') return () => true;
  const [, source, flags] = /^\/(.+)\/([gimsu]*)$/s.exec(pattern) ?? [];
  if (source === undefined) return (text) => text.includes(pattern);
  const expression = new RegExp(source, flags?.replace('g', ''));
  return (text) => expression.test(text);
}

/** A test for a delay in ms. An empty pattern and `*` match any delay; a leading `!` negates it. */
export function delayTest(pattern: string): (ms: unknown) => boolean {
  const [, not, wanted] = /^(!?)(\d+)$/.exec(pattern) ?? [];
  return wanted === undefined ? () => true : (ms) => (Number(ms) === Number(wanted)) !== (not === '!');
}

/** A function's source, or any other value as text. */
export function sourceOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return '';
  }
}
