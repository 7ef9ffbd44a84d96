import { isRunnableByAll } from './own-group.js';

/**
 * The niceness of every browser, relative to the server's, so that the server's thread and encoders have priority over
 * pages. It has no effect in a new session. A browser that may raise priorities, such as root's, resets it for some threads.
 */
export const BROWSER_NICENESS = 3;
/** Part of coreutils or BusyBox. It replaces itself with the command within a millisecond. */
const NICE = ['/usr/bin/nice', '/bin/nice'];

/** The command that starts a browser with a lower priority than the server's; unchanged if the system has no program for that. */
export function withNiceness(command: string, args: string[], programs = NICE): { command: string; args: string[] } {
  const program = programs.find(isRunnableByAll);
  return program === undefined ? { command, args } : { command: program, args: ['-n', String(BROWSER_NICENESS), command, ...args] };
}
