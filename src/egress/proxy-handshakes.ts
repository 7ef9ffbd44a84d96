/** Asks a caller's proxy for a tunnel, by CONNECT or by SOCKS 5. */
import { isIP, isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import ipaddr from 'ipaddr.js';
import { DialFailure } from './dial.js';

/** The peer sent nothing, or an incomplete message, in time. */
export class Silence extends Error {
  override readonly name = 'Silence';
}

/** The peer violated the protocol, or closed the connection in the middle of a message. */
export class Nonsense extends Error {
  override readonly name = 'Nonsense';
  /** Whether it closed the connection before it sent anything. */
  readonly hungUp: boolean;
  constructor(message: string, hungUp = false) {
    super(message);
    this.hungUp = hungUp;
  }
}

/** The proxy works, but refuses this destination. The message is for the log; it contains no credentials. */
export class ProxyRefusal extends Error {
  override readonly name = 'ProxyRefusal';
}

/** Responses to CONNECT with which a proxy refuses a destination (decisions.md, Added); Squid returns 403 for any port but 443. */
const REFUSALS = new Set([400, 403, 404, 405, 500, 501, 502]);
const LIMIT_BYTES = 16 * 1024;

export interface Credentials {
  username: string;
  password: string;
}

const VERSION = 5;
const CONNECT = 1;
const NO_AUTH = 0;
const BY_PASSWORD = 2;
const FIELD_MAX_BYTES = 255;
/** RFC 1928, 6: replies about the destination, as opposed to the proxy itself. */
const DESTINATION_REPLIES: Record<number, string> = {
  1: 'TUNNEL_REFUSED',
  2: 'TUNNEL_REFUSED',
  3: 'ENETUNREACH',
  4: 'EHOSTUNREACH',
  5: 'ECONNREFUSED',
  6: 'ETIMEDOUT',
};

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
  if (status === 429 || status >= 500)
    throw new DialFailure('TUNNEL_REFUSED', `the caller's proxy answered CONNECT with ${status}`);
  throw new Nonsense(status === 0 ? 'it does not speak HTTP' : `it answered CONNECT with ${status}`);
}

function headLength(received: Buffer): number {
  const start = received.subarray(0, 5).toString('latin1');
  if (!'HTTP/'.startsWith(start)) throw new Nonsense('it does not speak HTTP');
  const end = received.indexOf('\r\n\r\n');
  return end < 0 ? -1 : end + 4;
}

/**
 * Opens a SOCKS 5 tunnel (RFC 1928, 1929) over a new connection. The proxy resolves the name. The package `socks` names a reply in its
 * error's text only, and hands on what follows the reply as an event, which TLS over the connection misses.
 *
 * @throws DialFailure if the proxy could not reach the destination; Nonsense or Silence if the proxy itself is at fault
 */
export async function connectBySocks5(
  stream: Duplex,
  target: { host: string; port: number },
  rules: { credentials: Credentials | null; timeoutMs: number },
): Promise<void> {
  const { credentials, timeoutMs } = rules;
  stream.write(Buffer.from(credentials === null ? [VERSION, 1, NO_AUTH] : [VERSION, 2, NO_AUTH, BY_PASSWORD]));
  const choice = await readUntil(stream, (received) => versioned(received, VERSION, 2), timeoutMs);
  if (choice[1] === BY_PASSWORD && credentials !== null) await authenticate(stream, credentials, timeoutMs);
  else if (choice[1] !== NO_AUTH) throw new Nonsense('it requires credentials');
  stream.write(Buffer.concat([Buffer.from([VERSION, CONNECT, 0]), addressField(target.host), portField(target.port)]));
  const reply = await readUntil(stream, replyLength, timeoutMs);
  const code = reply[1] ?? -1;
  if (code === 0) return;
  const meaning = DESTINATION_REPLIES[code];
  if (meaning === undefined) throw new Nonsense(`it answered with reply ${code}`);
  throw new DialFailure(meaning, `the caller's proxy answered with reply ${code}`);
}

async function authenticate(stream: Duplex, credentials: Credentials, timeoutMs: number): Promise<void> {
  stream.write(Buffer.concat([Buffer.from([1]), textField(credentials.username), textField(credentials.password)]));
  const verdict = await readUntil(stream, (received) => versioned(received, 1, 2), timeoutMs);
  if (verdict[1] !== 0) throw new Nonsense('it refused the credentials');
}

function versioned(received: Buffer, version: number, length: number): number {
  if (received.length > 0 && received[0] !== version) throw new Nonsense('it does not speak SOCKS 5');
  return received.length >= length ? length : -1;
}

function replyLength(received: Buffer): number {
  if (versioned(received, VERSION, 5) < 0) return -1;
  // A refusal may lack the address that a success must have.
  if (received[1] !== 0) return received.length;
  const addressLength = { 1: 4, 3: 1 + (received[4] ?? 0), 4: 16 }[received[3] ?? 0];
  if (addressLength === undefined) throw new Nonsense('it answered with an address of an unknown type');
  const length = 4 + addressLength + 2;
  return received.length >= length ? length : -1;
}

function addressField(hostText: string): Buffer {
  const host = hostText.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0) return Buffer.concat([Buffer.from([3]), textField(host)]);
  return Buffer.from([isIPv6(host) ? 4 : 1, ...ipaddr.parse(host).toByteArray()]);
}

function textField(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length > FIELD_MAX_BYTES) throw new Nonsense('a SOCKS 5 field holds at most 255 bytes');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function portField(port: number): Buffer {
  return Buffer.from([port >> 8, port & 0xff]);
}

/**
 * Reads the first message of a peer, and leaves the rest in the stream for the next reader.
 *
 * @param complete returns the length of the message once it is complete, else -1; may throw Nonsense
 * @throws Silence, Nonsense
 */
export function readUntil(stream: Duplex, complete: (received: Buffer) => number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const settle = () => {
      clearTimeout(timer);
      stream.off('readable', take).off('end', onEnd).off('close', onEnd).off('error', onError);
    };
    const fail = (error: Error) => {
      settle();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Silence(`no complete answer within ${timeoutMs} ms`)), timeoutMs);
    const onEnd = () => fail(new Nonsense('hung up', received.length === 0));
    const onError = () => fail(new Nonsense('broke the connection', received.length === 0));
    const take = () => {
      for (let chunk: Buffer | null = stream.read(); chunk !== null; chunk = stream.read()) {
        received = Buffer.concat([received, chunk]);
      }
      try {
        const length = complete(received);
        if (length < 0 && received.length <= LIMIT_BYTES) return;
        if (length < 0) throw new Nonsense('the answer is too long');
        settle();
        if (received.length > length) stream.unshift(received.subarray(length));
        resolve(received.subarray(0, length));
      } catch (error) {
        fail(error as Error);
      }
    };
    stream.on('readable', take).on('end', onEnd).on('close', onEnd).on('error', onError);
    take();
  });
}
