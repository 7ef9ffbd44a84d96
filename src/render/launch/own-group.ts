import { readFileSync, statSync } from 'node:fs';

/** How to start a command as the leader of a new process group. */
export interface GroupedCommand {
  command: string;
  args: string[];
  /** Whether Node must start it in a new session, which is Node's only way. */
  detached: boolean;
}

/** Part of the base system of Debian and its derivatives; it replaces itself with the command within milliseconds. */
const PERL = '/usr/bin/perl';
const INTO_OWN_GROUP = 'setpgrp(0, 0); exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\n"';

/**
 * If the kernel groups processes by session (sched(7), autogroup), each session gets the same share of CPU time: niceness then matters only
 * among the processes of one browser, and a busy page gets as much as all pages of the other browsers. In this case the browser gets a
 * process group without a session, if the system has a program for that.
 */
export function inOwnGroup(command: string, args: string[], perl = PERL): GroupedCommand {
  if (!sessionsShareTheProcessor() || !isRunnableByAll(perl)) return { command, args, detached: true };
  return { command: perl, args: ['-e', INTO_OWN_GROUP, '--', command, ...args], detached: false };
}

function sessionsShareTheProcessor(): boolean {
  try {
    return readFileSync('/proc/sys/kernel/sched_autogroup_enabled', 'latin1').trim() === '1';
  } catch {
    return false;
  }
}

/** Also executable by the browser's user. */
export function isRunnableByAll(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o005) === 0o005;
}
