import { z } from 'zod';

/** A string of limited length. Further checks of a longer one are skipped, so that none of them sees more than `maxChars`. */
export function limited(maxChars: number) {
  return z.string().max(maxChars, { abort: true });
}
