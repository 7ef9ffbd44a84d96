import type { Log } from '../../log.js';
import { type GroupProcess, type GroupWatch, TICK_MS } from '../launch/process-table.js';
import type { Unprivileged } from '../launch/unprivileged.js';
import { RendererPriority } from './renderer-priority.js';
import { SharedLoad } from './shared-load.js';

/** CPU time from which a page counts as heavy. An article takes a third of it. */
const HEAVY_MS = 1_500;
/** A page this close to the limit at the last sample may have reached it since. */
const NEARLY_HEAVY_MS = 1_000;
/** A page that took longer does not count as quick, since it may have been waiting for CPU time. */
const QUICK_WITHIN_MS = 3_000;
/** CPU time after which a renderer is no longer idle in reserve. */
const AWAKE_MS = 100;
/** A generous estimate of the shared processes' CPU time for an ordinary capture. */
const ORDINARY_SHARED_MS = 300;
/** Share of a CPU core. Two captures at a time take half of one. */
const STRAINED_SHARE = 0.6;
/** Number of samples after which a page's renderer has exited: a page is closed within 5 s. */
const SAMPLES_UNTIL_GONE = 12;

/** Called at most once per capture, if it becomes known whether its page was heavy. */
export type HeavyReport = (heavy: boolean) => void;

interface Usage {
  since: number;
  report: HeavyReport;
  /** Its share of the shared processes' CPU time while they were busy. */
  sharedMs: number;
}

/** A finished capture, while heavy renderers still run: the next one that exits was its own. */
interface EndedCapture {
  capture: object;
  usage: Usage;
  endedAt: number;
  renderers: Set<number>;
  samples: number;
}

export interface BrowserLoadOptions {
  /** The browser's pid, which is also that of its process group. */
  pid: number;
  group: Pick<GroupWatch, 'processes'>;
  /** The user of its processes; null: the server's own. */
  user: Unprivileged | null;
  log: Log;
  now(): number;
}

/**
 * Monitors the resources that the pages of one browser use. Lowers the priority of long-running renderers, and reports for each
 * capture whether it was heavy, by its own renderer or by the load that it put on shared processes.
 */
export class BrowserLoad {
  private readonly priority: RendererPriority;
  private readonly shared = new SharedLoad();
  private readonly usages = new Map<object, Usage>();
  private endedCaptures: EndedCapture[] = [];
  /** When each renderer was first seen working. */
  private awake = new Map<number, number>();
  private sampledAt: number | null = null;
  /** Captures that have begun or ended since the last sample. */
  private changes = 0;
  private heavyNow = false;
  /** Renderers at the last sample. */
  private nearlyHeavy: number[] = [];

  constructor(private readonly options: BrowserLoadOptions) {
    this.priority = new RendererPriority(options.user, () =>
      options.log.warn('process priorities cannot be lowered on this system: heavy pages slow down other captures'),
    );
  }

  /** Whether the shared processes were busy between the last two samples: another page would wait for the others. */
  get strained(): boolean {
    return this.usages.size > 0 && this.shared.share > STRAINED_SHARE;
  }

  /** Whether there was a heavy page at the last sample. */
  get heavy(): boolean {
    return this.heavyNow;
  }

  /** Whether the whole browser has a lower priority, which cannot be undone. */
  get yielding(): boolean {
    return this.priority.wholeBrowser;
  }

  /** Lowers the priority of the whole browser from now on, which costs nothing while the CPU is idle. */
  yieldToOthers(): void {
    this.priority.wholeBrowser = true;
    this.priority.update(this.options.group.processes(this.options.now()));
  }

  /** To be called when a capture begins. */
  begin(capture: object, report: HeavyReport): void {
    this.changes += 1;
    this.usages.set(capture, { since: this.options.now(), report, sharedMs: 0 });
  }

  /** To be called when a capture has ended, before its page is closed. @param crashed whether its page has crashed */
  end(capture: object, crashed = false): void {
    const usage = this.take(capture);
    if (usage === null) return;
    const endedAt = this.options.now();
    const lasted = endedAt - usage.since;
    const renderers = new Set(this.nearlyHeavy.filter((pid) => this.mayBeOf(pid, usage)));
    if (renderers.size > 0) this.endedCaptures.push({ capture, usage, endedAt, renderers, samples: 0 });
    else if (lasted < QUICK_WITHIN_MS && !crashed) usage.report(false);
  }

