import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SubmitContext } from '../capture/submit.js';
import type { Templates } from '../capture/templates.js';
import type { CaptureData } from '../contract/capture-data.js';
import { CaptureError, type StoredError, toStoredError } from '../contract/capture-error.js';
import { newId } from '../contract/ids.js';
import { isTerminal, type JobSnapshot } from '../contract/job.js';
import { TOLERATED_CODES } from '../contract/request-fields.js';
import { inField, type Submission, type SubmissionRules } from '../contract/submission.js';
import { type RunData, submissionOf, type Watch, type WatchEvent, type WatchRun } from '../contract/watch.js';
import type { Log } from '../log.js';
import type { EndedRun, JobStore, KeyStore, RetentionStore, WatchStore } from '../store/store.js';
import { isDeleted, type JudgeDeps, judgeRun } from './judge-run.js';
import { nextTime } from './schedule.js';

export interface RunDeps extends JudgeDeps {
  store: WatchStore & Pick<JobStore, 'findJob'> & Pick<RetentionStore, 'findArtifact'> & Pick<KeyStore, 'findKey'>;
  submit(submission: Submission, context: SubmitContext): Promise<JobSnapshot>;
  rules: Omit<SubmissionRules, 'forceAsync'>;
  templates: Pick<Templates, 'find'>;
  /** The number of captures of watches that may be submitted and not have ended, on all servers together. */
  runsAtOnce(): Promise<number>;
  /** Delays in ms before a run's second, third … capture; there are no more captures than that. */
  retryMs: readonly number[];
  /** Called for each run that ended. */
  onRunEnded(run: { watchId: string; runId: string; state: EndedRun['state']; events: readonly WatchEvent[] }): void;
  log: Log;
  now(): number;
}

/** A claimed run. */
export interface ClaimedRun {
  run: WatchRun;
  claim: string;
}

/** The validity of a claim: longer than two comparisons take. */
const LEASE_MS = 90_000;
/** The delay after which a submitted run is checked again if no event reports the end of its job. */
const LOOK_AGAIN_MS = 30_000;
/** When a capture is submitted again that the queue, the storage or the comparisons had no room for. */
const BUSY_MS = 5_000;
/** Failed runs in a row after which one message says so. */
const FAILURES_BEFORE_MESSAGE = 3;
/** Watches that are due at once and are started in one turn of the event loop. */
const FIRED_AT_ONCE = 10;

const OVERLAP: StoredError = {
  code: 'rate_limited',
  message: 'The previous run had not ended yet.',
  retriable: true,
  status: 429,
  details: { reason: 'previous_run_unfinished' },
};

/** Starts the runs of all watches that are due, one for each, however many times have passed. */
export async function startDueRuns({ store, now }: Pick<RunDeps, 'store' | 'now'>): Promise<void> {
  for (;;) {
    const due = await store.dueWatches(now(), FIRED_AT_ONCE);
    await Promise.all(
      due.map((watch) => {
        const at = now();
        return store.fire(watch, { runId: newId('run', at), nextAt: nextTime(watch, at), now: at, overlap: OVERLAP });
      }),
    );
    if (due.length < FIRED_AT_ONCE) return;
    await nextTurn();
  }
}

/** Moves times that are further away than the schedule has them, because the clock was set back. */
export async function clampNextTimes({ store, now }: Pick<RunDeps, 'store' | 'now'>): Promise<void> {
  for (let after = ''; ; ) {
    const some = await store.scheduledWatches({ after, limit: FIRED_AT_ONCE });
    for (const watch of some) {
      const next = nextTime(watch, now());
      if (next !== null && next < watch.nextAt) await store.reschedule(watch, next);
    }
    after = some.at(-1)?.id ?? '';
    if (some.length < FIRED_AT_ONCE) return;
    await nextTurn();
  }
}

/** Claims runs: those whose captures have ended first, then queued ones, whose accounts take turns. */
export class RunClaims {
  /** When each account had its last turn, by a counter. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  #submitting = 0;

  constructor(private readonly deps: Pick<RunDeps, 'store' | 'runsAtOnce' | 'now'>) {}

  async next(): Promise<ClaimedRun | null> {
    const { store, now, runsAtOnce } = this.deps;
    const claim = randomUUID();
    const ended = await store.claimRunning(claim, now(), LEASE_MS);
    if (ended !== null) return { run: ended, claim };
    const { accounts, running } = await store.queuedRuns(now());
    if (accounts.length === 0 || running + this.#submitting >= (await runsAtOnce())) return null;
    const order = accounts.toSorted((one, other) => (this.#turns.get(one) ?? 0) - (this.#turns.get(other) ?? 0));
    for (const account of order) {
      const run = await store.claimQueued(account, claim, now(), LEASE_MS);
      if (run === null) continue;
      for (const known of this.#turns.keys()) if (!accounts.includes(known)) this.#turns.delete(known);
      this.#turns.set(account, ++this.#turn);
      this.#submitting++;
      return { run, claim };
    }
    return null;
  }

  /** Called when a claimed queued run has been submitted, or could not be. */
  submitted(): void {
    this.#submitting--;
  }
}

