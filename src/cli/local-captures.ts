import pTimeout from 'p-timeout';
import { pictureDeleted } from '../capture/open-picture.js';
import { idempotencyConflict } from '../capture/submit.js';
import { jobUrl } from '../contract/capture-request.js';
import { newId } from '../contract/ids.js';
import { isTerminal, type JobResult, type JobSnapshot } from '../contract/job.js';
import { readRequestJson } from '../contract/request-json.js';
import { parseSubmission, type Submission, type SubmissionRules } from '../contract/submission.js';
import type { JobsPage } from '../http/jobs-page.js';
import type { JobList } from '../http/mcp/backend.js';
import type { Engine } from '../library/engine.js';
import { toErrorObject } from './operator-error.js';

/** One capture of this process. */
interface LocalCapture {
  job: JobSnapshot;
  /** Number in the order of submission. */
  number: number;
  identity: string;
  idempotencyKey: string | null;
  /** Null until it is finished, and if it failed. */
  content: Buffer | null;
  ended: Promise<void>;
}

/** Time without a capture after which the browser is stopped, since its client may stay open all day. */
const IDLE_MS = 300_000;
/** More captures than a conversation looks back at. */
const KEPT_MAX = 20;
const KEPT_MAX_BYTES = 200_000_000;

export interface LocalCapturesDeps {
  engine: Pick<IdleEngine, 'use'>;
  /** Time in ms that a submission waits for its end. */
  syncWaitMs: number;
  rules: Omit<SubmissionRules, 'forceAsync'>;
}

/** Jobs without a server, of which only the latest are kept, in memory. Submissions are read and rejected as the server does. */
export class LocalCaptures {
  readonly #parts: LocalCapturesDeps;
  #kept: LocalCapture[] = [];
  #submitted = 0;

  constructor(parts: LocalCapturesDeps) {
    this.#parts = parts;
  }

  /**
   * Submits a capture and waits for a while.
   * @throws CaptureError `invalid_request`, `unsupported_option`, `idempotency_conflict`
   */
  async submit(body: Record<string, unknown>, idempotencyKey: string | null): Promise<JobSnapshot> {
    // This refuses the bodies that the server refuses: lone surrogates, depth, size, special names.
    const read = readRequestJson(Buffer.from(JSON.stringify(body)));
    const submission = parseSubmission(read, { ...this.#parts.rules, forceAsync: false });
    const capture = this.#findRepeated(submission, idempotencyKey) ?? this.#begin(submission, idempotencyKey);
    await pTimeout(capture.ended, { milliseconds: Math.max(1, this.#parts.syncWaitMs), message: false });
    return capture.job;
  }

  find(id: string): JobSnapshot | null {
    return this.#kept.find(({ job }) => job.id === id)?.job ?? null;
  }

  list({ state, limit, before }: JobsPage): JobList {
    const older = this.#kept.filter(
      ({ job, number }) => (state === null || job.state === state) && (before === null || number < before),
    );
    const page = older.reverse().slice(0, limit);
    return { jobs: page.map(({ job }) => job), next: older.length > limit ? (page.at(-1)?.number ?? null) : null };
  }

  /** Returns the picture of a job. @throws CaptureError `invalid_request` (410) if it is no longer kept */
  pictureOf(jobId: string): Buffer {
    const content = this.#kept.find(({ job }) => job.id === jobId)?.content;
    if (content === undefined || content === null) throw pictureDeleted();
    return content;
  }

  #findRepeated({ identity }: Submission, key: string | null): LocalCapture | undefined {
    const earlier = key === null ? undefined : this.#kept.find(({ idempotencyKey }) => idempotencyKey === key);
    if (earlier === undefined || earlier.identity === identity) return earlier;
    throw idempotencyConflict({ sameKey: true, isRemoved: false, jobId: earlier.job.id });
  }

  #begin(submission: Submission, idempotencyKey: string | null): LocalCapture {
    const { identity, mode, options } = submission;
    const ids = { id: newId('job'), requestId: newId('request') };
    const capture: LocalCapture = {
      job: { ...NEW_JOB, ...ids, url: jobUrl(options), mode, enqueuedAt: Date.now() },
      number: ++this.#submitted,
      identity,
      idempotencyKey,
      content: null,
      ended: Promise.resolve(),
    };
    capture.ended = this.#run(capture, submission);
    this.#kept.push(capture);
    return capture;
  }

  /** Never rejects. */
  async #run(capture: LocalCapture, { options }: Submission): Promise<void> {
    const { id } = capture.job;
    const began = performance.now();
    const elapsed = () => Math.round(performance.now() - began);
    const outcome = await this.#parts.engine
      .use(async (engine): Promise<JobResult['outcome']> => {
        const onProgress = (progress: number) => {
          capture.job = { ...capture.job, progress };
        };
        const { content, data } = await engine.capture(options, { onProgress });
        capture.content = Buffer.from(content);
        return { ok: true, data: { ...data, artifact: id } };
      })
      .catch((thrown: unknown): JobResult['outcome'] => ({
        ok: false,
        error: { ...toErrorObject(thrown), status: 500 },
      }));
    capture.job = {
      ...capture.job,
      state: outcome.ok ? 'completed' : 'failed',
      progress: 100,
      result: { outcome, durationMs: elapsed(), completedAt: Date.now(), workerId: 'local' },
    };
    this.#forgetOldest();
  }

  /** Forgets the oldest captures, but never a running one, nor the latest. */
  #forgetOldest(): void {
    let count = this.#kept.length;
    let bytes = this.#kept.reduce((sum, { content }) => sum + (content?.length ?? 0), 0);
    this.#kept = this.#kept.filter(({ job, content, number }) => {
      const isOver = count > KEPT_MAX || bytes > KEPT_MAX_BYTES;
      if (!isOver || !isTerminal(job.state) || number === this.#submitted) return true;
      count--;
      bytes -= content?.length ?? 0;
      return false;
    });
  }
}

const NEW_JOB = {
  accountId: 'local',
  keyId: 'local',
  state: 'active',
  progress: 0,
  attemptsMade: 1,
  attemptBudget: 1,
  webhookUrl: null,
  result: null,
} as const satisfies Partial<JobSnapshot>;

/** An engine that is opened when it is needed, and closed when it has not been needed for a while. */
export class IdleEngine implements AsyncDisposable {
  readonly #open: () => Promise<Engine>;
  #engine: Promise<Engine> | null = null;
  #users = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(open: () => Promise<Engine>) {
    this.#open = open;
  }

  /**
   * Opens the engine if necessary, and runs the work.
   * @throws as Engine.open, which the next use tries again
   */
  async use<Result>(work: (engine: Engine) => Promise<Result>): Promise<Result> {
    this.#users++;
    clearTimeout(this.#timer);
    try {
      this.#engine ??= this.#open();
      const opening = this.#engine;
      const engine = await opening.catch((error: unknown) => {
        if (this.#engine === opening) this.#engine = null;
        throw error;
      });
      return await work(engine);
    } finally {
      this.#users--;
      if (this.#users === 0) this.#timer = setTimeout(() => void this.#close(), IDLE_MS).unref();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#close();
  }

  async #close(): Promise<void> {
    const engine = this.#engine;
    this.#engine = null;
    await (await engine?.catch(() => null))?.[Symbol.asyncDispose]();
  }
}