  /** To be called when a capture has ended and its page cannot be closed, so that its renderer does not exit. */
  reportHeavy(capture: object): void {
    const ended = this.endedCaptures.find((one) => one.capture === capture);
    this.endedCaptures = this.endedCaptures.filter((one) => one !== ended);
    ended?.usage.report(true);
  }

  /** To be called when a capture was lost with its browser, so that nothing is known of it. */
  forget(capture: object): void {
    this.take(capture);
  }

  /** Takes a sample. To be called about twice a second. */
  look(): void {
    if (this.usages.size > 0 || this.endedCaptures.length > 0) this.sample();
    else this.rest();
  }

  /** @returns null if it has been reported as heavy already */
  private take(capture: object): Usage | null {
    const usage = this.usages.get(capture);
    if (this.usages.delete(capture)) this.changes += 1;
    return usage === undefined || usage.sharedMs >= HEAVY_MS ? null : usage;
  }

  private rest(): void {
    this.heavyNow = false;
    this.sampledAt = null;
    this.changes = 0;
    this.nearlyHeavy = [];
    this.awake.clear();
    this.shared.forget();
  }

  private sample(): void {
    const now = this.options.now();
    const processes = this.options.group.processes(now);
    this.priority.update(processes);
    this.shared.look(processes, now);
    this.assignExited(processes);
    this.noteAwake(processes, now);
    if (this.strained) this.charge();
    this.sampledAt = now;
    this.changes = 0;
    this.nearlyHeavy = processes.filter((one) => hasUsed(one, NEARLY_HEAVY_MS)).map(({ pid }) => pid);
    this.heavyNow =
      processes.some((one) => hasUsed(one, HEAVY_MS)) || [...this.usages.values()].some(({ sharedMs }) => sharedMs >= HEAVY_MS);
  }

  private noteAwake(processes: readonly GroupProcess[], now: number): void {
    const before = this.awake;
    this.awake = new Map();
    for (const { pid, renderer, cpuTicks } of processes)
      if (renderer && cpuTicks * TICK_MS >= AWAKE_MS) this.awake.set(pid, before.get(pid) ?? now);
  }

  /** A renderer that was working before a capture began belongs to another one: pages do not share renderers. */
  private mayBeOf(renderer: number, { since }: Usage): boolean {
    const awakeAt = this.awake.get(renderer);
    return awakeAt === undefined || awakeAt >= since;
  }

  /** Assigns a renderer that has exited to the capture that ended last. */
  private assignExited(processes: readonly GroupProcess[]): void {
    const alive = new Set(processes.filter(({ state }) => state !== 'Z').map(({ pid }) => pid));
    const heavy = new Set<EndedCapture>();
    const latestFirst = [...this.endedCaptures].sort((a, b) => b.endedAt - a.endedAt);
    for (const pid of new Set(latestFirst.flatMap(({ renderers }) => [...renderers].filter((one) => !alive.has(one))))) {
      const owner = latestFirst.find(({ renderers }) => renderers.has(pid));
      if (owner !== undefined) heavy.add(owner);
      for (const { renderers } of this.endedCaptures) renderers.delete(pid);
    }
    for (const { usage } of heavy) usage.report(true);
    this.endedCaptures = this.endedCaptures.filter((ended) => {
      ended.samples += 1;
      return !heavy.has(ended) && ended.renderers.size > 0 && ended.samples < SAMPLES_UNTIL_GONE;
    });
  }

  /** Charges only captures that ran all the time, and not for opening and closing others. */
  private charge(): void {
    const { sampledAt } = this;
    const there = [...this.usages.values()].filter(({ since }) => sampledAt !== null && since <= sampledAt);
    const part = Math.max(0, this.shared.spentMs - ORDINARY_SHARED_MS * this.changes) / Math.max(1, there.length);
    for (const usage of there) {
      const before = usage.sharedMs;
      usage.sharedMs += part;
      if (before < HEAVY_MS && usage.sharedMs >= HEAVY_MS) usage.report(true);
    }
  }
}

function hasUsed({ renderer, cpuTicks }: GroupProcess, ms: number): boolean {
  return renderer && cpuTicks * TICK_MS >= ms;
}
