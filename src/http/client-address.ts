import type { IncomingMessage } from 'node:http';

/**
 * The client's address for rate limits: an IPv4 address, or the /64 of an IPv6 one (which belongs to a single subscriber).
 * Forwarding headers are ignored: anyone can send them.
 */
export function clientAddress(incoming: Pick<IncomingMessage, 'socket'>): string {
  const address = (incoming.socket.remoteAddress ?? 'unknown').replace(/^::ffff:(?=\d+\.)/i, '');
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('%', 1).join('').split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}

/** The URL at which this machine reaches a server that listens on an address: that of loopback for one that listens on all of them. */
export function localUrl({ host, port }: { host: string; port: number }): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Headers that a reverse proxy adds. */
const PROXY_HEADER = /^(forwarded|via|x-forwarded(-.*)?|x-real-ip|x-client-ip|cf-connecting-ip|true-client-ip)$/;
/** Loopback names; a name used for DNS rebinding is none of these. */
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/** Whether the request comes from this machine, with a loopback Host, and not through a proxy. */
export function isLoopback(incoming: Pick<IncomingMessage, 'socket' | 'headers'>): boolean {
  if (Object.keys(incoming.headers).some((name) => PROXY_HEADER.test(name))) return false;
  if (!LOOPBACK_HOST.test(incoming.headers.host ?? '')) return false;
  const address = incoming.socket.remoteAddress ?? '';
  return address === '::1' || /^(::ffff:)?127\./i.test(address);
}
