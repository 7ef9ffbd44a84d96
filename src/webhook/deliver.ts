/**
 * Sends the result of a finished job to its webhook, one attempt at a time, by the delivery rules of interface.md. Uses the store and
 * egress; must not know how a job is rendered, who may read it, or when the next attempt is claimed.
 */

import { createHmac } from 'node:crypto';
import { toBatchPayload } from '../contract/batch.js';
import { notPublic } from '../contract/capture-error.js';
import { toWebhookPayload } from '../contract/delivery.js';
import type { PublicPlaces } from '../contract/job.js';
import { webhookUrlProblem } from '../contract/read-url.js';
import { type Egress, EgressRefused, type PublicResponse, type Requester } from '../egress/egress.js';
import type { Log } from '../log.js';
import type { AttemptOutcome, DeliveryStore, DueDelivery } from '../store/store.js';
import type { Traces } from '../tracing/traces.js';

/** Name of the webhook signature header (interface.md, Events). */
export const SIGNATURE_HEADER = 'x-service-signature';

/** Number of concurrent attempts; large, since they mostly wait. */
export const DELIVERIES_AT_ONCE = 128;
/** Concurrent attempts of an account to one origin, so that a slow receiver delays only itself. */
export const DELIVERIES_PER_RECEIVER = 4;
/** Added to the attempt's time limit, for recording its outcome. */
const LEASE_MARGIN_MS = 5_000;

/** The longest delay that a receiver may ask for (decisions.md, Webhooks). */
const LONGEST_RETRY_AFTER_MS = 60 * 60_000;

export interface DeliverDeps {
  store: Pick<DeliveryStore, 'recordAttempt'>;
  egress: Pick<Egress, 'fetch'>;
  places: PublicPlaces;
  /** Value of STILLFRAME_WEBHOOK_ALLOW. */
  allowedOrigins: readonly string[];
  /** Delays in ms after the first, second, … attempt; the last one repeats. */
  backoffMs: readonly number[];
  /** Time limit of one attempt in ms. */
  timeoutMs: number;
  /** The program's version, for `user-agent`. */
  version: string;
  now(): number;
  /** The clock of signatures, which receivers compare with theirs. Default: `now`. */
  wallNow?(): number;
  /** Returns a number n with 0 ≤ n < 1. */
  random(): number;
  /** Absent or null if captures are not traced. */
  traces?: Pick<Traces, 'delivery'> | null;
  log: Log;
}

/** Number of bytes that are read of a response (decisions.md, Webhooks). */
export const ANSWER_LIMIT_BYTES = 64 * 1024;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Jitter of ±20 %, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;

export interface ClaimDeliveryDeps extends Pick<DeliverDeps, 'timeoutMs' | 'now'> {
  store: Pick<DeliveryStore, 'claimNextDelivery'>;
}

/**
 * Claims the delivery that is most overdue, leased for as long as an attempt can take.
 * @returns none if none is due
 */
export async function claimDeliveries({ store, timeoutMs, now }: ClaimDeliveryDeps): Promise<DueDelivery[]> {
  const due = await store.claimNextDelivery({
    now: now(),
    leaseMs: timeoutMs + LEASE_MARGIN_MS,
    perReceiver: DELIVERIES_PER_RECEIVER,
    atOnce: DELIVERIES_AT_ONCE,
  });
  return due === null ? [] : [due];
}

/**
 * Makes one attempt and records its outcome. An attempt that `signal` aborts is not recorded: its lease expires, and it is made again (at
 * least once, interface.md, Delivery rules 4). Rejects only if the store does.
 */
export async function deliver(deps: DeliverDeps, due: DueDelivery, signal: AbortSignal): Promise<void> {
  const trace = deps.traces?.delivery(due) ?? null;
  const outcome = await attempt(deps, due, { signal, traceparent: trace?.traceparent ?? null });
  trace?.end({ outcome: outcome?.kind ?? 'aborted', status: outcome?.status ?? null });
  if (outcome === null) return;
  const recorded = await deps.store.recordAttempt(due, outcome, deps.now());
  const facts = { delivery_id: due.deliveryId, generation: due.generation, job_id: due.jobId, attempt: due.attempt };
  if (recorded) deps.log.info({ ...facts, ...outcome, receiver: new URL(due.url).origin }, 'webhook');
  else
    deps.log.warn({ ...facts, outcome: outcome.kind }, 'webhook attempt not recorded: another attempt superseded it');
}

