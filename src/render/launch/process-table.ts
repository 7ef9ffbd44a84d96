/** Processes as listed in /proc. On systems without it, all results are null or empty. */
import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

interface ProcessEntry {
  pid: number;
  /** The state letter, as in ps: R, S, D, T (stopped), Z … */
  state: string;
  parent: number;
  group: number;
  /** Clock ticks since boot. Together with the pid, it identifies a process. */
  startTime: number;
  /** CPU time of all its threads so far, in clock ticks. */
  cpuTicks: number;
}

const FORGET_OTHERS_MS = 5_000;
const NETWORK_SERVICE = 'network.mojom.NetworkService';
/** The state letter, as in ps, of a process stopped by a signal. */
const STOPPED = 'T';
const ENDED = ['Z', 'X'];
/** A flag in include/linux/sched.h. */
const PF_EXITING = 0x4;

/** @returns null if the process does not exist */
export function readProcess(pid: number): ProcessEntry | null {
  const stat = readProcFile(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The second field, the program's name in brackets, may contain any character, so parsing starts after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A process that is exiting closes its connections before it becomes a zombie.
  const isExiting = (Number(fields[6]) & PF_EXITING) !== 0;
  return {
    pid,
    state: isExiting && fields[0] !== 'Z' ? 'X' : (fields[0] ?? '?'),
    parent: Number(fields[1]),
    group: Number(fields[2]),
    startTime: Number(fields[19]),
    cpuTicks: Number(fields[11]) + Number(fields[12]),
  };
}

/** A process's memory without its mapped files, such as its program; 0 if it has exited. */
export function memoryOf(pid: number) {
  const status = readProcFile(`/proc/${pid}/status`) ?? '';
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { ownBytes: bytes('RssAnon'), sharedBytes: bytes('RssShmem') };
}

/** The threads of a process; none if it has exited. */
export function threadsOf(pid: number): number[] {
  return listNumbers(`/proc/${pid}/task`);
}

/** The time, in ms, that the process's threads have run or waited for a processor; null if unknown. */
export function busyMs(pid: number): number | null {
  const times = threadsOf(pid).flatMap(
    (tid) => readProcFile(`/proc/${pid}/task/${tid}/schedstat`)?.split(' ', 2) ?? [],
  );
  return times.length === 0 ? null : times.reduce((sum, ns) => sum + Number(ns), 0) / 1e6;
}

/** Whether the process draws the browser's own windows instead of a page. */
export function drawsWindows(pid: number): boolean {
  return readProcFile(`/proc/${pid}/cmdline`)?.includes('--top-chrome-webui') === true;
}

export function processGroup(group: number): ProcessEntry[] {
  return readProcesses(allPids()).filter((entry) => entry.group === group);
}

/** A process of a browser. */
export interface BrowserProcess extends ProcessEntry {
  /** See roleOf. */
  role: string;
}

/** The processes of one browser, read repeatedly on a machine where most processes belong to others. */
export class BrowserProcesses {
  #others = new Set<number>();
  #forgottenAt = 0;
  /** The processes of the last list by pid. */
  #known = new Map<number, BrowserProcess>();
  /** The processes at the last update that several pages use, and all those that no page works without. */
  #shared: BrowserProcess[] = [];

  /** @param browserPid the process that leads the browser's process group */
  constructor(private readonly browserPid: number) {}

  /** @param now ms; processes of other groups are skipped for some seconds, within which their pids are not reused for this group */
  list(now: number): BrowserProcess[] {
    if (Math.abs(now - this.#forgottenAt) >= FORGET_OTHERS_MS) {
      this.#forgottenAt = now;
      this.#others.clear();
    }
    const entries = allPids().flatMap((pid) => (this.#others.has(pid) ? [] : (readProcess(pid) ?? [])));
    for (const { pid, group } of entries) if (group !== this.browserPid) this.#others.add(pid);
    const processes = entries
      .filter(({ group }) => group === this.browserPid)
      .map((entry) => ({ ...entry, role: this.#roleOf(entry) }));
    this.#known = new Map(processes.map((entry) => [entry.pid, entry]));
    return processes;
  }

  /** A process keeps its role, but a new one has at first that of the process which it comes from: the browser or a zygote. */
  #roleOf({ pid, startTime, state }: ProcessEntry): string {
    const known = this.#known.get(pid);
    const isNew = known?.startTime !== startTime || (pid !== this.browserPid && /^(browser|zygote)$/.test(known.role));
    return isNew || ENDED.includes(state) ? roleOf(pid) : known.role;
  }

  /**
   * Records the shared processes that run now, so that their end is noticed.
   * @returns all processes
   */
  update(now: number): BrowserProcess[] {
    const processes = this.list(now);
    const vital = this.#shared.filter((one) => this.#isVital(one));
    // A zombie process is still listed, but without its role.
    const others = processes.filter(({ pid, role }) => role !== 'renderer' && !vital.some((one) => one.pid === pid));
    this.#shared = [...vital, ...others];
    return processes;
  }

  /** Describes a shared process that has ended or is stopped, so that any page may fail; null if all run or nothing is known. */
  fault(): string | null {
    for (const known of this.#shared) {
      const { pid, startTime, role } = known;
      const found = readProcess(pid);
      // A process that exists but cannot be read, for lack of file descriptors, has not ended.
      const runs =
        found === null ? existsSync(`/proc/${pid}`) : found.startTime === startTime && !ENDED.includes(found.state);
      if (!runs && this.#isVital(known)) return `its process ${role} has ended`;
      if (runs && found?.state === STOPPED) return `its process ${role} is stopped`;
    }
    return null;
  }

  /** Whether no page works without it. Chromium restarts some other processes, and a zygote's new process is named zygote too. */
  #isVital({ pid, parent, role }: BrowserProcess): boolean {
    return pid === this.browserPid || role === NETWORK_SERVICE || (role === 'zygote' && parent === this.browserPid);
  }
}

/** Whether a renderer is stopped by a signal. */
export function isStoppedRenderer({ role, state }: BrowserProcess): boolean {
  return role === 'renderer' && state === STOPPED;
}

/** Processes whose command line or environment contains the text. */
export function processesNaming(text: string): ProcessEntry[] {
  const names = (pid: number) =>
    [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`].some((file) => readProcFile(file)?.includes(text));
  return readProcesses(allPids().filter((pid) => pid !== process.pid && names(pid)));
}

/** The role of a Chromium process, such as `renderer` or `network.mojom.NetworkService`; `browser` for the main process. */
export function roleOf(pid: number): string {
  const command = readProcFile(`/proc/${pid}/cmdline`) ?? '';
  return (/--utility-sub-type=([\w.]+)/.exec(command) ?? /--type=([\w-]+)/.exec(command))?.[1] ?? 'browser';
}

/** Whether every renderer of the group has a seccomp filter; null if there are no renderers. */
export function renderersSandboxed(group: number): boolean | null {
  const renderers = processGroup(group).filter(({ pid }) => roleOf(pid) === 'renderer');
  if (renderers.length === 0) return null;
  return renderers.every(({ pid }) => /^Seccomp:\s*2$/m.test(readProcFile(`/proc/${pid}/status`) ?? ''));
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
export function readProcFile(file: string): string | null {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return null;
  }
}
