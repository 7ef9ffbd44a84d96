import { setTimeout as pause } from 'node:timers/promises';

/** Where a server is, and the key that a client has. */
export interface Door {
  url: string;
  key: string;
}

/** Fields of a capture that costs little, and is made anew. */
export const SMALL = { viewport: { width: 320, height: 240, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 0 };
const POLL_MS = 50;

/** An answer of the public API, as a client sees it. */
export interface ApiAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a client's view of JSON
  body: any;
  /** From the request to the whole answer. */
  ms: number;
}

/** One request with a key. @throws TypeError when no answer comes */
export async function callApi(url: string, key: string, init: RequestInit = {}): Promise<ApiAnswer> {
  const from = performance.now();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...(init.headers as Record<string, string>) };
  const response = await fetch(url, { ...init, headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: asJson(text), ms: performance.now() - from };
}

/** POST /v1/screenshot. @param query with its question mark */
export function postCapture(
  server: Door,
  body: unknown,
  { query = '', idempotencyKey }: { query?: string; idempotencyKey?: string } = {},
): Promise<ApiAnswer> {
  return callApi(`${server.url}/v1/screenshot${query}`, server.key, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
  });
}

/** Submits a job without waiting for it. @returns its id */
export async function submit(at: Door, body: Record<string, unknown>): Promise<string> {
  const answer = await postCapture(at, body, { query: '?mode=async' });
  return String(answer.body.data.job_id);
}

/** Polls until a job has ended, or for so long. @param path `jobs/<id>` or `requests/<key>` @returns what was told of it last */
export async function untilEnded(at: Door, path: string, withinMs = Number.POSITIVE_INFINITY) {
  for (const until = performance.now() + withinMs; ; await pause(POLL_MS)) {
    const { body } = await callApi(`${at.url}/v1/${path}`, at.key);
    if (body.data.result !== undefined || performance.now() > until) return body.data;
  }
}

/** Polls until no job waits or runs. @returns false when that takes longer */
export async function untilIdle(at: Door, withinMs = Number.POSITIVE_INFINITY): Promise<boolean> {
  for (const until = performance.now() + withinMs; performance.now() < until; await pause(POLL_MS)) {
    const { body } = await callApi(`${at.url}/v1/health`, at.key);
    if (body.data.queue.total_pending === 0) return true;
  }
  return false;
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
