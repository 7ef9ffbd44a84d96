/**
 * Request in, picture out: what one capture does in a browser, as one list of small steps. Knows no job, account, store or HTTP.
 */

import type { CaptureWarning, Inspection, RenderDiagnostics } from '../contract/capture-data.js';
import { type CaptureFormat, type CaptureOptions, HTML_DOCUMENT_URL } from '../contract/capture-request.js';
import type { LocalPassage, Passage } from '../egress/egress.js';
import type { Log } from '../log.js';
import { estimateBytes, type MemoryBudget } from './memory-budget.js';
import { monotonicNow } from './monotonic-now.js';
import { checkOutput, refuseWhite } from './page/check-output.js';
import { bypassCsp, runCustomJs } from './page/custom-js.js';
import { Deadlines, TIMED_OUT } from './page/deadline.js';
import { edit, fetches } from './page/edit.js';
import type { DocumentState } from './page/main-document.js';
import { navigate } from './page/navigate.js';
import { type OpenPage, openPage } from './page/open-page.js';
import { restoreLogin } from './page/restore-login.js';
import { checkSelectors } from './page/selectors.js';
import { type StageTime, StageTimes } from './page/stage-times.js';
import { Tolerance } from './page/tolerance.js';
import { type EgressCountries, verifyEgress } from './page/verify-egress.js';
import { waitForSelector } from './page/wait-for-selector.js';
import { waitUntil } from './page/wait-until.js';
import type { PageSession } from './page-session.js';
import type { EncodeQueue } from './picture/encode-queue.js';
import type { Picture } from './picture/picture.js';
import { type BannerGuard, picturePage } from './picture-page.js';
import { crashedAgain, isSharedLoss, neverReady, translate } from './render-failure.js';
import { warningsOf, watchMissingFiles } from './warnings.js';

/** One capture to make. */
export interface RenderOrder {
  options: CaptureOptions;
  /** For the log and for leases only. */
  id: string;
  /** For the log only. */
  account?: string;
  local?: LocalPassage | undefined;
  /** Called when there is memory for the capture, and again if it is repeated: its time counts from there. */
  onBegin?(): void;
  /** 0–100, by stage. */
  onProgress(progress: number): void;
  /** Called at the end of each rendering, whether it failed or not. */
  onStages?(stages: readonly StageTime[]): void;
  /** The page is closed only then: it would take the processor from whoever still works on the picture. At once when absent. */
  kept?: Promise<unknown>;
}

/** A picture and all that is to be told of it. */
export interface Rendering {
  content: Uint8Array;
  format: CaptureFormat;
  /** Output px, read from the encoded bytes (PDF: CSS px of its first page). */
  width: number;
  height: number;
  finalUrl: string;
  blockedRequests: number;
  warnings: CaptureWarning[];
  egressCountry: string | null;
  diagnostics: RenderDiagnostics;
  inspection: Inspection | null;
  /** ms by stage: navigate, settle, scroll, shoot, encode. */
  timings: Record<string, number>;
}

export interface RenderDeps {
  pool: {
    acquire(options: CaptureOptions, signal: AbortSignal, passage: Pick<Passage, 'requester' | 'local'>): Promise<PageLease>;
    /** With a browser that no other capture uses. */
    acquireAlone(options: CaptureOptions, signal: AbortSignal, passage: Pick<Passage, 'requester' | 'local'>): Promise<PageLease>;
  };
  memory: Pick<MemoryBudget, 'reserve'>;
  blocker: { guard(session: PageSession, options: CaptureOptions, id: string): Promise<BlockGuard> };
  countries: EgressCountries;
  /** The process's one queue for big pictures. */
  encodes: EncodeQueue;
  inspect(session: PageSession, how: { timeoutMs: number }): Promise<Inspection>;
  log: Log;
}

interface PageLease {
  readonly session: PageSession;
  verify(): void;
  release(): Promise<void>;
}

interface BlockGuard extends BannerGuard {
  readonly blockedRequests: number;
}

/** How long the browser of a repeated capture may take to start. */
const OWN_BROWSER_START_MS = 30_000;
const MECHANISMS_MAX_MS = 500;
const LOOK_MAX_MS = 1_000;
const INSPECT_MS = 5_000;
/** And the inspection this long, though it always has a moment. */
const INSPECT_GRACE_MS = 4_500;
const INSPECT_MIN_MS = 500;

