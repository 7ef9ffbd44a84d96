import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';

export type PlainSite = Awaited<ReturnType<typeof startPlainSite>>;

export interface PlainSiteOptions {
  /** 127.0.0.2 is the one that tests allow; the others are canaries. */
  address?: string;
  port?: number;
  secure?: boolean;
  answer?: (request: IncomingMessage, response: ServerResponse) => void;
}

/** How often another port is tried when one is in use at one of the addresses. */
const PORTS_TRIED = 20;

/** Web sites at the same port of several addresses, in the order of `options`. */
export async function startPlainSites<Options extends PlainSiteOptions[]>(
  ...options: Options
): Promise<{ [Nth in keyof Options]: PlainSite } & AsyncDisposable> {
  for (let left = PORTS_TRIED; ; left--) {
    const sites: PlainSite[] = [];
    const stop = async () => void (await Promise.all(sites.map((site) => site[Symbol.asyncDispose]())));
    try {
      for (const one of options) sites.push(await startPlainSite({ ...one, port: sites[0]?.port ?? 0 }));
      return Object.assign(sites as { [Nth in keyof Options]: PlainSite }, { [Symbol.asyncDispose]: stop });
    } catch (error) {
      await stop();
      if (left === 0 || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

/** A web site on a loopback address. */
export async function startPlainSite(options: PlainSiteOptions = {}) {
  const { address = '127.0.0.2', answer = (_request, response) => response.end('hello') } = options;
  const requests: {
    method: string;
    url: string;
    headers: IncomingMessage['headers'];
    rawHeaders: string[];
    body: string;
  }[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers, rawHeaders } = request;
    const seen = { method, url, headers, rawHeaders, body: '' };
    requests.push(seen);
    request.on('data', (chunk) => {
      seen.body += chunk;
    });
    answer(request, response);
  };
  const server = options.secure ? createSecure(TLS_IDENTITY, serve) : createServer(serve);
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(options.port ?? 0, address);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** Every request so far. */
    requests,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A TCP server at the allowed address. */
export async function startTcpSite(onSocket: (socket: Socket) => void, options: { allowHalfOpen?: boolean } = {}) {
  const server = createTcp(options, (socket) => onSocket(socket.on('error', () => socket.destroy())));
  server.listen(0, '127.0.0.2');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { server, port, [Symbol.asyncDispose]: async () => void server.close() };
}
