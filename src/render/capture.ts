/** Runs one capture: its loads of the page, its share of memory, its lease of a page and its retries. Knows nothing of jobs, the store or HTTP. */

import { animationGraceMs } from '../contract/animation.js';
import { CaptureError } from '../contract/capture-error.js';
import { TIMEOUT_MS } from '../contract/limits.js';
import { type PageLoad, pageLoadsOf } from '../contract/page-loads.js';
import type { LocalPageRules } from '../egress/egress.js';
import type { Log } from '../log.js';
import { Deadlines, monotonicNow, timeLimit } from './deadlines.js';
import { captureDocuments, sumOf } from './documents.js';
import { type FileContents, ownFiles, withAttachedFiles } from './guard/own-files.js';
import { estimateBytes, type MemoryBudget } from './memory.js';
import { keepsNavigating } from './page/navigate.js';
import { PageCapture, type PageCaptureDeps, type PageTask, type Rendering } from './page-capture.js';
import { DocumentReplaced, isClosed, NoBrowser, type PageSession, pageCrashed, SharedLoss } from './page-session.js';
import type { BrowserPool, PageLease } from './pool/browser-pool.js';
import { StageTimes } from './stage-times.js';

export type { NamedPicture, Rendering } from './page-capture.js';

export interface RenderTask extends PageTask {
  /** Identifies the account in the log. */
  account?: string;
  local?: LocalPageRules | undefined;
  /** Whether its page leaves the processor to those of other captures. */
  inBackground?: boolean;
  /** The content of `options.files`. */
  files?: FileContents | undefined;
  /** Called when memory is available for the capture, and again if it is repeated. Its timeout starts here. */
  onBegin?(): void;
  /** Receives the progress, 0–100, at the start of each stage. */
  onProgress(progress: number): void;
  /** The page closes once this resolves, so that closing does not compete for the processor; at once when absent. */
  kept?: Promise<unknown> | undefined;
}

export interface RenderDeps extends PageCaptureDeps {
  pool: Pick<BrowserPool, 'acquire' | 'acquireAlone'>;
  memory: Pick<MemoryBudget, 'reserve'>;
  log: Log;
}

/** The time limit for the start of the dedicated browser of a repeated capture. */
const OWN_BROWSER_START_MS = 30_000;
/**
 * Makes the pictures of a request, one load of the page after another within the time limits of one capture. Each load has its
 * own page session, which is always released. One that was lost, perhaps through no fault of its page, is repeated in a
 * dedicated browser.
 * @param signal ends the capture at once; its reason is thrown
 * @throws CaptureError with any code of a capture (decisions.md, Error codes)
 */
export async function capture(deps: RenderDeps, requested: RenderTask, signal: AbortSignal): Promise<Rendering> {
  const task = { ...requested, options: await withAttachedFiles(requested.options, requested.files) };
  const { timeout, delay, pdf } = task.options;
  if (pdf?.pages !== undefined) return await captureAsOne(deps, task, signal);
  const loads = pageLoadsOf(task.options);
  let begun = monotonicNow();
  const renderings: Rendering[] = [];
  for (const [index, load] of loads.entries()) {
    const leftMs = index === 0 ? timeout : timeout - (monotonicNow() - begun - index * delay);
    if (loads.length > 1 && leftMs < TIMEOUT_MS.min) throw noTimeLeft(timeout, { loads: loads.length, done: index });
    const part: RenderTask = {
      ...task,
      // The facts and the report are those of the first load.
      options: {
        ...load.options,
        timeout: Math.min(timeout, leftMs),
        ...(index === 0 ? {} : { inspectPage: false, explain: false, extract: null, saveHtml: false }),
      },
      onBegin() {
        if (index > 0) return;
        begun = monotonicNow();
        task.onBegin?.();
      },
      onProgress: (progress) => task.onProgress((100 * index + progress) / loads.length),
      kept: index === loads.length - 1 ? task.kept : undefined,
    };
    renderings.push(await captureLoad(deps, part, { load, signal, heldBytes: bytesOf(renderings) }));
  }
  const [first, ...others] = renderings;
  if (first === undefined) throw new Error('a request has no page load');
  if (others.length === 0) return first;
  return {
    ...first,
    captures: renderings.flatMap(({ captures }) => captures ?? []),
    warnings: [
      ...first.warnings,
      ...others.flatMap(({ warnings }) =>
        warnings.filter(({ message }) => !first.warnings.some((known) => known.message === message)),
      ),
    ],
    blockedRequests: renderings.reduce((sum, { blockedRequests }) => sum + blockedRequests, 0),
    timings: sumOf(renderings.map(({ timings }) => timings)),
  };
}

function noTimeLeft(timeout: number, { loads, done }: { loads: number; done: number }): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `\`timeout\` (${timeout} ms) ended after ${done} of ${loads} loads of the page, which share it. A longer one, or fewer loads, may help.`,
    details: { waited_for: 'loads', loads, done },
  });
}