interface Sending {
  signal: AbortSignal;
  /** The `traceparent` for the receiver. */
  traceparent: string | null;
}

async function attempt(
  deps: DeliverDeps,
  due: DueDelivery,
  { signal, traceparent }: Sending,
): Promise<AttemptOutcome | null> {
  const { ended } = due;
  const body = JSON.stringify(
    ended.kind === 'job'
      ? toWebhookPayload(ended.job, due, deps.places)
      : toBatchPayload(ended.batch, { ...due, event: ended.event }),
  );
  const headers = {
    ...(traceparent === null ? {} : { traceparent }),
    [SIGNATURE_HEADER]: sign(due.secret, body, (deps.wallNow ?? deps.now)()),
  };
  const { url, attempt: nth, maxAttempts, deliveryId, jobId } = due;
  const { accountId: account } = ended.kind === 'job' ? ended.job : ended.batch;
  const requester = { job_id: jobId, account };
  return await attemptPost(deps, { url, body, headers, attempt: nth, maxAttempts, deliveryId, requester }, signal);
}

/** JSON for a receiver, and which attempt it is. */
export interface Post extends Pick<DueDelivery, 'url' | 'attempt' | 'maxAttempts' | 'deliveryId'> {
  body: string;
  headers: Record<string, string>;
  requester: Requester;
}

export type PostDeps = Pick<
  DeliverDeps,
  'egress' | 'allowedOrigins' | 'backoffMs' | 'timeoutMs' | 'version' | 'now' | 'random' | 'log'
>;

/** Makes one attempt. @returns its outcome by the rules of interface.md, Webhook delivery states; null if `signal` aborted it */
export async function attemptPost(deps: PostDeps, post: Post, signal: AbortSignal): Promise<AttemptOutcome | null> {
  // The operator may have removed an allowed origin since the submission.
  const problem = webhookUrlProblem(post.url, deps.allowedOrigins);
  if (problem !== null) return { kind: 'failed', status: null, error: `The webhook's address ${problem}.` };
  try {
    const response = await deps.egress.fetch({
      url: post.url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        // The body is ignored, so it need not be compressed.
        'accept-encoding': 'identity',
        'user-agent': `stillframe/${deps.version}`,
        ...post.headers,
      },
      body: post.body,
      timeoutMs: deps.timeoutMs,
      maxBytes: ANSWER_LIMIT_BYTES,
      via: null,
      allowedOrigins: deps.allowedOrigins,
      signal,
      requester: post.requester,
    });
    return outcomeOf(deps, post, response);
  } catch (error) {
    if (signal.aborted) return null;
    deps.log.warn({ err: error, delivery_id: post.deliveryId, ...post.requester }, 'webhook delivery attempt failed');
    return retryOrFail(deps, post, { status: null, error: transportProblem(error, post.url), waitMs: 0 });
  }
}

function outcomeOf(deps: PostDeps, post: Post, response: PublicResponse): AttemptOutcome {
  const { status } = response;
  if (status >= 200 && status <= 299) return { kind: 'delivered', status };
  const error = answerProblem(status);
  if (isWorthRetrying(status)) {
    return retryOrFail(deps, post, {
      status,
      error,
      waitMs: retryAfterMs(response.headers.get('retry-after'), deps.now()),
    });
  }
  return { kind: 'failed', status, error };
}

/** Returns whether a receiver that answers with this status may accept a later attempt. */
export function isWorthRetrying(status: number): boolean {
  return status === 429 || (status >= 500 && status <= 599);
}

/** Returns the public message for a response that is no success. */
export function answerProblem(status: number): string {
  return `The receiver answered ${status}.${REDIRECTS.has(status) ? ' Redirects are not followed.' : ''}`;
}

interface FailedAttempt {
  status: number | null;
  error: string;
  /** Delay in ms that the receiver asked for; 0 if none. */
  waitMs: number;
}