/**
 * Advances a claimed run by one step: submits its capture, or judges the capture that has ended. Each step is committed, so that another
 * server goes on where this one dies.
 */
export async function advanceRun(deps: RunDeps, { run, claim }: ClaimedRun, signal: AbortSignal): Promise<void> {
  const watch = await deps.store.findWatch(run.watchId);
  const held = { id: run.id, claim };
  if (watch === null) {
    await deps.store.releaseRun(held, { ...run, wakeAt: deps.now() + LOOK_AGAIN_MS });
    return deps.log.error({ watch_id: run.watchId, run_id: run.id }, 'a watch cannot be decrypted; its runs wait');
  }
  const work: Work = { deps, watch, run, claim, signal };
  try {
    await (run.state === 'queued' ? submitRun(work) : judgeEnded(work));
  } catch (error) {
    if (signal.aborted) return;
    // The step is tried again: a database or a storage that cannot be reached fails no run.
    if (error instanceof CaptureError && (error.status === 503 || error.code === 'rate_limited'))
      return await later(work, BUSY_MS);
    await fail(work, toStoredError(error), null);
    if (!(error instanceof CaptureError)) throw error;
  }
}

/** The rules for the request of a watch, with the template that it names. @throws CaptureError for one that the account does not have */
export async function rulesFor(
  { rules, templates }: Pick<RunDeps, 'rules' | 'templates'>,
  request: unknown,
  account: Pick<Watch, 'accountId'>,
): Promise<RunDeps['rules']> {
  const template = await templates.find(request, account).catch((error: unknown) =>
    inField('request', () => {
      throw error;
    }),
  );
  return { ...rules, template };
}

interface Work extends ClaimedRun {
  deps: RunDeps;
  watch: Watch;
  signal: AbortSignal;
}

async function later({ deps, run, claim }: Work, ms: number, changes: Partial<WatchRun> = {}): Promise<void> {
  await deps.store.releaseRun({ id: run.id, claim }, { ...run, ...changes, wakeAt: deps.now() + ms });
}

async function submitRun(work: Work): Promise<void> {
  const { deps, watch, run } = work;
  const key = await deps.store.findKey(watch.keyId);
  if (key === null || key.revokedAt !== null)
    return await skip(
      work,
      toStoredError(new CaptureError({ code: 'unauthorized', message: 'The API key of the watch has been revoked.' })),
    );
  const submission = submissionOf(watch.definition, await rulesFor(deps, watch.definition.request, watch));
  const principal = { keyId: key.id, accountId: watch.accountId, scopes: key.scopes };
  // The key makes a repetition of this step find the job that it has submitted before.
  const idempotencyKey = `watch.${run.id}.${run.attempt}`;
  const startedAt = run.startedAt ?? deps.now();
  try {
    const job = await deps.submit(submission, {
      principal,
      requestId: newId('request', startedAt),
      idempotencyKey,
      traceparent: null,
    });
    await later(work, LOOK_AGAIN_MS, { state: 'running', jobId: job.id, startedAt });
  } catch (error) {
    if (!(error instanceof CaptureError)) throw error;
    // The watch was changed after the job had been submitted.
    const jobId = error.code === 'idempotency_conflict' ? error.details?.job_id : undefined;
    if (typeof jobId === 'string') return await later(work, LOOK_AGAIN_MS, { state: 'running', jobId, startedAt });
    if (error.code === 'quota_exceeded') return await skip(work, toStoredError(error));
    throw error;
  }
}

