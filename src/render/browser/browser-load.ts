import type { Log } from '../../log.js';
import { Courtesy } from './courtesy.js';
import { type GroupProcess, GroupWatch, killProcess } from './process-table.js';
import { SharedLoad } from './shared-load.js';

/** Processor time from which on a page is heavy. An article takes a third of it, also when it is long. */
const HEAVY_MS = 1_500;
/** No page gets that far in less: a renderer seldom keeps more than two cores busy. */
const HEAVY_WITHIN_MS = 500;
const TICK_MS = 10;
/** Of a processor core. Two captures at a time, one after the other, take half of one. */
const STRAINED_SHARE = 0.6;
/** A page's renderer is gone by then, looks later: a page is closed within 2 s. */
const LOOKS_UNTIL_GONE = 5;

/** Told once for each capture, when it is known: whether its page took much of the processor. */
export type Verdict = (heavy: boolean) => void;

interface Weighing {
  since: number;
  verdict: Verdict;
  /** Its part of what the shared processes did while they were strained. */
  sharedMs: number;
}

/** A capture that is over, while renderers that were heavy are still there: if one of them goes now, it was this one's. */
interface Suspect {
  verdict: Verdict;
  renderers: readonly number[];
  looks: number;
}

export interface BrowserLoadOptions {
  /** Of the browser, which leads its group. */
  pid: number;
  /** Memory of one renderer after which it is ended. */
  pageMaxBytes: number;
  log: Log;
  now(): number;
}

/**
 * What the pages of one browser take of the machine. Renderers that go on and on yield, one that takes too much memory is ended, and of
 * each capture it is told whether it was heavy: by its own renderer, or by what it made the browser's shared processes do.
 */
export class BrowserLoad {
  private readonly group: GroupWatch;
  private readonly courtesy = new Courtesy();
  private readonly shared = new SharedLoad();
  private readonly weighings = new Map<object, Weighing>();
  private suspects: Suspect[] = [];
  private heavyNow = false;

  constructor(private readonly options: BrowserLoadOptions) {
    this.group = new GroupWatch(options.pid);
  }

  /** What all pages share was busy between the last two looks: one more page there would wait for the others. */
  get strained(): boolean {
    return this.weighings.size > 0 && this.shared.share > STRAINED_SHARE;
  }

  /** There was a heavy page at the last look. */
  get heavy(): boolean {
    return this.heavyNow;
  }

  /** All that the browser does comes after what others do, for ever: the system lets nobody take it back. */
  get yielding(): boolean {
    return this.courtesy.general;
  }

  /** From here on everything in this browser yields. Where nobody else wants the processor, it costs it nothing. */
  yieldToOthers(): void {
    this.courtesy.general = true;
    this.courtesy.look(this.group.processes(this.options.now()));
  }

  /** A capture begins. */
  begin(capture: object, verdict: Verdict): void {
    this.weighings.set(capture, { since: this.options.now(), verdict, sharedMs: 0 });
  }

  /** It ends; its page is about to be closed. @param lost it came to grief, and what it took cannot be told any more */
  end(capture: object, lost: boolean): void {
    const weighing = this.weighings.get(capture);
    this.weighings.delete(capture);
    if (weighing === undefined || lost || weighing.sharedMs >= HEAVY_MS) return;
    const { since, verdict } = weighing;
    const now = this.options.now();
    const renderers = now - since < HEAVY_WITHIN_MS ? [] : this.group.processes(now).filter(isHeavy);
    if (renderers.length === 0) verdict(false);
    else this.suspects.push({ verdict, renderers: renderers.map(({ pid }) => pid), looks: 0 });
  }

  /** To be called about twice a second. */
  look(): void {
    if (this.weighings.size > 0 || this.suspects.length > 0) this.weigh();
    else this.rest();
  }

  private rest(): void {
    this.heavyNow = false;
    this.shared.forget();
  }

  private weigh(): void {
    const now = this.options.now();
    const processes = this.group.processes(now);
    this.courtesy.look(processes);
    this.shared.look(processes, now);
    this.endBombs(processes);
    this.settle(processes);
    if (this.strained) this.charge();
    this.heavyNow = processes.some(isHeavy) || [...this.weighings.values()].some(({ sharedMs }) => sharedMs >= HEAVY_MS);
  }

  /** One page's memory bomb must not take the machine: its renderer dies, and its capture with it; the others stay. */
  private endBombs(processes: readonly GroupProcess[]): void {
    const { pid: browser, pageMaxBytes, log } = this.options;
    for (const { pid, rssBytes } of processes) {
      if (pid === browser || rssBytes <= pageMaxBytes) continue;
      log.warn({ pid, rssBytes }, 'a page took too much memory and was ended');
      killProcess(pid);
    }
  }

  private settle(processes: readonly GroupProcess[]): void {
    const alive = new Set(processes.filter(({ state }) => state !== 'Z').map(({ pid }) => pid));
    this.suspects = this.suspects.filter((suspect) => {
      suspect.looks += 1;
      const heavy = suspect.renderers.some((pid) => !alive.has(pid));
      const settled = heavy || suspect.looks >= LOOKS_UNTIL_GONE;
      if (settled) suspect.verdict(heavy);
      return !settled;
    });
  }

  private charge(): void {
    const part = this.shared.spentMs / this.weighings.size;
    for (const weighing of this.weighings.values()) {
      const before = weighing.sharedMs;
      weighing.sharedMs += part;
      if (before < HEAVY_MS && weighing.sharedMs >= HEAVY_MS) weighing.verdict(true);
    }
  }
}

function isHeavy({ renderer, cpuTicks }: GroupProcess): boolean {
  return renderer && cpuTicks * TICK_MS >= HEAVY_MS;
}
