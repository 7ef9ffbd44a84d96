import { isIPv4, isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import ipaddr from 'ipaddr.js';
import { DialFailure } from './dial.js';
import { Nonsense, readUntil } from './read-until.js';

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
  if (isIPv4(host)) return Buffer.from([1, ...ipaddr.parse(host).toByteArray()]);
  if (isIPv6(host)) return Buffer.from([4, ...ipaddr.parse(host).toByteArray()]);
  return Buffer.concat([Buffer.from([3]), textField(host)]);
}

function textField(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length > FIELD_MAX_BYTES) throw new Nonsense('a SOCKS 5 field holds at most 255 bytes');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function portField(port: number): Buffer {
  return Buffer.from([port >> 8, port & 0xff]);
}
