import { record, undoRecorded } from './change-log.js';
import { unmark } from './element.js';
import { unpin } from './pin.js';

/** Starts recording what is changed for a picture. */
export function begin(): void {
  record();
}

/**
 * Undoes what was changed for the last picture since `begin`, and scrolls back to where the page was.
 * @returns whether it was elsewhere
 */
export function restore(): boolean {
  unpin();
  unmark();
  return undoRecorded();
}
