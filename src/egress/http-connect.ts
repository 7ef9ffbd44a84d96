import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { DialFailure } from './dial.js';
import { Nonsense, readUntil } from './read-until.js';

/** The proxy works, but refuses this destination. The message is for the log; it contains no credentials. */
export class ProxyRefusal extends Error {
  override readonly name = 'ProxyRefusal';
}

/** Responses to CONNECT with which a proxy refuses a destination (decisions.md, Added); Squid returns 403 for any port but 443. */
const REFUSALS = new Set([400, 403, 404, 405, 500, 501, 502]);

/**
 * Requests a tunnel from an HTTP proxy (RFC 9110, 9.3.6) over a new connection. The proxy resolves the name.
 *
 * @param rules.authorization value of Proxy-Authorization, or null
 * @throws ProxyRefusal; DialFailure if the proxy could not reach the destination; Nonsense or Silence if the proxy is at fault
 */
export async function connectByHttp(
  stream: Duplex,
  target: { host: string; port: number },
  rules: { authorization: string | null; timeoutMs: number },
): Promise<void> {
  const authority = `${isIPv6(target.host) ? `[${target.host}]` : target.host}:${target.port}`;
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`];
  if (rules.authorization !== null) lines.push(`Proxy-Authorization: ${rules.authorization}`);
  stream.write(`${lines.join('\r\n')}\r\n\r\n`);
  const head = (await readUntil(stream, headLength, rules.timeoutMs)).toString('latin1');
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0);
  if (status >= 200 && status < 300) return;
  if (status === 407) throw new Nonsense('it rejected the credentials (407)');
  if (REFUSALS.has(status)) throw new ProxyRefusal(`it answered CONNECT with ${status}`);
  if (status === 429 || status >= 500) throw new DialFailure('TUNNEL_REFUSED', `the caller's proxy answered CONNECT with ${status}`);
  throw new Nonsense(status === 0 ? 'it does not speak HTTP' : `it answered CONNECT with ${status}`);
}

function headLength(received: Buffer): number {
  const start = received.subarray(0, 5).toString('latin1');
  if (!'HTTP/'.startsWith(start)) throw new Nonsense('it does not speak HTTP');
  const end = received.indexOf('\r\n\r\n');
  return end < 0 ? -1 : end + 4;
}
