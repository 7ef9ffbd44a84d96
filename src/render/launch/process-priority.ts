/**
 * The CPU priorities of browsers. Niceness is relative to the server's, so that the server's thread and encoders come before
 * pages, and new pages before those that compute for long.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { SYSTEM_PATH, type Unprivileged } from './launch-mode.js';
import { type BrowserProcess, readProcFile, threadsOf } from './process-table.js';

/** The niceness of every browser. One that may raise priorities, such as root's, resets it for some threads. */
export const BROWSER_NICENESS = 3;
/** Programs that replace themselves with the command at once. Perl is part of the base system of Debian and its derivatives. */
const PROGRAMS = { nice: ['/usr/bin/nice', '/bin/nice'], perl: '/usr/bin/perl' };
/** Part of util-linux or BusyBox. Without it, priorities stay unchanged. */
const RENICE = 'renice';
const INTO_OWN_GROUP = 'setpgrp(0, 0); exec { $ARGV[0] } @ARGV; die "$ARGV[0]: $!\n"';

/**
 * The command that starts a browser with a lower priority and in a process group of its own. With autogroup scheduling
 * (sched(7)), niceness applies only within a session, so the group gets no new session if that is possible.
 * @returns `detached` if Node must start it in a new session, the only way that Node offers
 */
export function browserCommand(path: string, flags: string[], { nice, perl } = PROGRAMS) {
  const program = nice.find(isRunnableByAll);
  const [command, ...args] = [
    ...(program === undefined ? [] : [program, '-n', String(BROWSER_NICENESS)]),
    path,
    ...flags,
  ] as [string];
  const hasAutogroups = readProcFile('/proc/sys/kernel/sched_autogroup_enabled')?.trim() === '1';
  if (!hasAutogroups || !isRunnableByAll(perl)) return { command, args, detached: true };
  return { command: perl, args: ['-e', INTO_OWN_GROUP, '--', command, ...args], detached: false };
}

/** Whether all users can run the file, including the browser's. */
function isRunnableByAll(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o005) === 0o005;
}

/**
 * Additional niceness of a renderer by its used CPU time, in clock ticks (1/100 s in /proc), a better measure than its share:
 * with four processes on two cores, none has a core to itself. Most pages finish before the first step.
 */
const FIRST_STEP = { ticks: 40, niceness: 10 };
const STEPS = [{ ticks: 100, niceness: 16 }, FIRST_STEP];
const NICENESS_MAX = 19;

function nicenessOf({ niceness }: { niceness: number }): number {
  return Math.min(getPriority() + BROWSER_NICENESS + niceness, NICENESS_MAX);
}

/** Gives long-running renderers a lower priority than new ones, which costs nothing while the CPU is idle. */
export class RendererPriority {
  /** The niceness set so far, by pid. */
  #lowered = new Map<number, number>();

  /** @param user the user of the processes; null for the server's own */
  constructor(private readonly user: Unprivileged | null) {}

  /**
   * Gives a renderer at once the priority of one that has run for a while. With the lowest one, pages that no client waits for would reach
   * their timeouts beside a busy server.
   */
  lower(pid: number): void {
    void lowerPriority(pid, nicenessOf(FIRST_STEP), this.user);
  }

  /** Must be called with a browser's processes about twice a second. */
  update(processes: readonly BrowserProcess[]): void {
    const before = this.#lowered;
    this.#lowered = new Map();
    for (const { pid, cpuTicks, role } of processes) {
      const step = role === 'renderer' ? STEPS.find(({ ticks }) => cpuTicks >= ticks) : undefined;
      if (step === undefined) continue;
      const niceness = nicenessOf(step);
      if (before.get(pid) !== niceness) void lowerPriority(pid, niceness, this.user);
      this.#lowered.set(pid, niceness);
    }
  }
}

/**
 * Sets the niceness (0 to 19) of a process, that is, of each of its threads. Root may lack the right to do so for another
 * user's threads, as in a container, but that user has it.
 * @param user the process's user; null for the server's own
 */
export async function lowerPriority(pid: number, niceness: number, user: Unprivileged | null): Promise<void> {
  const refused = threadsOf(pid).filter((thread) => !setNiceness(thread, niceness));
  if (refused.length === 0 || user === null) return;
  const renice = spawn(RENICE, [String(niceness), '-p', ...refused.map(String)], {
    ...user,
    stdio: 'ignore',
    env: { PATH: SYSTEM_PATH },
  });
  await once(renice, 'exit').catch(() => {});
}

/** @returns false if the system does not allow it, or the thread has ended */
function setNiceness(thread: number, niceness: number): boolean {
  try {
    if (getPriority(thread) < niceness) setPriority(thread, niceness);
    return true;
  } catch {
    return false;
  }
}
