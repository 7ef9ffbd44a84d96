import pTimeout from 'p-timeout';
import type { CdpMessage } from './cdp-pipe.js';
import { type CdpSession, PipeSession } from './pipe-session.js';

/** Scripts that replace the clocks of targets below a page that have sessions of their own. */
export interface ClockScripts {
  /** The script for each document of a frame. */
  frame: string;
  /** The script for a worker. Its value is the function that runs the clock. */
  worker: string;
}

/** How far to run the clocks. */
export interface ChildRun {
  order: { ms: number; realMs: number };
  /** The expression that runs a frame's clock, in our isolated world. */
  frameExpression: string;
}

/** A target that has been attached but is not running yet. */
export interface Child {
  sessionId: string;
  targetId: string;
  type: string;
  /** The browser context. Each page has its own. */
  context: string;
}

interface Clock {
  context: string;
  isFrame: boolean;
  session: PipeSession;
  /** @returns the clock's own report of its state */
  run(run: ChildRun): Promise<unknown>;
  /** The run in progress, if any. */
  running: Promise<number> | null;
  /** The real time, in ms, that the page has waited for it. */
  lateMs: number;
}

const CHILDREN_MAX = 30;
/** A worker that has computed for longer than this no longer delays its page's clock. */
const LATE_MAX_MS = 2_000;
const LATE = Symbol('late');
const PAUSES_WITHIN_MS = 5_000;

/** The clocks of workers, and of frames in other processes, which run with their page's clock. */
export class ChildClocks {
  readonly #scripts = new Map<string, ClockScripts>();
  readonly #clocks = new Map<string, Clock>();

  /** @param post sends a command, and returns its id */
  constructor(private readonly post: (method: string, params: object, sessionId: string) => number) {}

  /** Installs a clock in each future target of the context. */
  install(context: string, scripts: ClockScripts): void {
    this.#scripts.set(context, scripts);
  }

  /** Must be called for each target before it runs. */
  add({ sessionId, targetId, type, context }: Child): void {
    const scripts = this.#scripts.get(context);
    const isFrame = type === 'iframe';
    if (scripts === undefined || (!isFrame && type !== 'worker') || this.#of(context).length >= CHILDREN_MAX) return;
    const session = new PipeSession({ post: (method, params) => this.post(method, params, sessionId), failed: () => {} });
    const cdp = session.asCdpSession();
    const run = isFrame ? clockOfFrame(cdp, scripts, targetId) : clockOfWorker(cdp, scripts);
    this.#clocks.set(sessionId, { context, isFrame, session, run, running: null, lateMs: 0 });
  }

  /** @returns ms of the page's time until something is due in any of them; infinite if nothing is */
  async run(context: string, run: ChildRun): Promise<number> {
    return Math.min(...(await Promise.all(this.#of(context).map((clock) => runOne(clock, run)))));
  }

  /** The sessions of frames in other processes. */
  frameSessions(context: string): string[] {
    return [...this.#clocks].filter(([, clock]) => clock.context === context && clock.isFrame).map(([sessionId]) => sessionId);
  }

  /** @returns whether the message concerns a clock only */
  receive(message: CdpMessage): boolean {
    const clock = this.#clocks.get(message.sessionId ?? '');
    const isOwn = message.id !== undefined || message.method?.startsWith('Debugger.') === true;
    if (clock === undefined || !isOwn) return false;
    clock.session.receive(message);
    return true;
  }

  drop(sessionId: string): void {
    this.#clocks.get(sessionId)?.session.close();
    this.#clocks.delete(sessionId);
  }

  forget(context: string): void {
    this.#scripts.delete(context);
  }

  #of(context: string): Clock[] {
    return [...this.#clocks.values()].filter((clock) => clock.context === context);
  }
}

async function runOne(clock: Clock, run: ChildRun): Promise<number> {
  if (clock.lateMs >= LATE_MAX_MS) return Number.POSITIVE_INFINITY;
  const began = performance.now();
  clock.running ??= clock
    .run(run)
    .then(dueMs, () => Number.POSITIVE_INFINITY)
    .finally(() => {
      clock.running = null;
    });
  const due = await pTimeout(clock.running, { milliseconds: Math.max(1, run.order.realMs), fallback: (): typeof LATE => LATE });
  if (due !== LATE) return due;
  clock.lateMs += performance.now() - began;
  return 0;
}

/**
 * @param state the page's own report of its clock, which it can forge
 * @returns ms of the page's time until something is due; infinite for never
 */
export function dueMs(state: unknown): number {
  const { nextMs } = (state ?? {}) as { nextMs?: unknown };
  return typeof nextMs === 'number' && nextMs >= 0 ? nextMs : Number.POSITIVE_INFINITY;
}

function clockOfFrame(cdp: CdpSession, { frame }: ClockScripts, frameId: string): Clock['run'] {
  cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: frame }).catch(() => {});
  return ({ frameExpression }: ChildRun) => runFrameClock(cdp, frameId, frameExpression);
}

/**
 * Runs the clock of one frame of a target.
 * @returns the clock's own report of its state
 */
export async function runFrameClock(cdp: CdpSession, frameId: string, expression: string): Promise<unknown> {
  const { executionContextId: contextId } = await cdp.send('Page.createIsolatedWorld', { frameId, worldName: 'stillframe clock' });
  // biome-ignore lint/plugin: the context is our own world
  const { result } = await cdp.send('Runtime.evaluate', { expression, contextId, awaitPromise: true, returnByValue: true });
  return result.value;
}

/** A worker has no isolated world, so its report is untrusted. At worst, its own clock runs too little or too far. */
function clockOfWorker(cdp: CdpSession, { worker }: ClockScripts): Clock['run'] {
  const installing = installInWorker(cdp, worker).catch(() => null);
  return async ({ order }: ChildRun) => {
    const objectId = await installing;
    if (objectId === null) return null;
    const functionDeclaration = 'function (order) { return this(order); }';
    const call = { objectId, functionDeclaration, arguments: [{ value: order }], awaitPromise: true, returnByValue: true };
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
  const isHeld = await pTimeout(held, { milliseconds: PAUSES_WITHIN_MS, fallback: () => false });
  // biome-ignore lint/plugin: the clock is the page's own
  const installing = isHeld ? cdp.send('Runtime.evaluate', { expression }) : null;
  cdp.send('Debugger.disable').catch(() => {});
  return (await installing)?.result.objectId ?? null;
}
