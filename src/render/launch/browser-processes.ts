import { existsSync } from 'node:fs';
import { type GroupProcess, type GroupWatch, readProcess, roleOf } from './process-table.js';

interface SharedProcess extends Pick<GroupProcess, 'pid' | 'startTime'> {
  role: string;
  /** Whether no page works without it. Chromium restarts some of the other processes. */
  vital: boolean;
}

const NETWORK_SERVICE = 'network.mojom.NetworkService';

/** The processes of one browser. A fault of a process that all pages share is not the fault of one page. */
export class BrowserProcesses {
  private shared: SharedProcess[] = [];
  private stoppedRenderers = new Set<number>();

  constructor(
    private readonly browserPid: number,
    private readonly group: Pick<GroupWatch, 'processes'>,
  ) {}

  /**
   * Records the shared processes that run now.
   * @returns the renderers that were stopped both now and at the last call
   */
  update(now: number): number[] {
    const processes = this.group.processes(now);
    const lost = this.shared.filter(({ pid, vital }) => vital && !processes.some((one) => one.pid === pid));
    this.shared = [...lost, ...processes.filter(({ renderer }) => !renderer).map((one) => this.known(one) ?? this.describe(one))];
    const stopped = processes.filter(({ renderer, state }) => renderer && state === STOPPED).map(({ pid }) => pid);
    const still = stopped.filter((pid) => this.stoppedRenderers.has(pid));
    this.stoppedRenderers = new Set(stopped);
    return still;
  }

  /** Describes a shared process that has ended or is stopped, so that any page may fail; null if all run or nothing is known. */
  fault(): string | null {
    for (const { pid, startTime, role, vital } of this.shared) {
      const found = readProcess(pid);
      // A process that exists but cannot be read, for lack of file descriptors, has not ended.
      const runs = found === null ? existsSync(`/proc/${pid}`) : found.startTime === startTime && !ENDED.includes(found.state);
      if (!runs && vital) return `its process ${role} has ended`;
      if (found?.state === STOPPED && runs) return `its process ${role} is stopped`;
    }
    return null;
  }

  /** A zombie process is still listed, but without its command line. */
  private known({ pid, startTime }: GroupProcess): SharedProcess | undefined {
    return this.shared.find((one) => one.vital && one.pid === pid && one.startTime === startTime);
  }

  private describe({ pid, startTime, parent }: GroupProcess): SharedProcess {
    const role = roleOf(pid);
    // A process that a zygote has just forked is called zygote as well.
    const isZygote = role === 'zygote' && parent === this.browserPid;
    return { pid, startTime, role, vital: pid === this.browserPid || isZygote || role === NETWORK_SERVICE };
  }
}

/** The state letter, as in ps, of a process stopped by a signal. */
const STOPPED = 'T';
const ENDED = ['Z', 'X'];