/**
 * Makes one picture; every capture has a page session of its own, which is released whatever happens. A capture that is lost with others of
 * its browser is repeated with a browser of its own.
 *
 * @param signal ends the capture at once; its reason is what is thrown
 * @throws CaptureError with any code of a capture (decisions.md, Error codes)
 */
export async function render(deps: RenderDeps, order: RenderOrder, signal: AbortSignal): Promise<Rendering> {
  return await renderOnce(deps, order, { signal, alone: false }).catch((error: unknown) => {
    if (signal.aborted || !isSharedLoss(error)) throw error;
    deps.log.info({ job_id: order.id, err: error }, 'a capture was lost with others of its browser and is repeated alone');
    return renderOnce(deps, order, { signal, alone: true }).catch((again: unknown) => Promise.reject(crashedAgain(again)));
  });
}

interface Once {
  signal: AbortSignal;
  /** Whether it has a browser of its own. */
  alone: boolean;
}

async function renderOnce(deps: RenderDeps, order: RenderOrder, { signal, alone }: Once): Promise<Rendering> {
  const memory = await deps.memory.reserve(estimateBytes(order.options, alone), signal);
  order.onBegin?.();
  const times = new StageTimes(order.onProgress);
  const released = (): void => memory[Symbol.dispose]();
  try {
    return await renderTimed(deps, order, { signal, alone, times, released });
  } catch (error) {
    order.onStages?.(times.stages({ failed: true }).map((stage) => (stage.name === 'picture' ? { ...stage, name: 'shoot' } : stage)));
    throw error;
  }
}

async function renderTimed(
  deps: RenderDeps,
  order: RenderOrder,
  { signal, alone, times, released }: Once & { times: StageTimes; released(): void },
): Promise<Rendering> {
  times.enter('prepare', 5);
  const asked = monotonicNow();
  const requester = { job_id: order.id, ...(order.account === undefined ? {} : { account: order.account }) };
  const passage = { requester, local: order.local };
  const ends = AbortSignal.any([signal, AbortSignal.timeout(alone ? OWN_BROWSER_START_MS : order.options.timeout)]);
  const acquiring = alone ? deps.pool.acquireAlone(order.options, ends, passage) : deps.pool.acquire(order.options, ends, passage);
  acquiring.catch(released);
  const lease = await acquiring;
  const { session } = lease;
  // The start of a browser of its own does not count: the capture is not to blame for the loss of the first.
  const began = alone ? monotonicNow() : asked;
  const deadlines = new Deadlines({ ...order.options, began }, [signal, session.lost]);
  try {
    const rendering = await deadlines.orEnd(capture(deps, order, { session, deadlines, times }));
    // A browser without its network service still makes pictures, without images.
    lease.verify();
    session.lost.throwIfAborted();
    return rendering;
  } catch (error) {
    signal.throwIfAborted();
    lease.verify();
    throw translate(error, session);
  } finally {
    deadlines[Symbol.dispose]();
    // Nobody waits for the page to close; a browser that does not manage it is killed by the pool.
    const release = () =>
      lease
        .release()
        .catch((error: unknown) => deps.log.warn({ err: error, job_id: order.id }, 'a page was not closed'))
        .finally(released);
    // A page that is lost is closed at once, before it is repeated.
    if (session.lost.aborted) void release();
    else Promise.resolve(order.kept).then(release, release);
  }
}

interface Running {
  session: PageSession;
  deadlines: Deadlines;
  times: StageTimes;
}

