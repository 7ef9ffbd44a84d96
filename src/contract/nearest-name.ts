import { distance } from 'fastest-levenshtein';

/** The known name with the fewest edits, ignoring case and punctuation; null if none is close. */
export function nearestName(name: string, known: readonly string[]): string | null {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  const given = plain(name);
  for (const candidate of known) {
    const edits = distance(given, plain(candidate));
    if (edits < bestDistance) {
      best = candidate;
      bestDistance = edits;
    }
  }
  return best;
}
