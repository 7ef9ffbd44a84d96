import { totalmem } from 'node:os';
import type { Log } from '../../log.js';
import { type GroupProcess, type GroupWatch, killProcess, TICK_MS } from '../launch/process-table.js';
import type { Unprivileged } from '../launch/unprivileged.js';
import { Courtesy } from './courtesy.js';
import { SharedLoad } from './shared-load.js';

/** Processor time from which on a page is heavy. An article takes a third of it. */
const HEAVY_MS = 1_500;
/** What was that close at the last look may have got there since. */
const NEARLY_HEAVY_MS = 1_000;
/** What took longer may only have been kept from running: it is not called quick. */
const QUICK_WITHIN_MS = 3_000;
/** Processor time after which a renderer has more to do than to stand ready. */
const AWAKE_MS = 100;
/** What the shared processes do for an ordinary capture, generously: it is nobody else's. */
const ORDINARY_SHARED_MS = 300;
/** Of a processor core. Two captures at a time, one after the other, take half of one. */
const STRAINED_SHARE = 0.6;
/** A page's renderer is gone so many looks later: a page is closed within 5 s. */
const LOOKS_UNTIL_GONE = 12;

/** Told once for each capture, if it becomes known: whether its page took much of the processor. */
export type Verdict = (heavy: boolean) => void;

interface Weighing {
  since: number;
  verdict: Verdict;
  /** Its part of what the shared processes did while they were strained. */
  sharedMs: number;
}

/** A capture that is over, while renderers that were heavy are still there: one that goes now was its own. */
interface Suspect {
  capture: object;
  weighing: Weighing;
  endedAt: number;
  renderers: Set<number>;
  looks: number;
}

export interface BrowserLoadOptions {
  /** Of the browser, which leads its group. */
  pid: number;
  group: Pick<GroupWatch, 'processes'>;
  /** Whom its processes belong to; null: us. */
  user: Unprivileged | null;
  /** Memory of one renderer after which it is ended; by the machine's size when absent. */
  pageMaxBytes?: number | undefined;
  log: Log;
  now(): number;
}

/**
 * What the pages of one browser take of the machine. Renderers that go on and on yield, one that takes too much memory is ended, and of
 * each capture it is told whether it was heavy: by its own renderer, or by what it made the browser's shared processes do.
 */
export class BrowserLoad {
  private readonly courtesy: Courtesy;
  private readonly shared = new SharedLoad();
  private readonly weighings = new Map<object, Weighing>();
  private suspects: Suspect[] = [];
  /** When each renderer was first seen to do more than stand ready. */
  private awake = new Map<number, number>();
  private lookedAt: number | null = null;
  /** Captures that have begun or ended since the last look. */
  private comings = 0;
  private heavyNow = false;
  /** Renderers, at the last look. */
  private nearlyHeavy: number[] = [];
  private readonly pageMaxBytes: number;

  constructor(private readonly options: BrowserLoadOptions) {
    this.pageMaxBytes = options.pageMaxBytes ?? pageMaxBytes();
    this.courtesy = new Courtesy(options.user, () =>
      options.log.warn('process priorities cannot be lowered on this system: heavy pages slow down other captures'),
    );
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
    this.courtesy.look(this.options.group.processes(this.options.now()));
  }

  /** A capture begins. */
  begin(capture: object, verdict: Verdict): void {
    this.comings += 1;
    this.weighings.set(capture, { since: this.options.now(), verdict, sharedMs: 0 });
  }

  /** It ends, and its page is about to be closed. @param crashed its page is gone already */
  end(capture: object, crashed = false): void {
    const weighing = this.take(capture);
    if (weighing === null) return;
    const endedAt = this.options.now();
    const lasted = endedAt - weighing.since;
    const renderers = new Set(this.nearlyHeavy.filter((pid) => this.mayBeOf(pid, weighing)));
    if (renderers.size > 0) this.suspects.push({ capture, weighing, endedAt, renderers, looks: 0 });
    else if (lasted < QUICK_WITHIN_MS && !crashed) weighing.verdict(false);
  }

  /** It has ended, and its page cannot be closed: nobody will see its renderer go. */
  convict(capture: object): void {
    const suspect = this.suspects.find((one) => one.capture === capture);
    this.suspects = this.suspects.filter((one) => one !== suspect);
    suspect?.weighing.verdict(true);
  }

  /** It was lost with the whole browser: nothing is known of it. */
  acquit(capture: object): void {
    this.take(capture);
  }

