import { undoRecorded } from './change-log.js';
import { unmark } from './element.js';
import { unpin } from './pin.js';

export { record as begin } from './change-log.js';

/**
 * Undoes what was changed for the last picture since `begin`, and scrolls back to where the page was.
 * @returns whether it was elsewhere
 */
export function restore(): boolean {
  unpin();
  unmark();
  return undoRecorded();
}
