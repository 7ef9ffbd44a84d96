import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';

export interface PlainSite extends AsyncDisposable {
  readonly port: number;
  readonly address: string;
  readonly connections: number;
  /** Every request so far. */
  readonly requests: readonly { method: string; url: string; headers: IncomingMessage['headers']; rawHeaders: string[]; body: string }[];
}

export interface PlainSiteOptions {
  /** 127.0.0.2 is the one that tests allow; the others are canaries. */
  address?: string;
  port?: number;
  secure?: boolean;
  answer?: (request: IncomingMessage, response: ServerResponse) => void;
}

/** A web site on a loopback address. */
export async function startPlainSite(options: PlainSiteOptions = {}): Promise<PlainSite> {
  const { address = '127.0.0.2', answer = (_request, response) => response.end('hello') } = options;
  const requests: PlainSite['requests'][number][] = [];
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
    address,
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
