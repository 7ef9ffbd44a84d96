import { isRunnableByAll } from './own-group.js';

/**
 * Of every browser, above the server's own (0 to 19). The server's thread does little, and all answers wait for it: so it need not wait for
 * four pages first. Between browsers it changes nothing.
 */
export const BROWSER_NICENESS = 3;
/** Of coreutils, or of BusyBox; it is gone, replaced by the command, within a millisecond. */
const NICE = ['/usr/bin/nice', '/bin/nice'];

/** How to start a browser so that it yields to the server; as it is, where the system has no program for that. */
export function niced(command: string, args: string[], programs = NICE): { command: string; args: string[] } {
  const program = programs.find(isRunnableByAll);
  return program === undefined ? { command, args } : { command: program, args: ['-n', String(BROWSER_NICENESS), command, ...args] };
}
