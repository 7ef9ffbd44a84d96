import type { CaptureChanges, CaptureWarning } from '../../contract/capture-data.js';
import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import type { DebugSink, PageSession } from '../page-session.js';
import type { Deadlines } from './deadline.js';
import { MainDocument } from './main-document.js';
import { NetworkTracker, type PendingGroup } from './network.js';
import { RequestLog } from './request-log.js';
import type { World } from './world.js';

/** More dialogs than any ordinary page opens. */
const DISMISSED_AT_ONCE = 50;
const THEN_AFTER_MS = 100;
const HOLDERS_MAX = 20;

/** A page session with its trackers. */
export interface OpenPage {
  readonly session: PageSession;
  readonly deadlines: Deadlines;
  readonly main: MainDocument;
  readonly network: NetworkTracker;
  readonly world: World;
  readonly tolerance: Tolerance;
  /** Whether the page's clock keeps to real time. */
  realTime: boolean;
  /** Whether the page's time passes only when its clock is run. */
  readonly held: boolean;
  readonly debug?: DebugSink | undefined;
  /** How its clock has run so far. */
  readonly clock: ClockTotal;
}

/** Starts tracking a page session and dismissing its dialogs. Must be called before the navigation. */
export function openPage(
  session: PageSession,
  deadlines: Deadlines,
  { options, debug }: { options: CaptureOptions; debug?: DebugSink | undefined },
): OpenPage {
  dismissDialogs(session, { leaves: options.steps.length > 0 });
  const network = new NetworkTracker(session, options.inspectPage ? new RequestLog() : null);
  const main = new MainDocument(session, (url) => network.forgetBefore(url));
  const { world } = session;
  const tolerance = new Tolerance(options.tolerate);
  return {
    session,
    deadlines,
    main,
    network,
    world,
    tolerance,
    realTime: options.realTime,
    held: options.animate !== null,
    debug,
    clock: new ClockTotal(),
  };
}

/**
 * Dismisses dialogs (decisions.md, Capture semantics). The context blocks popups, downloads, permissions and the like.
 * Dialogs beyond the first are delayed, since dismissing endless ones took two fifths of the server's thread.
 * @param how.leaves whether the question if the page may be left is answered with yes, as steps need it
 */
export function dismissDialogs(session: Pick<PageSession, 'page'>, { leaves = false } = {}): void {
  let opened = 0;
  session.page.on('dialog', (dialog) => {
    // If the page closes meanwhile, there is nothing left to dismiss.
    const answer = () => (leaves && dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss());
    const dismiss = () => void answer().catch(() => undefined);
    opened += 1;
    if (opened <= DISMISSED_AT_ONCE) dismiss();
    else setTimeout(dismiss, THEN_AFTER_MS).unref();
  });
}

/** Implements `tolerate` for one capture: which failures become warnings, and those tolerated so far. */
class Tolerance {
  readonly warnings: CaptureWarning[] = [];

  constructor(private readonly codes: CaptureOptions['tolerate']) {}

  /**
   * Records a tolerated failure, once.
   * @throws the error if it is not tolerated
   */
  orThrow(error: unknown): void {
    const code = error instanceof CaptureError ? this.codes.find((one) => one === error.code) : undefined;
    if (!(error instanceof CaptureError) || code === undefined) throw error;
    const { message } = error;
    if (!this.warnings.some((warning) => warning.message === message)) this.warnings.push({ code, message });
  }
}

/** How far the clock of a page has run. The names are keys of the debug files. */
export type ClockRun = Omit<CaptureChanges['clock'], 'heldBy'>;

/** The sum of a page's runs, and the requests that held its clock. */
export class ClockTotal implements ClockRun {
  /** ms of the page's time that passed ahead of real time. */
  aheadMs = 0;
  realTimeMs = 0;
  /** Real ms for which requests held the clock. */
  heldMs = 0;
  /** Why the clock kept to real time; null if it did not. */
  realTimeBecause: string | null = null;
  readonly heldBy: PendingGroup[] = [];

  add(run: ClockRun): void {
    this.aheadMs += run.aheadMs;
    this.realTimeMs += run.realTimeMs;
    this.heldMs += run.heldMs;
    this.realTimeBecause ??= run.realTimeBecause;
  }

  addHolders(holding: readonly PendingGroup[]): void {
    for (const one of holding) {
      const known = this.heldBy.find(({ kind, host }) => kind === one.kind && host === one.host);
      if (known !== undefined) known.count = Math.max(known.count, one.count);
      else if (this.heldBy.length < HOLDERS_MAX) this.heldBy.push(one);
    }
  }
}
