import { existsSync } from 'node:fs';
import { allPids, type ProcessEntry, readProcess, roleOf } from './process-table.js';

/** A process of a browser. */
export interface BrowserProcess extends ProcessEntry {
  /** See roleOf. */
  role: string;
}

const FORGET_OTHERS_MS = 5_000;
const NETWORK_SERVICE = 'network.mojom.NetworkService';
/** The state letter, as in ps, of a process stopped by a signal. */
const STOPPED = 'T';
const ENDED = ['Z', 'X'];

/** The processes of one browser, read repeatedly on a machine where most processes belong to others. */
export class BrowserProcesses {
  private others = new Set<number>();
  private forgottenAt = 0;
  /** The processes at the last update that several pages use, and all those that no page works without. */
  private shared: BrowserProcess[] = [];

  /** @param browserPid the process that leads the browser's process group */
  constructor(private readonly browserPid: number) {}

  /** @param now ms; processes of other groups are skipped for some seconds, within which their pids are not reused for this group */
  list(now: number): BrowserProcess[] {
    if (Math.abs(now - this.forgottenAt) >= FORGET_OTHERS_MS) {
      this.forgottenAt = now;
      this.others.clear();
    }
    const entries = allPids().flatMap((pid) => (this.others.has(pid) ? [] : (readProcess(pid) ?? [])));
    for (const { pid, group } of entries) if (group !== this.browserPid) this.others.add(pid);
    return entries.filter(({ group }) => group === this.browserPid).map((entry) => ({ ...entry, role: roleOf(entry.pid) }));
  }

  /**
   * Records the shared processes that run now, so that their end is noticed.
   * @returns all processes
   */
  update(now: number): BrowserProcess[] {
    const processes = this.list(now);
    const vital = this.shared.filter((one) => this.isVital(one));
    // A zombie process is still listed, but without its role.
    const others = processes.filter(({ pid, role }) => role !== 'renderer' && !vital.some((one) => one.pid === pid));
    this.shared = [...vital, ...others];
    return processes;
  }

  /** Describes a shared process that has ended or is stopped, so that any page may fail; null if all run or nothing is known. */
  fault(): string | null {
    for (const known of this.shared) {
      const { pid, startTime, role } = known;
      const found = readProcess(pid);
      // A process that exists but cannot be read, for lack of file descriptors, has not ended.
      const runs = found === null ? existsSync(`/proc/${pid}`) : found.startTime === startTime && !ENDED.includes(found.state);
      if (!runs && this.isVital(known)) return `its process ${role} has ended`;
      if (runs && found?.state === STOPPED) return `its process ${role} is stopped`;
    }
    return null;
  }

  /** Whether no page works without it. Chromium restarts some other processes, and a zygote's new process is named zygote too. */
  private isVital({ pid, parent, role }: BrowserProcess): boolean {
    return pid === this.browserPid || role === NETWORK_SERVICE || (role === 'zygote' && parent === this.browserPid);
  }
}

/** Whether a renderer is stopped by a signal. */
export function isStoppedRenderer({ role, state }: BrowserProcess): boolean {
  return role === 'renderer' && state === STOPPED;
}
