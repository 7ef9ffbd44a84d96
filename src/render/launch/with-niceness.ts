import { isRunnableByAll } from './own-group.js';

/**
 * Of every browser, added to the server's own. All answers wait for the server's thread, which need not wait for four pages first; its
 * encoders go before them too. It holds where both share the processor: not where the browser had to get a session of its own. A browser
 * that may raise priorities, as root's may, takes it back for threads of its own.
 */
export const BROWSER_NICENESS = 3;
/** Of coreutils, or of BusyBox; it is gone, replaced by the command, within a millisecond. */
const NICE = ['/usr/bin/nice', '/bin/nice'];

/** How to start a browser so that it yields to the server; as it is, where the system has no program for that. */
export function withNiceness(command: string, args: string[], programs = NICE): { command: string; args: string[] } {
  const program = programs.find(isRunnableByAll);
  return program === undefined ? { command, args } : { command: program, args: ['-n', String(BROWSER_NICENESS), command, ...args] };
}
