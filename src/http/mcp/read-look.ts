import type { RequestIssue } from '../../contract/submission.js';
import { VIEWS, type View } from './show-job.js';

/** The argument `view`; adds what is wrong with it to the issues. */
export function readView(given: unknown, issues: RequestIssue[]): View {
  const view = given === undefined ? 'picture' : VIEWS.find((known) => known === given);
  if (view === undefined) issues.push({ path: 'view', message: `must be one of ${VIEWS.join(', ')}` });
  return view ?? 'picture';
}

/** The argument `from`; adds what is wrong with it to the issues. */
export function readFrom(given: unknown, issues: RequestIssue[]): number {
  if (given === undefined) return 1;
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 1) return given;
  issues.push({ path: 'from', message: 'must be a whole number, at least 1' });
  return 1;
}

/** Adds the arguments that a tool does not have to the issues. */
export function refuseUnknown(rest: Record<string, unknown>, known: readonly string[], issues: RequestIssue[]): void {
  for (const name of Object.keys(rest)) {
    const shown = name.slice(0, 60);
    issues.push({ path: shown, message: `Unknown field \`${shown}\`. Known fields: ${known.join(', ')}.` });
  }
}
