import type { Executable } from '../launch/executable.js';
import { FAR_BEHIND_MAJORS, majorOf } from './browser-age.js';

export interface RankedBrowser extends Executable {
  /** It could not capture when it was last tried, not long ago. */
  failed: boolean;
}

/**
 * The best first: one that is not far behind the newest, then a headless shell, then the newer one, then in the order given. What failed
 * lately comes last: it is tried again only when nothing else works.
 */
export function rankBrowsers(found: readonly RankedBrowser[]): RankedBrowser[] {
  const newest = Math.max(0, ...found.filter(({ failed }) => !failed).map(({ version }) => majorOf(version)));
  const rank = ({ failed, version, kind }: RankedBrowser) => [
    Number(failed),
    Number(newest - majorOf(version) >= FAR_BEHIND_MAJORS),
    Number(kind !== 'headless-shell'),
    -majorOf(version),
  ];
  return [...found].sort((a, b) => firstDifference(rank(a), rank(b)));
}

function firstDifference(a: number[], b: number[]): number {
  const index = a.findIndex((value, at) => value !== b[at]);
  return index === -1 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}