  /** To be called about twice a second. */
  look(): void {
    if (this.weighings.size > 0 || this.suspects.length > 0) this.weigh();
    else this.rest();
  }

  /** @returns null when its verdict has been told already */
  private take(capture: object): Weighing | null {
    const weighing = this.weighings.get(capture);
    if (this.weighings.delete(capture)) this.comings += 1;
    return weighing === undefined || weighing.sharedMs >= HEAVY_MS ? null : weighing;
  }

  private rest(): void {
    this.heavyNow = false;
    this.lookedAt = null;
    this.comings = 0;
    this.nearlyHeavy = [];
    this.awake.clear();
    this.shared.forget();
  }

  private weigh(): void {
    const now = this.options.now();
    const processes = this.options.group.processes(now);
    this.courtesy.look(processes);
    this.shared.look(processes, now);
    this.settle(processes);
    this.noteAwake(processes, now);
    this.endBombs(processes);
    if (this.strained) this.charge();
    this.lookedAt = now;
    this.comings = 0;
    this.nearlyHeavy = processes.filter((one) => hasUsed(one, NEARLY_HEAVY_MS)).map(({ pid }) => pid);
    this.heavyNow =
      processes.some((one) => hasUsed(one, HEAVY_MS)) || [...this.weighings.values()].some(({ sharedMs }) => sharedMs >= HEAVY_MS);
  }

  private noteAwake(processes: readonly GroupProcess[], now: number): void {
    const before = this.awake;
    this.awake = new Map();
    for (const { pid, renderer, cpuTicks } of processes)
      if (renderer && cpuTicks * TICK_MS >= AWAKE_MS) this.awake.set(pid, before.get(pid) ?? now);
  }

  /** A renderer that was awake before a capture began is another's: a page has it to itself from its opening to its end. */
  private mayBeOf(renderer: number, { since }: Weighing): boolean {
    const awakeAt = this.awake.get(renderer);
    return awakeAt === undefined || awakeAt >= since;
  }

  /** One page's memory bomb must not take the machine: its renderer dies, and its capture with it; the others stay. */
  private endBombs(processes: readonly GroupProcess[]): void {
    const { pid: browser, log } = this.options;
    for (const { pid, rssBytes } of processes) {
      if (pid === browser || rssBytes <= this.pageMaxBytes) continue;
      log.warn({ pid, rssBytes }, 'a page used too much memory and was closed');
      killProcess(pid);
      for (const suspect of this.suspects) suspect.renderers.delete(pid);
    }
  }

  /** A renderer that has gone was that of the capture that ended last. */
  private settle(processes: readonly GroupProcess[]): void {
    const alive = new Set(processes.filter(({ state }) => state !== 'Z').map(({ pid }) => pid));
    const guilty = new Set<Suspect>();
    const latestFirst = [...this.suspects].sort((a, b) => b.endedAt - a.endedAt);
    for (const pid of new Set(latestFirst.flatMap(({ renderers }) => [...renderers].filter((one) => !alive.has(one))))) {
      const owner = latestFirst.find(({ renderers }) => renderers.has(pid));
      if (owner !== undefined) guilty.add(owner);
      for (const { renderers } of this.suspects) renderers.delete(pid);
    }
    for (const { weighing } of guilty) weighing.verdict(true);
    this.suspects = this.suspects.filter((suspect) => {
      suspect.looks += 1;
      return !guilty.has(suspect) && suspect.renderers.size > 0 && suspect.looks < LOOKS_UNTIL_GONE;
    });
  }

  /** To those that were there all the time, and not for what others' comings and goings took. */
  private charge(): void {
    const { lookedAt } = this;
    const there = [...this.weighings.values()].filter(({ since }) => lookedAt !== null && since <= lookedAt);
    const part = Math.max(0, this.shared.spentMs - ORDINARY_SHARED_MS * this.comings) / Math.max(1, there.length);
    for (const weighing of there) {
      const before = weighing.sharedMs;
      weighing.sharedMs += part;
      if (before < HEAVY_MS && weighing.sharedMs >= HEAVY_MS) weighing.verdict(true);
    }
  }
}

function hasUsed({ renderer, cpuTicks }: GroupProcess, ms: number): boolean {
  return renderer && cpuTicks * TICK_MS >= ms;
}

/** A quarter of the machine, but no less than a big honest page needs and no more than any does. */
function pageMaxBytes(): number {
  const GiB = 1024 ** 3;
  return Math.min(3 * GiB, Math.max(1.5 * GiB, totalmem() / 4));
}
