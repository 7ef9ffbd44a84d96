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
  server: { url: string; key: string },
  body: unknown,
  { query = '', idempotencyKey }: { query?: string; idempotencyKey?: string } = {},
): Promise<ApiAnswer> {
  return callApi(`${server.url}/v1/screenshot${query}`, server.key, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
  });
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
