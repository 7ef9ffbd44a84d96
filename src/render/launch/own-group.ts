import { readFileSync, statSync } from 'node:fs';

/** A command to be started as the leader of a new process group. */
export interface GroupedCommand {
  command: string;
  args: string[];
  /** Whether Node must start it in a new session, the only way that Node offers. */
  detached: boolean;
}

/** Perl is part of the base system of Debian and its derivatives. It replaces itself with the command within milliseconds. */
const PERL = '/usr/bin/perl';
const INTO_OWN_GROUP = 'setpgrp(0, 0); exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\n"';

/**
 * With autogroup scheduling (sched(7)), sessions share CPU time equally, and niceness applies only within one: a busy page
 * would get as much as all pages of other browsers. So the browser gets a process group without a session, if possible.
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

/** Whether all users can run the file, including the browser's. */
export function isRunnableByAll(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o005) === 0o005;
}
