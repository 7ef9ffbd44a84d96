import { Agent, request } from 'undici';
import type { Egress, PublicFetch, PublicResponse } from '../../src/egress/egress.js';

/** The simplest fetch that fulfils the contract of egress/egress.ts, for tests of how its responses are handled. */
export function loopbackEgress(): Pick<Egress, 'fetch'> & AsyncDisposable {
  const agent = new Agent();
  return {
    fetch: (order) => fetchOnce(agent, order),
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

async function fetchOnce(agent: Agent, order: PublicFetch): Promise<PublicResponse> {
  const limit = AbortSignal.timeout(order.timeoutMs);
  const signal = order.signal === null ? limit : AbortSignal.any([limit, order.signal]);
  const { url, method, headers, body } = order;
  const response = await request(url, { dispatcher: agent, method, headers, body, signal });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    // Leaving the loop destroys the body, and the connection with it.
    if (size > order.maxBytes) break;
  }
  return {
    status: response.statusCode,
    headers: new Headers(
      Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
    ),
    body: Buffer.concat(chunks).subarray(0, order.maxBytes),
    truncated: size > order.maxBytes,
  };
}
