import { until } from './trial-result.js';

/** Where a server is, and the key that a client has. */
export interface Door {
  url: string;
  key: string;
}

export const SECRET = 'a webhook secret of this trial';
/** Fields of a capture of ordinary size that is made anew. */
export const VIEW = { viewport: { width: 800, height: 600, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 0 };
/** Fields of a capture that costs little, and is made anew. */
export const SMALL = { viewport: { width: 320, height: 240, deviceScaleFactor: 1 }, format: 'png', cache_ttl: 0 };

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
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    ...(init.headers as Record<string, string>),
  };
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
  let { body } = await callApi(`${at.url}/v1/${path}`, at.key);
  await until(async () => {
    ({ body } = await callApi(`${at.url}/v1/${path}`, at.key));
    return body.data.result !== undefined;
  }, withinMs);
  return body.data;
}

export async function health(at: Door): Promise<ApiAnswer> {
  return await callApi(`${at.url}/v1/health`, at.key);
}

/** Polls until no job waits or runs. @returns false when that takes longer */
export function untilIdle(at: Door, withinMs?: number): Promise<boolean> {
  return until(async () => (await health(at)).body.data.queue.total_pending === 0, withinMs, 50);
}

export function noAnswer(error: Error): { status: number; ms: number; data: Record<string, unknown> } {
  return { status: 0, ms: 0, data: { code: 'no answer', message: error.message } };
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
