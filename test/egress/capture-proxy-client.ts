import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { CaptureProxy } from '../../src/egress/egress.js';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';

export interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  agent?: Agent;
}

export interface Got {
  status: number;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  body: string;
}

/** Requests a plain HTTP URL through a proxy as a browser does. Rejects where a browser would show an error of its own. */
export async function sendThrough(captureProxy: Pick<CaptureProxy, 'port'>, url: string, sent: Sent = {}): Promise<Got> {
  const asked = request({
    host: '127.0.0.1',
    port: captureProxy.port,
    path: url,
    method: sent.method ?? 'GET',
    headers: { host: new URL(url).host, 'proxy-connection': 'keep-alive', ...sent.headers },
    agent: sent.agent ?? false,
  });
  asked.end(sent.body);
  const [incoming] = (await once(asked, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of incoming) body += chunk;
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, rawHeaders: incoming.rawHeaders, body };
}

/** Opens a tunnel as a browser does for a secure URL or a socket. */
export async function connectThrough(
  captureProxy: Pick<CaptureProxy, 'port'>,
  authority: string,
): Promise<{ status: number; socket: Socket }> {
  const asked = request({
    host: '127.0.0.1',
    port: captureProxy.port,
    method: 'CONNECT',
    path: authority,
    headers: { host: authority },
    agent: false,
  });
  asked.end();
  const [answer, socket] = (await once(asked, 'connect')) as [IncomingMessage, Socket];
  socket.on('error', () => socket.destroy());
  return { status: answer.statusCode ?? 0, socket };
}

/** A GET inside TLS inside a tunnel. */
export async function getSecurely(captureProxy: Pick<CaptureProxy, 'port'>, url: string): Promise<string> {
  const { hostname, port, pathname } = new URL(url);
  const { status, socket } = await connectThrough(captureProxy, `${hostname}:${port || 443}`);
  if (status !== 200) {
    socket.destroy();
    throw new Error(`CONNECT was answered with ${status}`);
  }
  const secured = connectTls({ socket, servername: hostname, ca: TLS_IDENTITY.ca });
  await once(secured, 'secureConnect');
  const asked = request({ createConnection: () => secured, path: pathname, headers: { host: hostname } });
  asked.end();
  const [incoming] = (await once(asked, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of incoming) body += chunk;
  secured.destroy();
  return body;
}

/** One that keeps its connections, as a browser does. */
export function keepingAgent(): Agent {
  return new Agent({ keepAlive: true });
}
