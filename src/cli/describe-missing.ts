import type { CaptureTarget } from './capture-target.js';
import { printable } from './operator-error.js';

const MISSING_SHOWN = 5;

/** Describes in one line the paths that a local page requested and that were not served. */
export function describeMissing({ kind }: CaptureTarget, missing: ReadonlySet<string>): string {
  const shown = [...missing].slice(0, MISSING_SHOWN).join(', ');
  const more = missing.size > MISSING_SHOWN ? ` and ${missing.size - MISSING_SHOWN} more` : '';
  const where =
    kind === 'stdin'
      ? 'Not found, since HTML from standard input cannot read files'
      : "Not found among the page files in the page's directory";
  return printable(`${where}: ${shown}${more}`);
}