async function captureAsOne(deps: RenderDeps, task: RenderTask, signal: AbortSignal): Promise<Rendering> {
  let begun: number | null = null;
  const documents = {
    ...deps,
    signal,
    begunAt: () => begun ?? monotonicNow(),
    captureLoad: (load: PageLoad, { heldBytes, progress }: { heldBytes: number; progress(part: number): number }) => {
      const part: RenderTask = {
        ...task,
        options: load.options,
        onBegin() {
          if (begun !== null) return;
          begun = monotonicNow();
          task.onBegin?.();
        },
        onProgress: (done) => task.onProgress(progress(done)),
        kept: undefined,
      };
      return captureLoad(deps, part, { load, signal, heldBytes });
    },
  };
  return await captureDocuments(documents, task.options);
}

function bytesOf(renderings: readonly Rendering[]): number {
  return renderings.flatMap(({ captures }) => captures ?? []).reduce((sum, { content }) => sum + content.byteLength, 0);
}

interface LoadOptions {
  load: PageLoad;
  signal: AbortSignal;
  /** Encoded bytes of earlier loads. */
  heldBytes: number;
}

async function captureLoad(deps: RenderDeps, task: RenderTask, attempt: LoadOptions): Promise<Rendering> {
  return await captureOnce(deps, task, { ...attempt, alone: false }).catch((error: unknown) => {
    // Another capture, or how the browser draws, may have caused the failure.
    const isShared = error instanceof CaptureError && error.cause instanceof SharedLoss;
    if (attempt.signal.aborted || !isShared) throw error;
    deps.log.info(
      { job_id: task.id, err: error },
      'a capture was lost, perhaps through no fault of its page, and is repeated alone',
    );
    return captureOnce(deps, task, { ...attempt, alone: true }).catch((second: unknown) =>
      Promise.reject(crashedAgain(second)),
    );
  });
}

async function captureOnce(
  deps: RenderDeps,
  task: RenderTask,
  { load, signal, heldBytes, alone }: LoadOptions & { alone: boolean },
): Promise<Rendering> {
  const { options, id, account, local, files } = task;
  const memory = await deps.memory.reserve(estimateBytes(load, alone) + heldBytes, signal);
  task.onBegin?.();
  const times = new StageTimes(task.onProgress);
  let lease: PageLease | null = null;
  try {
    times.enter('prepare', 5);
    const askedAt = monotonicNow();
    const ends = AbortSignal.any([signal, timeLimit(alone ? OWN_BROWSER_START_MS : options.timeout)]);
    const own = options.files === null || files === undefined ? undefined : ownFiles(options.files.list, files);
    lease = await deps.pool[alone ? 'acquireAlone' : 'acquire'](options, ends, {
      requester: { job_id: id, account },
      local,
      own,
    });
    const { session } = lease;
    if (task.inBackground) lease.lowerPriority();
    // The start of a dedicated browser does not count towards the timeout: the capture did not cause the first crash.
    using deadlines = new Deadlines(
      { ...options, grace: animationGraceMs(options), began: alone ? monotonicNow() : askedAt },
      [signal, session.lost],
    );
    const page = new PageCapture(session, deps, task, load, heldBytes, deadlines, times);
    const rendering = await deadlines.orEnd(page.run());
    // A browser whose network service has crashed still makes pictures, but without images.
    lease.verify();
    session.lost.throwIfAborted();
    return rendering;
  } catch (error) {
    task.onStages?.(times.stages({ failed: true }));
    signal.throwIfAborted();
    if (lease === null) throw error;
    // Chromium 156 ends the renderer of a page whose print templates load anything, which is the request's fault (puppeteer#5485).
    if (error instanceof CaptureError && error.code === 'invalid_request') throw error;
    await lease.awaitCrash();
    throw translate(error, lease.session);
  } finally {
    // The page closes in the background; the pool kills a browser that fails to close it.
    const release = async () => {
      await lease
        ?.release()
        .catch((error: unknown) => deps.log.warn({ err: error, job_id: id }, 'a page was not closed'));
      memory[Symbol.dispose]();
    };
    // A crashed page is closed at once, before the capture is repeated.
    if (lease === null || lease.session.lost.aborted) void release();
    else Promise.resolve(task.kept).then(release, release);
  }
}

/** Marks a crash in a dedicated browser as final, so that it is not retried. Other errors, such as a full disk, are unchanged. */
export function crashedAgain(error: unknown): unknown {
  if (!(error instanceof CaptureError)) return error;
  if (error instanceof NoBrowser) {
    const message = 'The browser crashed during the capture, and no other one could be started for it.';
    return new CaptureError({ code: 'render_crashed', message, cause: error });
  }
  if (error.code !== 'render_crashed') return error;
  const message = 'The browser crashed during the capture, and again when it had no other page.';
  return new CaptureError({ code: 'render_crashed', message, details: { own_browser: true }, cause: error });
}

/** Translates the browser's errors. Any failure in a crashed browser counts as that crash; other errors are bugs and stay unchanged. */
function translate(error: unknown, session: PageSession): unknown {
  if (session.lost.aborted) return session.lost.reason;
  if (error instanceof CaptureError) return error;
  if (error instanceof DocumentReplaced) return keepsNavigating();
  return isClosed(error) ? pageCrashed(error) : error;
}
