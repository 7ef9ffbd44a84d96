/** Clients that submit and retry by idempotency key while their server comes and goes, and what was promised to them. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../../src/store/sqlite/driver.js';
import { html } from '../fixtures/site/answer.js';
import type { Site } from '../fixtures/site/site.js';
import { type ApiAnswer, callApi, type Door, health, postCapture, SMALL } from './call-api.js';
import { auditBooks, damageOf, type JobFacts, openCopy, readJobs } from './ledger.js';
import type { ServerProcess } from './server-process.js';
import { firstOf, until } from './trial-result.js';

const STUCK_AFTER_MS = 60_000;
/** Captures of a batch. */
export const BATCH_CAPTURES = 4;

export interface CrowdOptions {
  site: Site;
  /** Where half of the jobs are announced; null: none is. */
  hook: { url: string; secret: string } | null;
  clients: number;
  /** Whether the receiver has the ends of these batches. Default: not asked. */
  knowsEnds?(batches: ReadonlySet<string>): boolean;
  /** Whether they remove some of their jobs, and send batches. Default: no. */
  removes?: boolean;
  problem(what: string): void;
}

/** The pages that they have captured. @param ms that each takes to come */
export function servePages(site: Site, ms = 0): void {
  site.route(
    '/page',
    (_, response) => void setTimeout(() => html(response, '<!doctype html><title>Page</title><p>Here</p>'), ms),
  );
}

export class Crowd implements AsyncDisposable {
  readonly promised = new Map<string, Promised>();
  /** Ids of the batches that were accepted. */
  readonly batches = new Set<string>();
  readonly at: Door = { url: '', key: '' };
  readonly #lanes: Promise<void>[];
  #isUp = false;
  #isLeaving = false;

  constructor(private readonly options: CrowdOptions) {
    this.#lanes = firstOf(options.clients).map((lane) => this.#keepSubmitting(lane));
  }

  /** A server accepts requests. The first one reports the key. */
  up({ url, firstKey }: Awaited<ServerProcess['ready']>): void {
    this.at.url = url;
    this.at.key ||= firstKey ?? '';
    this.#isUp = true;
  }

  /** It does no more: who finds it gone waits for the next. */
  down(): void {
    this.#isUp = false;
  }

  /** Submits nothing more, and resolves when the last answers have come. Needs a server, or none any more. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await Promise.all(this.#lanes);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.leave();
  }

  /** Everything promised must be in the file, 200 as completed with its picture. @returns the problems */
  missingFrom(db: Db, promised: ReadonlyMap<string, Promised> = this.promised): string[] {
    const jobs = new Map(readJobs(db).map((job) => [job.idempotencyKey, job]));
    return [...promised.values()].flatMap(({ idempotencyKey, jobId, picture, removed }) => {
      const job = jobs.get(idempotencyKey);
      if (job === undefined || (jobId !== null && job.id !== jobId))
        return [`${idempotencyKey} was promised and is lost`];
      if (removed?.canceled === true && (job.state !== 'failed' || job.creditState !== 'released'))
        return [`${idempotencyKey} was canceled and is ${job.state}, its credits are ${job.creditState}`];
      const isKept = picture === null || picture.endsWith(job.artifact ?? '-');
      return isKept ? [] : [`${idempotencyKey} was answered 200 and is ${job.state}`];
    });
  }