/** Decides what follows an attempt that may succeed later. */
export function retryOrFail(
  deps: Pick<DeliverDeps, 'backoffMs' | 'now' | 'random'>,
  due: Pick<DueDelivery, 'attempt' | 'maxAttempts'>,
  failure: FailedAttempt,
): AttemptOutcome {
  const { status, error } = failure;
  if (due.attempt >= due.maxAttempts) return { kind: 'failed', status, error };
  const base = deps.backoffMs[Math.min(due.attempt, deps.backoffMs.length) - 1] ?? 0;
  const backoff = Math.round(base * (1 - JITTER + 2 * JITTER * deps.random()));
  // A receiver may ask for a longer delay, never a shorter one: the few attempts must outlast a restart of the receiver.
  return { kind: 'retry', status, error, nextAttemptAt: deps.now() + Math.max(backoff, failure.waitMs) };
}

/**
 * Parses a `Retry-After` value: whole seconds or an HTTP date.
 *
 * @param now Unix ms
 * @returns ms to wait, at most an hour; 0 for none, a past date, or an invalid value
 */
export function retryAfterMs(value: string | null, now: number): number {
  const text = value?.trim() ?? '';
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : httpDate(text) - now;
  return Number.isNaN(wait) ? 0 : Math.min(Math.max(wait, 0), LONGEST_RETRY_AFTER_MS);
}

/** Parses an HTTP date (RFC 9110, 5.6.7): all three forms begin with the weekday. Date.parse alone accepts nearly any text. */
function httpDate(text: string): number {
  if (/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, .+ GMT$/.test(text)) return Date.parse(text);
  // The asctime form has no time zone; it is UTC.
  return /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text)
    ? Date.parse(`${text} GMT`)
    : Number.NaN;
}

/**
 * Computes the header's value, `t=<unix_seconds>,v1=<hex>`: HMAC-SHA256 of the timestamp, a period and the exact body, keyed with the
 * secret.
 * @param now Unix ms
 */
export function sign(secret: string, rawBody: string, now: number): string {
  const timestamp = Math.floor(now / 1000);
  const digest = createHmac('sha256', secret).update(`${timestamp}.${rawBody}`).digest('hex');
  return `t=${timestamp},v1=${digest}`;
}

const UNRESOLVED = /^(?:ENOTFOUND|EAI_|ENODATA|ESERVFAIL|EREFUSED|ENONAME)/;

/** Public messages by the error codes of sockets, TLS and the HTTP client. */
const PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/TIMEOUT|TIMEDOUT|TimeoutError|AbortError/, 'The receiver did not answer in time.'],
  [/^ECONNREFUSED$/, 'The receiver refused the connection.'],
  [/CERT|SIGNATURE|ISSUER|TLS|SSL|^EPROTO$/, 'The TLS connection to the receiver failed.'],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'The receiver closed the connection before it answered.'],
  [/^(?:UND_ERR_HEADERS|HPE_HEADER)_OVERFLOW$/, "The headers of the receiver's response are too large."],
  [/^(?:HPE_|HTTPParserError|UND_ERR_RES)/, "The receiver's response was not valid HTTP."],
];

/**
 * Returns the public message for an attempt to reach `url` without a response, from a fixed set. A refused address and a missing name get the same
 * message, so that callers cannot map the network (decisions.md, Destinations); the log has the details.
 */
export function transportProblem(error: unknown, url: string): string {
  if (error instanceof EgressRefused) return notPublic(new URL(url).hostname);
  // The innermost cause says most. An AggregateError (several addresses) counts as its first error.
  const codes: string[] = [];
  for (let at: unknown = error; at instanceof Error && codes.length < 8; ) {
    const { code } = at as NodeJS.ErrnoException;
    codes.unshift(typeof code === 'string' ? code : at.name);
    at = at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined);
  }
  if (codes.some((code) => UNRESOLVED.test(code))) return notPublic(new URL(url).hostname);
  const [problem] = codes.flatMap((code) => PROBLEMS.find(([pattern]) => pattern.test(code))?.[1] ?? []);
  return problem ?? 'The connection to the receiver failed.';
}