async function capture(deps: RenderDeps, order: RenderOrder, on: Running): Promise<Rendering> {
  const { options } = order;
  const { session, deadlines, times } = on;
  const missing = watchMissingFiles(session, options);
  const [page, guard, egressCountry] = await prepare(deps, order, on);
  times.enter('navigate', 15);
  await navigate(page, options.url);
  await waitUntil(page, options.waitUntil);
  if (options.customJs !== null) await runCustomJs(page, options.customJs);
  if (options.waitForSelector !== null) await waitForSelector(page, options.waitForSelector);
  const { picture, shown } = await picturePage({ page, guard, times, encodes: deps.encodes }, options);
  const { tolerance } = page;
  const showsAll = options.selector === null && options.clip === null && !options.omitBackground;
  if (options.format !== 'pdf' && showsAll)
    await refuseWhite(picture, () => paintsWhite(page)).catch((error: unknown) => tolerance.orThrow(error));
  checkOutput(picture, options, tolerance);
  const warnings = [...tolerance.warnings, ...(await warningsOf(page, options, { picture, missing }))];
  await logMechanisms(deps.log, order.id, page);
  if (options.inspectPage) times.enter('inspect', 90);
  const inspection = options.inspectPage ? await deadlines.orEnd(deps.inspect(session, { timeoutMs: inspectMs(deadlines) })) : null;
  const { prepare: _prepare, picture: _picture, inspect: _inspect, ...timings } = times.taken();
  order.onStages?.(stagesOf(times, picture));
  return {
    content: picture.content,
    format: options.format,
    width: picture.width,
    height: picture.height,
    finalUrl: finalUrl(session, shown, options),
    blockedRequests: guard.blockedRequests + session.captureProxy.refusedCount,
    warnings,
    egressCountry,
    diagnostics: picture.diagnostics,
    inspection,
    timings: { scroll: 0, ...timings, shoot: Math.round(picture.timings.shoot), encode: Math.round(picture.timings.encode) },
  };
}

/** The picture may have been taken while the page settled, and its stages have times of their own. */
function stagesOf(times: StageTimes, { timings: { begun, shoot, encode } }: Picture): StageTime[] {
  const shot = { name: 'shoot', began: begun, ended: begun + shoot, failed: false };
  const encoded = { name: 'encode', began: shot.ended, ended: shot.ended + encode, failed: false };
  return [...times.stages({ failed: false }).filter(({ name }) => name !== 'picture'), shot, encoded];
}

/** All that must be in place before the page is navigated, at once. */
async function prepare({ blocker, countries }: RenderDeps, { options, id }: RenderOrder, on: Running) {
  const { session, deadlines } = on;
  const preparing = Promise.all([
    openPage(session, deadlines, { tolerance: new Tolerance(options.tolerate), realTime: options.realTime }),
    blocker.guard(session, options, id),
    verifyEgress(countries, { captureProxy: session.captureProxy, options, deadlines }),
    checkSelectors(on, options),
    edit(on, options),
    restoreLogin(on, options),
    options.customJs !== null || fetches(options.customCss) ? bypassCsp(session) : null,
  ]);
  const prepared = await deadlines.within(preparing, deadlines.leftMs());
  if (prepared === TIMED_OUT) throw neverReady(deadlines.timeout);
  return prepared;
}

/** A drawing may be white, as an empty sheet of a drawing program is. */
async function paintsWhite({ world, deadlines }: OpenPage): Promise<boolean> {
  return (await deadlines.within(world.call('blank.hasDrawnCanvas'), LOOK_MAX_MS).catch(() => TIMED_OUT)) === true;
}

/** For those who look into how a page was pictured. */
async function logMechanisms(log: Log, id: string, { world, deadlines }: OpenPage): Promise<void> {
  if (!log.isLevelEnabled('debug')) return;
  const mechanisms = await deadlines.within(world.call('mechanisms.told'), MECHANISMS_MAX_MS).catch(() => TIMED_OUT);
  if (mechanisms !== TIMED_OUT) log.debug({ job_id: id, mechanisms }, 'pictured');
}

function inspectMs({ budgetEndsAt }: Deadlines): number {
  return Math.min(INSPECT_MS, Math.max(INSPECT_MIN_MS, budgetEndsAt + INSPECT_GRACE_MS - monotonicNow()));
}

/** With what a script has made of the address since, and the fragment. */
function finalUrl(session: PageSession, shown: DocumentState, { html, baseUrl }: CaptureOptions): string {
  const current = session.page.url();
  const url = /^https?:/.test(current) ? current : shown.url;
  const ownAddress = html !== null && baseUrl === null && url.startsWith(HTML_DOCUMENT_URL);
  return ownAddress ? `about:html${new URL(url).hash}` : url;
}
