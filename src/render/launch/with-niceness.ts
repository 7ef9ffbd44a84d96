import { isRunnableByAll } from './own-group.js';

/**
 * Niceness of every browser, added to the server's own, so that the server's thread and encoders run before pages. No effect if the browser
 * had to be started in a new session. A browser that may raise priorities, such as root's, resets it for some of its threads.
 */
export const BROWSER_NICENESS = 3;
/** From coreutils or BusyBox; it replaces itself with the command within a millisecond. */
const NICE = ['/usr/bin/nice', '/bin/nice'];

/** How to start a browser with a lower priority than the server's; unchanged if the system has no program for that. */
export function withNiceness(command: string, args: string[], programs = NICE): { command: string; args: string[] } {
  const program = programs.find(isRunnableByAll);
  return program === undefined ? { command, args } : { command: program, args: ['-n', String(BROWSER_NICENESS), command, ...args] };
}
