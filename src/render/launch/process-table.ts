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

export interface ThreadEntry {
  tid: number;
  /** The name set by the program, at most 15 characters. */
  name: string;
  /** CPU time so far, in clock ticks. */
  cpuTicks: number;
}

/** A process of a browser. */
export interface GroupProcess extends ProcessEntry {
  /** Whether it is a renderer instead of a shared process. */
  renderer: boolean;
}

const PAGE_BYTES = 4_096;
/** @returns null if the process does not exist */
export function readProcess(pid: number): ProcessEntry | null {
  const stat = readStat(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const { fields, cpuTicks } = stat;
  return {
    pid,
    state: fields[0] ?? '?',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    startTime: Number(fields[19]),
    rssBytes: Number(fields[21]) * PAGE_BYTES,
    cpuTicks,
  };
}

/** A process's memory without its mapped files, such as its program; 0 if it has exited. */
export function memoryOf(pid: number): { ownBytes: number; sharedBytes: number } {
  const status = read(`/proc/${pid}/status`) ?? '';
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { ownBytes: bytes('RssAnon'), sharedBytes: bytes('RssShmem') };
}

/** The threads of a process; none if it has exited. */
export function threadsOf(pid: number): ThreadEntry[] {
  return listNumbers(`/proc/${pid}/task`).flatMap((tid) => {
    const stat = readStat(`/proc/${pid}/task/${tid}/stat`);
    return stat === null ? [] : [{ tid, name: stat.name, cpuTicks: stat.cpuTicks }];
  });
}

/** The time, in ms, that the process's threads have run or waited for a processor; null if unknown. */
export function busyMs(pid: number): number | null {
  const times = listNumbers(`/proc/${pid}/task`).flatMap((tid) => read(`/proc/${pid}/task/${tid}/schedstat`)?.split(' ', 2) ?? []);
  return times.length === 0 ? null : times.reduce((sum, ns) => sum + Number(ns), 0) / 1e6;
}

/** Whether the process draws the browser's own windows instead of a page. */
export function drawsWindows(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`)?.includes('--top-chrome-webui') === true;
}

export function processGroup(group: number): ProcessEntry[] {
  return readProcesses(allPids()).filter((entry) => entry.group === group);
}

const FORGET_OTHERS_MS = 5_000;

/** A process group that is read repeatedly, on a machine where most processes belong to other groups. */
export class GroupWatch {
  private others = new Set<number>();
  private renderers = new Set<number>();
  private forgottenAt = 0;

  constructor(private readonly group: number) {}

  /** @param now ms; processes of other groups are skipped for some seconds, within which their pids are not reused for this group */
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

  /** A renderer remains one; other processes may become one. */
  private runsPages(pid: number): boolean {
    if (!this.renderers.has(pid) && isRenderer(pid)) this.renderers.add(pid);
    return this.renderers.has(pid);
  }
}

/** Processes whose command line or environment contains the text. */
export function processesNaming(text: string): ProcessEntry[] {
  const names = (pid: number) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`].some((file) => read(file)?.includes(text));
  return readProcesses(allPids().filter((pid) => pid !== process.pid && names(pid)));
}

export function isRenderer(pid: number): boolean {
  return roleOf(pid) === 'renderer';
}

/** The role of a Chromium process, such as `renderer` or `network.mojom.NetworkService`; `browser` for the main process. */
export function roleOf(pid: number): string {
  const command = read(`/proc/${pid}/cmdline`) ?? '';
  return (/--utility-sub-type=([\w.]+)/.exec(command) ?? /--type=([\w-]+)/.exec(command))?.[1] ?? 'browser';
}

/** Whether every renderer of the group has a seccomp filter; null if there are no renderers. */
export function renderersSandboxed(group: number): boolean | null {
  const renderers = processGroup(group).filter(({ pid }) => isRenderer(pid));
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

/** @returns null if the process or thread does not exist; `fields` are those after the name */
function readStat(file: string): { name: string; fields: string[]; cpuTicks: number } | null {
  const stat = read(file);
  if (stat === null) return null;
  // The second field, the program's name in brackets, may contain any character, so parsing starts after it.
  const nameEnd = stat.lastIndexOf(')');
  const fields = stat.slice(nameEnd + 2).split(' ');
  return { name: stat.slice(stat.indexOf('(') + 1, nameEnd), fields, cpuTicks: Number(fields[11]) + Number(fields[12]) };
}

/** The existing processes. */
function readProcesses(pids: readonly number[]): ProcessEntry[] {
  return pids.map(readProcess).filter((entry) => entry !== null);
}

function allPids(): number[] {
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
