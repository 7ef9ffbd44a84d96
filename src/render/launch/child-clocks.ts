import { succeedsWithin, TIMED_OUT, within } from '../deadlines.js';
import { runInFrame } from './frame-scripts.js';
import type { CdpSession } from './pipe-session.js';

/** Scripts that replace the clocks of targets below a page that have sessions of their own. */
export interface ClockScripts {
  /** The script for each document of a frame. */
  frame: string;
  /** The script for a worker. Its value is the function that runs the clock. */
  worker: string;
}

/** The time by which to run the clocks. */
export interface ChildRun {
  run: { ms: number; realMs: number };
  /** The expression that runs a frame's clock, in our isolated world. */
  frameExpression: string;
}

/** A worker that has computed for longer than this no longer delays its page's clock. */
const LATE_MAX_MS = 2_000;
const PAUSES_WITHIN_MS = 5_000;

/** The clock of a worker, or of a frame in another process, which runs with its page's clock. */
export class ChildClock {
  /** @returns the clock's own report of its state */
  readonly #start: StartClock;
  /** The run in progress, if any. */
  #running: Promise<number> | null = null;
  /** The real time, in ms, that the page has waited for it. */
  #lateMs = 0;

  /** Installs the clock in a target that has been attached but is not running yet. */
  constructor(cdp: CdpSession, { type, targetId }: { type: string; targetId: string }, scripts: ClockScripts) {
    this.#start = type === 'iframe' ? clockOfFrame(cdp, scripts, targetId) : clockOfWorker(cdp, scripts);
  }

  /** @returns ms of the page's time until something is due; infinite for never */
  async run(run: ChildRun): Promise<number> {
    if (this.#lateMs >= LATE_MAX_MS) return Number.POSITIVE_INFINITY;
    const began = performance.now();
    this.#running ??= this.#start(run)
      .then(dueMs, () => Number.POSITIVE_INFINITY)
      .finally(() => {
        this.#running = null;
      });
    // In one wait, since each further run takes the page's clock ahead of the worker.
    const due = await within(this.#running, { ms: LATE_MAX_MS - this.#lateMs });
    if (due !== TIMED_OUT) return due;
    this.#lateMs += performance.now() - began;
    return 0;
  }
}

type StartClock = (run: ChildRun) => Promise<unknown>;

/**
 * @param state the page's own report of its clock, which it can forge
 * @returns ms of the page's time until something is due; infinite for never
 */
export function dueMs(state: unknown): number {
  const { nextMs } = (state ?? {}) as { nextMs?: unknown };
  return typeof nextMs === 'number' && nextMs >= 0 ? nextMs : Number.POSITIVE_INFINITY;
}

function clockOfFrame(cdp: CdpSession, { frame }: ClockScripts, frameId: string): StartClock {
  cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: frame }).catch(() => {});
  return ({ frameExpression }: ChildRun) => runInFrame(cdp, frameId, frameExpression);
}

/** A worker has no isolated world, so its report is untrusted. At worst, its own clock runs too little or too far. */
function clockOfWorker(cdp: CdpSession, { worker }: ClockScripts): StartClock {
  const installing = installInWorker(cdp, worker).catch(() => null);
  return async ({ run }: ChildRun) => {
    const objectId = await installing;
    if (objectId === null) return null;
    const functionDeclaration = 'function (run) { return this(run); }';
    const call = {
      objectId,
      functionDeclaration,
      arguments: [{ value: run }],
      awaitPromise: true,
      returnByValue: true,
    };
    // biome-ignore lint/plugin: what it states is checked
    return (await cdp.send('Runtime.callFunctionOn', call)).result.value;
  };
}

/**
 * Pauses a worker before its first script, since most of its global object is created only when it resumes.
 * @returns the object id of the function that runs the clock
 */
async function installInWorker(cdp: CdpSession, expression: string): Promise<string | null> {
  const held = new Promise<boolean>((resolve) => cdp.on('Debugger.paused', () => resolve(true)));
  cdp.send('Debugger.enable').catch(() => {});
  cdp.send('Debugger.setInstrumentationBreakpoint', { instrumentation: 'beforeScriptExecution' }).catch(() => {});
  const isHeld = await succeedsWithin(held, { ms: PAUSES_WITHIN_MS });
  // biome-ignore lint/plugin: the clock is the page's own
  const installing = isHeld ? cdp.send('Runtime.evaluate', { expression }) : null;
  cdp.send('Debugger.disable').catch(() => {});
  return (await installing)?.result.objectId ?? null;
}