async function judgeEnded(work: Work): Promise<void> {
  const { deps, watch, run, signal } = work;
  const job = run.jobId === null ? null : await deps.store.findJob(run.jobId);
  if (job !== null && !isTerminal(job.state)) return await later(work, LOOK_AGAIN_MS);
  const outcome = job?.result?.outcome;
  if (outcome === undefined) return await failOrRetry(work, toStoredError(new Error('the job of a run is gone')));
  if (!outcome.ok) return await failOrRetry(work, outcome.error);
  const data = await runDataOf(deps, watch, outcome.data);
  const tolerated = outcome.data.notes?.warnings?.find(({ code }) =>
    (TOLERATED_CODES as readonly string[]).includes(code),
  );
  if (tolerated !== undefined) {
    const { code, message } = tolerated as { code: (typeof TOLERATED_CODES)[number]; message: string };
    return await fail(work, { ...toStoredError(new CaptureError({ code, message })), retriable: false }, data);
  }
  const { definition } = watch;
  if (definition.report === 'always') return await succeed(work, data, { state: 'reported', events: ['watch.report'] });
  const baseline = definition.against === 'approved' ? watch.approvedRun : watch.previousRun;
  const before = baseline === null ? null : ((await deps.store.findRun(baseline))?.data ?? null);
  if (before === null) return await succeed(work, data, { state: 'unchanged', events: [] });
  try {
    const { changed, share, picture, diff } = await judgeRun(deps, { watch, before, after: data }, signal);
    const notifies = changed && (await isNews(work, data));
    const ended = { state: changed ? ('changed' as const) : ('unchanged' as const), share, changes: picture };
    return await succeed(work, { ...data, diff }, { ...ended, events: notifies ? ['watch.changed'] : [] });
  } catch (error) {
    if (!isDeleted(error)) throw error;
    const message = 'The earlier picture has been deleted, so that this run is the new baseline.';
    const note = toStoredError(new CaptureError({ code: 'invalid_request', status: 410, message }));
    return await succeed(work, data, { state: 'unchanged', events: [], error: note });
  }
}

/** Whether a change against the approved baseline has not been reported: the run before may have had it already. */
async function isNews({ deps, watch, signal }: Work, after: RunData): Promise<boolean> {
  if (watch.definition.against === 'previous' || watch.previousRun === null) return true;
  const previous = await deps.store.findRun(watch.previousRun);
  if (previous?.state !== 'changed' || previous.data === null) return true;
  try {
    return (await judgeRun(deps, { watch, before: previous.data, after }, signal)).changed;
  } catch (error) {
    if (isDeleted(error)) return true;
    throw error;
  }
}

async function runDataOf({ store }: RunDeps, { definition }: Watch, data: CaptureData): Promise<RunData> {
  const named = data.captures ?? [{ name: '', artifact: data.artifact }];
  const pictures = await Promise.all(
    named.map(async ({ name, artifact }) => ({
      name,
      artifact,
      sha256: (await store.findArtifact(artifact))?.sha256 ?? '',
    })),
  );
  const { format, width, height, finalUrl } = data;
  const text = definition.text ? (data.inspection?.markdown ?? '') : null;
  return { format, width, height, finalUrl, sha256: pictures[0]?.sha256 ?? '', pictures, text, diff: null };
}

/** A failure that may pass is followed by another capture within the run. */
async function failOrRetry(work: Work, error: StoredError): Promise<void> {
  const { deps, run } = work;
  const delay = error.retriable ? deps.retryMs[run.attempt - 1] : undefined;
  if (delay === undefined) return await fail(work, error, null);
  await later(work, delay, { state: 'queued', attempt: run.attempt + 1 });
}

async function fail(work: Work, error: StoredError, data: RunData | null): Promise<void> {
  const { watch } = work;
  const failures = watch.failures + 1;
  const notifies = failures >= FAILURES_BEFORE_MESSAGE && watch.alarm !== 'failed';
  await end(work, {
    ...NOTHING,
    state: 'failed',
    failures,
    error,
    data,
    picture: data?.pictures[0]?.artifact ?? null,
    alarm: notifies ? 'failed' : watch.alarm,
    events: notifies ? ['watch.failed'] : [],
  });
}

/** Ends a run that cannot be captured until an operator or the next month changes that. */
async function skip(work: Work, error: StoredError): Promise<void> {
  const { watch } = work;
  const events: WatchEvent[] = watch.alarm === null ? ['watch.failed'] : [];
  await end(work, {
    ...NOTHING,
    state: 'skipped',
    failures: watch.failures,
    alarm: watch.alarm ?? 'skipped',
    error,
    events,
  });
}

async function succeed(
  work: Work,
  data: RunData,
  ended: Pick<EndedRun, 'state' | 'events'> & Partial<EndedRun>,
): Promise<void> {
  const recovered: WatchEvent[] = work.watch.alarm === null ? [] : ['watch.recovered'];
  const picture = data.pictures[0]?.artifact ?? null;
  await end(work, {
    ...NOTHING,
    data,
    picture,
    ...ended,
    isPrevious: true,
    failures: 0,
    alarm: null,
    events: [...recovered, ...ended.events],
  });
}

const NOTHING = { share: null, picture: null, changes: null, data: null, error: null, isPrevious: false };

async function end({ deps, watch, run, claim }: Work, ended: EndedRun): Promise<void> {
  if (!(await deps.store.endRun({ id: run.id, claim }, watch, ended, deps.now()))) return;
  const { state, share, events, error } = ended;
  deps.onRunEnded({ watchId: watch.id, runId: run.id, state, events });
  const facts = { watch_id: watch.id, run_id: run.id, job_id: run.jobId, state, share, tells: events };
  deps.log.info({ ...facts, ...(error === null ? {} : { code: error.code, message: error.message }) }, 'watch run');
}
