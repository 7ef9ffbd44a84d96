import type { ApiAnswer } from './call-api.js';
import { callApi, postCapture } from './call-api.js';

/** Where the server is now, and what happens when it goes away. */
export interface Whereabouts {
  url: string;
  key: string;
  /** Resolves when a server takes requests again. */
  up(): Promise<void>;
}

/** What was promised under one idempotency key. */
export interface Promised {
  idempotencyKey: string;
  body: Record<string, unknown>;
  jobId: string | null;
  /** Of an answer 200. */
  picture: string | null;
}

/** Less patience than `Retry-After` asks for: it comes again while the server is still going down. */
const REFUSED_WAIT_MS = 50;

/**
 * A client that holds on to its idempotency key until it has an answer 200 or 202, or the failure of its job, whatever becomes of the
 * server meanwhile; then it takes the next.
 */
export class RetryingClient {
  readonly #promised: Map<string, Promised>;
  readonly #problem: (what: string) => void;

  constructor(promised: Map<string, Promised>, problem: (what: string) => void) {
    this.#promised = promised;
    this.#problem = problem;
  }

  /** One logical submission, to the end of its job. Gives up when the signal aborts. */
  async submit(at: Whereabouts, order: { idempotencyKey: string; body: Record<string, unknown> }, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const answer = await this.#try(() => postCapture(at, order.body, { idempotencyKey: order.idempotencyKey }));
      if (answer === null) await at.up();
      else if (this.#note(order, answer)) return await this.#follow(at, order.idempotencyKey, signal);
      else await new Promise((resolve) => setTimeout(resolve, REFUSED_WAIT_MS));
    }
  }

  /** @returns whether the job is known to exist */
  #note(order: { idempotencyKey: string; body: Record<string, unknown> }, { status, body }: ApiAnswer): boolean {
    const jobId = status === 202 ? body.data.job_id : (body?.error?.details?.job_id ?? null);
    if (status !== 200 && jobId === null) {
      if (status !== 503) this.#problem(`${order.idempotencyKey}: answered ${status} ${JSON.stringify(body)}`);
      return false;
    }
    const known = this.#promised.get(order.idempotencyKey);
    if (known !== undefined && jobId !== null && known.jobId !== null && known.jobId !== jobId)
      this.#problem(`${order.idempotencyKey}: two jobs`);
    this.#promised.set(order.idempotencyKey, { ...order, jobId, picture: status === 200 ? new URL(body.data.cdn_url).pathname : null });
    return true;
  }

  /** Until the job has ended, so that the load is bounded. */
  async #follow(at: Whereabouts, idempotencyKey: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const answer = await this.#try(() => callApi(`${at.url}/v1/requests/${idempotencyKey}`, at.key));
      if (answer === null) await at.up();
      else if (answer.status !== 200) this.#problem(`${idempotencyKey}: the look-up answered ${answer.status}`);
      else if (answer.body.data.result !== undefined) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #try(call: () => Promise<ApiAnswer>): Promise<ApiAnswer | null> {
    try {
      return await call();
    } catch {
      return null;
    }
  }
}
