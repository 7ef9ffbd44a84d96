import type { LookupFunction, Socket } from 'node:net';
import { connect as connectTcp } from 'node:net';

/** Longer than any normal handshake, shorter than a capture's default `timeout`, so that the failure is reported as such. */
export const CONNECT_TIMEOUT_MS = 10_000;

const NET_ERRORS: Record<string, string> = {
  ECONNREFUSED: 'ERR_CONNECTION_REFUSED',
  ECONNRESET: 'ERR_CONNECTION_RESET',
  ECONNABORTED: 'ERR_CONNECTION_ABORTED',
  EPIPE: 'ERR_CONNECTION_CLOSED',
  ETIMEDOUT: 'ERR_CONNECTION_TIMED_OUT',
  EHOSTUNREACH: 'ERR_ADDRESS_UNREACHABLE',
  ENETUNREACH: 'ERR_ADDRESS_UNREACHABLE',
  EADDRNOTAVAIL: 'ERR_ADDRESS_UNREACHABLE',
  ENETDOWN: 'ERR_INTERNET_DISCONNECTED',
  EACCES: 'ERR_NETWORK_ACCESS_DENIED',
  EPERM: 'ERR_NETWORK_ACCESS_DENIED',
  ENOTFOUND: 'ERR_NAME_NOT_RESOLVED',
  EMPTY_RESPONSE: 'ERR_EMPTY_RESPONSE',
  HPE_HEADER_OVERFLOW: 'ERR_RESPONSE_HEADERS_TOO_BIG',
  PROXY_REFUSED: 'ERR_TUNNEL_CONNECTION_FAILED',
  TUNNEL_REFUSED: 'ERR_TUNNEL_CONNECTION_FAILED',
};

/** An allowed destination that could not be reached. `code` is Node's or the system's, such as `ECONNREFUSED`. */
export class DialFailure extends Error {
  override readonly name = 'DialFailure';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Opens a TCP connection to one of these addresses (tries both families, RFC 8305), and to no other.
 *
 * @param addresses checked, at least one
 * @throws DialFailure
 */
export function dial(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket> {
  const [first] = addresses;
  if (first === undefined) return Promise.reject(new DialFailure('ENOTFOUND', 'no address to connect to'));
  return new Promise((resolve, reject) => {
    const socket = connectTcp({
      // With one address there is no look-up; with several, the name is a placeholder for the pinned answer.
      host: addresses.length === 1 ? first : 'pinned.invalid',
      port,
      lookup: pinnedLookup(addresses),
      autoSelectFamily: true,
      noDelay: true,
    });
    const timer = setTimeout(
      () => fail(new DialFailure('ETIMEDOUT', 'the connection took too long')),
      CONNECT_TIMEOUT_MS,
    );
    const abandon = () => fail(new DialFailure('ECONNABORTED', 'the connection is no longer needed'));
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abandon);
      socket.removeListener('error', onError);
    };
    const fail = (failure: DialFailure) => {
      settle();
      socket.on('error', () => undefined);
      socket.destroy();
      reject(failure);
    };
    const onError = (error: Error) => fail(new DialFailure(codeOf(error), error.message));
    signal.addEventListener('abort', abandon, { once: true });
    socket.once('error', onError);
    socket.once('connect', () => {
      settle();
      resolve(socket);
    });
    if (signal.aborted) abandon();
  });
}

/** Node's code of a transport error; after several attempts, that of the last. */
export function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: unknown[] };
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors.at(-1));
  return typeof code === 'string' ? code : 'UNKNOWN';
}

function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return (_name, options, callback) => {
    const [first] = all;
    if (options.all || first === undefined) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

/** Chromium's name of one of Node's transport errors, for `details.net_error`. */
export function chromiumNetError(code: string): string {
  if (code.startsWith('HPE_') && NET_ERRORS[code] === undefined) return 'ERR_INVALID_HTTP_RESPONSE';
  return NET_ERRORS[code] ?? 'ERR_FAILED';
}
