import { readFileSync, statSync } from 'node:fs';

/** How to start a command at the head of a process group of its own. */
export interface GroupedCommand {
  command: string;
  args: string[];
  /** Whether Node must put it into a session of its own, which is the only way that Node has. */
  detached: boolean;
}

/** Part of the base system of Debian and its kin; it is gone, replaced by the command, within some milliseconds. */
const PERL = '/usr/bin/perl';
const INTO_OWN_GROUP = 'setpgrp(0, 0); exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\n"';

/**
 * A new session is also a new share of the processor where the kernel groups processes by session (sched(7), autogroup): niceness then holds
 * among the processes of one browser only, and a page that is busy for ever takes as much as all other browsers' pages together. So there
 * the browser gets a group without a session, where the system has a program that does it.
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

/** By the user that the browser runs as, too. */
export function isRunnableByAll(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o005) === 0o005;
}
