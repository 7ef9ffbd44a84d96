/** What the kernel says of processes, read from /proc. On systems without it everything is unknown: null or empty. */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  pid: number;
  /** One letter, as in ps: R, S, D, T (stopped), Z … */
  state: string;
  group: number;
  /** Clock ticks since boot: with the pid, names one process for ever. */
  startTime: number;
  rssBytes: number;
  /** Processor time of all its threads so far, in clock ticks. */
  cpuTicks: number;
}

/** One of a browser's own. */
export interface GroupProcess extends ProcessEntry {
  /** It runs pages, and not what all of them share. */
  renderer: boolean;
}

const PAGE_BYTES = 4_096;
/** How long a clock tick of /proc is, on every system that Chromium runs on. */
export const TICK_MS = 10;

/** @returns null when there is no such process (any more) */
export function readProcess(pid: number): ProcessEntry | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The second field is the program's name in brackets and may hold anything: count from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    pid,
    state: fields[0] ?? '?',
    group: Number(fields[2]),
    startTime: Number(fields[19]),
    rssBytes: Number(fields[21]) * PAGE_BYTES,
    cpuTicks: Number(fields[11]) + Number(fields[12]),
  };
}

export function processGroup(group: number): ProcessEntry[] {
  return readProcesses(allPids()).filter((entry) => entry.group === group);
}

const FORGET_OTHERS_MS = 5_000;

/** A process group that is looked at again and again, on a machine where most processes belong to others. */
export class GroupWatch {
  private others = new Set<number>();
  private renderers = new Set<number>();
  private forgottenAt = 0;

  constructor(private readonly group: number) {}

  /** @param now ms; those of others are not read again for some seconds, in which no number of theirs comes up for a process of the group */
  processes(now: number): GroupProcess[] {
    if (Math.abs(now - this.forgottenAt) >= FORGET_OTHERS_MS) {
      this.forgottenAt = now;
      this.others.clear();
      this.renderers.clear();
    }
    const entries = readProcesses(allPids().filter((pid) => !this.others.has(pid)));
    for (const { pid, group } of entries) if (group !== this.group) this.others.add(pid);
    return entries.filter(({ group }) => group === this.group).map((entry) => ({ ...entry, renderer: this.runsPages(entry.pid) }));
  }

  /** What has become a renderer stays one; others may be about to become one. */
  private runsPages(pid: number): boolean {
    if (!this.renderers.has(pid) && isRenderer(pid)) this.renderers.add(pid);
    return this.renderers.has(pid);
  }
}

/** Processes whose command line or environment names the text. */
export function processesNaming(text: string): ProcessEntry[] {
  const names = (pid: number) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`].some((file) => read(file)?.includes(text));
  return readProcesses(allPids().filter((pid) => pid !== process.pid && names(pid)));
}

export function isRenderer(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`)?.includes('--type=renderer') ?? false;
}

/** Whether every renderer of the group runs under a seccomp filter; null when there is none to look at. */
export function renderersConfined(group: number): boolean | null {
  const renderers = processGroup(group).filter(({ pid }) => isRenderer(pid));
  if (renderers.length === 0) return null;
  return renderers.every(({ pid }) => /^Seccomp:\s*2$/m.test(read(`/proc/${pid}/status`) ?? ''));
}

/**
 * SIGKILL to a child and the group that it leads, or is just about to lead: to itself first, so that it starts nothing more, and by its
 * handle, so that nobody is hit who has its number when it is gone.
 */
export function killGroup(leader: ChildProcess): void {
  leader.kill('SIGKILL');
  if (leader.pid !== undefined) killProcess(-leader.pid);
}

/** SIGKILL to a process, or to a group when negative; one that is gone already is as good. */
export function killProcess(target: number): void {
  try {
    process.kill(target, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Those that are there. */
function readProcesses(pids: readonly number[]): ProcessEntry[] {
  return pids.map(readProcess).filter((entry) => entry !== null);
}

function allPids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Processes come and go while they are looked at: unreadable is the same as gone. */
function read(file: string): string | null {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return null;
  }
}