  /** Until every job has ended, and every promised one that wants it is announced. @returns false when that takes too long */
  #untilIdle(withinMs: number): Promise<boolean> {
    const isIdle = async () => {
      const { queue, settlement, webhooks } = (await health(this.at)).body.data;
      const announced =
        [...this.promised.values()].filter(isAnnounced).length + (this.options.hook === null ? 0 : this.batches.size);
      return (
        queue.total_pending + settlement.pending === 0 &&
        webhooks.delivered + webhooks.failed >= announced &&
        // Deliveries of jobs that were removed later are counted, too.
        (this.options.knowsEnds?.(this.batches) ?? true)
      );
    };
    return until(isIdle, withinMs, 50);
  }

  /** Always the same once it is known, so that clients find the next server. */
  get port(): number {
    return Number(new URL(this.at.url || 'http://127.0.0.1:0').port);
  }

  /** Leaves the last server, on which everything must come to its end, and stops it. @returns all jobs, and how long that took */
  async end(server: ServerProcess, dataDir: string): Promise<{ jobs: JobFacts[]; idleMs: number }> {
    const { problem } = this.options;
    const startedAt = performance.now();
    await this.leave();
    if (!(await this.#untilIdle(STUCK_AFTER_MS)))
      problem(`jobs or deliveries are stuck ${STUCK_AFTER_MS / 1000} s after the last start`);
    const idleMs = Math.round(performance.now() - startedAt);
    const lost = await this.lookUpAll();
    await server.end('SIGTERM');
    using copy = openCopy(dataDir);
    const jobs = readJobs(copy.db);
    for (const found of [...lost, ...damageOf(copy.db), ...auditBooks(copy.db, dataDir), ...unexplainedFailures(jobs)])
      problem(found);
    return { jobs, idleMs };
  }

  /** As a client: each key names its one ended job, and each picture of a 200 downloads. @returns the problems */
  async lookUpAll(): Promise<string[]> {
    const problems: string[] = [];
    for (const { idempotencyKey, jobId, picture, removed } of this.promised.values()) {
      const { status, body } = await callApi(`${this.at.url}/v1/requests/${idempotencyKey}`, this.at.key);
      if (removed !== undefined) {
        if (status !== 404) problems.push(`${idempotencyKey}: was removed, and its look-up answered ${status}`);
        continue;
      }
      if (status !== 200 || body.data.result === undefined)
        problems.push(`${idempotencyKey}: looked up ${status} ${body?.data?.state}`);
      else if (jobId !== null && body.data.id !== jobId) problems.push(`${idempotencyKey}: is another job now`);
      if (picture === null) continue;
      const { byteLength } = await (await fetch(this.at.url + picture)).arrayBuffer();
      if (byteLength !== body.data.result?.data?.bytes)
        problems.push(`${idempotencyKey}: its picture has ${byteLength} bytes`);
    }
    return problems;
  }

  /** Holds on to each idempotency key until it has an answer 200 or 202, or the failure of its job; then it takes the next. */
  async #keepSubmitting(lane: number): Promise<void> {
    await this.#untilUp();
    for (let nth = 0; !this.#isLeaving; nth++) {
      const [idempotencyKey, body] = [`lane-${lane}-${nth}`, this.#order(lane, nth)];
      const submit = () => postCapture(this.at, body, { idempotencyKey });
      await this.#insist(submit, (answer) => this.#note({ idempotencyKey, body }, answer));
      const { removes = false } = this.options;
      if (removes && lane % 2 === 1 && (lane + nth) % 3 === 0) {
        await this.#remove(idempotencyKey);
        continue;
      }
      if (removes && (lane + nth) % 5 === 2) await this.#capture(`batch-${lane}-${nth}`);
      const lookUp = () => callApi(`${this.at.url}/v1/requests/${idempotencyKey}`, this.at.key);
      await this.#insist(lookUp, ({ status, body }) => {
        if (status !== 200) this.options.problem(`${idempotencyKey}: the look-up answered ${status}`);
        return status === 200 && body.data.result !== undefined;
      });
    }
  }

  /** Cancels a job, or deletes one that has ended. An answer that is lost leaves open which of the two it was. */
  async #remove(idempotencyKey: string): Promise<void> {
    const promised = this.promised.get(idempotencyKey);
    if (promised === undefined || promised.jobId === null) return;
    let tries = 0;
    const call = () => {
      tries++;
      return callApi(`${this.at.url}/v1/jobs/${promised.jobId}`, this.at.key, { method: 'DELETE' });
    };
    await this.#insist(call, ({ status, body }) => {
      const isRepeated = status === 404 && tries > 1;
      if (status === 200 || isRepeated) promised.removed = { canceled: isRepeated ? null : body.data.canceled };
      else if (status !== 503) this.options.problem(`${idempotencyKey}: its removal answered ${status}`);
      return promised.removed !== undefined;
    });
  }

  /** Submits a batch, and follows it to its end. */
  async #capture(idempotencyKey: string): Promise<void> {
    const { site, hook, problem } = this.options;
    const requests = firstOf(BATCH_CAPTURES).map((at) => ({
      ...SMALL,
      url: site.url(`/page?${idempotencyKey}=${at}`),
      cache_ttl: 0,
    }));
    const body = JSON.stringify({ requests, ...(hook === null ? {} : { webhook: hook }) });
    const headers = { 'idempotency-key': idempotencyKey };
    const submit = () => callApi(`${this.at.url}/v1/batches`, this.at.key, { method: 'POST', body, headers });
    let id = '';
    await this.#insist(submit, ({ status, body }) => {
      if (status !== 202 && status !== 200) return false;
      id = body.data.id;
      this.batches.add(id);
      return true;
    });
    if (id === '') return;
    await this.#insist(
      () => callApi(`${this.at.url}/v1/batches/${id}`, this.at.key),
      ({ status, body }) => {
        if (status !== 200) problem(`${id}: the look-up answered ${status}`);
        return status === 200 && body.data.state === 'completed';
      },
    );
  }

  /** Again and again, whatever becomes of the server, until it is done; gives up when the crowd leaves. */
  async #insist(call: () => Promise<ApiAnswer>, isDone: (answer: ApiAnswer) => boolean): Promise<void> {
    while (!this.#isLeaving) {
      const answer = await call().catch(() => null);
      if (answer === null) await this.#untilUp();
      else if (isDone(answer)) return;
      // Less patience than `Retry-After` asks for: it comes again while the server is still going down.
      await pause(50);
    }
  }

  #untilUp(): Promise<boolean> {
    return until(() => this.#isUp || this.#isLeaving);
  }

  #note(order: { idempotencyKey: string; body: Record<string, unknown> }, { status, body }: ApiAnswer): boolean {
    const jobId = status === 202 ? body.data.job_id : (body?.error?.details?.job_id ?? null);
    if (status !== 200 && jobId === null) {
      if (status !== 503) this.options.problem(`${order.idempotencyKey}: answered ${status} ${JSON.stringify(body)}`);
      return false;
    }
    const known = this.promised.get(order.idempotencyKey)?.jobId ?? jobId;
    if (jobId !== null && known !== jobId) this.options.problem(`${order.idempotencyKey}: two jobs`);
    this.promised.set(order.idempotencyKey, {
      ...order,
      jobId,
      picture: status === 200 ? new URL(body.data.cdn_url).pathname : null,
    });
    return true;
  }

  /** Some share a render, some come from what was kept, most are new; half are sync; half are announced. */
  #order(lane: number, nth: number): Record<string, unknown> {
    const { site, hook } = this.options;
    const shares = nth % 4 === 3;
    return {
      ...SMALL,
      url: site.url(`/page?${shares ? `shared=${nth}` : `lane=${lane}&nth=${nth}`}`),
      format: lane % 2 === 0 ? 'png' : 'webp',
      sync: lane % 2 === 0,
      cache_ttl: shares ? 3_600 : 0,
      ...(hook !== null && nth % 2 === 0 ? { webhook: hook } : {}),
    };
  }
}

/** Whether a webhook must come for it. */
export function isAnnounced({ body, removed }: Promised): boolean {
  return body.webhook !== undefined && (removed === undefined || removed.canceled === true);
}

interface Promised {
  idempotencyKey: string;
  body: Record<string, unknown>;
  jobId: string | null;
  picture: string | null;
  /** Once it was removed; null: it is not known whether it had ended. */
  removed?: { canceled: boolean | null };
}

/** The only failure that kills explain is the one of a render that was under way twice, its followers' included. @returns the problems */
function unexplainedFailures(jobs: readonly JobFacts[]): string[] {
  return jobs.flatMap(({ idempotencyKey, state, error, attempts, removedAt }) => {
    if (state !== 'failed' || removedAt !== null) return [];
    const { code } = JSON.parse(error ?? '{}') as { code?: string };
    return code === 'render_crashed' && (attempts === 2 || attempts === 0)
      ? []
      : [`${idempotencyKey}: failed ${code} after ${attempts} attempts`];
  });
}
