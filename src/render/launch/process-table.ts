/** Processes as listed in /proc. On systems without it, all results are null or empty. */
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessEntry {
  pid: number;
  /** The state letter, as in ps: R, S, D, T (stopped), Z … */
  state: string;
  parent: number;
  group: number;
  /** Clock ticks since boot. Together with the pid, it identifies a process. */
  startTime: number;
  rssBytes: number;
  /** CPU time of all its threads so far, in clock ticks. */
  cpuTicks: number;
}

const PAGE_BYTES = 4_096;
/** @returns null if the process does not exist */
export function readProcess(pid: number): ProcessEntry | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The second field, the program's name in brackets, may contain any character, so parsing starts after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    pid,
    state: fields[0] ?? '?',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    startTime: Number(fields[19]),
    rssBytes: Number(fields[21]) * PAGE_BYTES,
    cpuTicks: Number(fields[11]) + Number(fields[12]),
  };
}

/** A process's memory without its mapped files, such as its program; 0 if it has exited. */
export function memoryOf(pid: number): { ownBytes: number; sharedBytes: number } {
  const status = read(`/proc/${pid}/status`) ?? '';
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { ownBytes: bytes('RssAnon'), sharedBytes: bytes('RssShmem') };
}

/** The threads of a process; none if it has exited. */
export function threadsOf(pid: number): number[] {
  return listNumbers(`/proc/${pid}/task`);
}

/** The time, in ms, that the process's threads have run or waited for a processor; null if unknown. */
export function busyMs(pid: number): number | null {
  const times = threadsOf(pid).flatMap((tid) => read(`/proc/${pid}/task/${tid}/schedstat`)?.split(' ', 2) ?? []);
  return times.length === 0 ? null : times.reduce((sum, ns) => sum + Number(ns), 0) / 1e6;
}

/** Whether the process draws the browser's own windows instead of a page. */
export function drawsWindows(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`)?.includes('--top-chrome-webui') === true;
}

export function processGroup(group: number): ProcessEntry[] {
  return readProcesses(allPids()).filter((entry) => entry.group === group);
}

/** Processes whose command line or environment contains the text. */
export function processesNaming(text: string): ProcessEntry[] {
  const names = (pid: number) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`].some((file) => read(file)?.includes(text));
  return readProcesses(allPids().filter((pid) => pid !== process.pid && names(pid)));
}

/** The role of a Chromium process, such as `renderer` or `network.mojom.NetworkService`; `browser` for the main process. */
export function roleOf(pid: number): string {
  const command = read(`/proc/${pid}/cmdline`) ?? '';
  return (/--utility-sub-type=([\w.]+)/.exec(command) ?? /--type=([\w-]+)/.exec(command))?.[1] ?? 'browser';
}

/** Whether every renderer of the group has a seccomp filter; null if there are no renderers. */
export function renderersSandboxed(group: number): boolean | null {
  const renderers = processGroup(group).filter(({ pid }) => roleOf(pid) === 'renderer');
  if (renderers.length === 0) return null;
  return renderers.every(({ pid }) => /^Seccomp:\s*2$/m.test(read(`/proc/${pid}/status`) ?? ''));
}

/**
 * Kills a child and the group that it leads or is about to lead. The child comes first, so that it starts no further
 * processes, and by its handle, so that a process that reuses its pid is spared.
 */
export function killGroup(leader: ChildProcess): void {
  leader.kill('SIGKILL');
  if (leader.pid !== undefined) killProcess(-leader.pid);
}

/** Kills a process, or a group if negative. A target that has exited is ignored. */
export function killProcess(target: number): void {
  try {
    process.kill(target, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The existing processes. */
function readProcesses(pids: readonly number[]): ProcessEntry[] {
  return pids.map(readProcess).filter((entry) => entry !== null);
}

export function allPids(): number[] {
  return listNumbers('/proc');
}

/** The entries of a directory that are numbers; none if it cannot be read. */
function listNumbers(dir: string): number[] {
  try {
    return readdirSync(dir)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** A process may exit while it is read, so an unreadable one counts as exited. */
function read(file: string): string | null {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return null;
  }
}
