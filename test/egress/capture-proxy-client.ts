import { once } from 'node:events';
import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { CaptureProxy } from '../../src/egress/egress.js';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  agent?: Agent;
}

/** Requests a plain HTTP URL through a proxy as a browser does. Rejects where a browser would show an error of its own. */
export async function sendThrough(captureProxy: Pick<CaptureProxy, 'port'>, url: string, sent: Sent = {}) {
  const asked = request({
    host: '127.0.0.1',
    port: captureProxy.port,
    path: url,
    method: sent.method ?? 'GET',
    headers: { host: new URL(url).host, 'proxy-connection': 'keep-alive', ...sent.headers },
    agent: sent.agent ?? false,
  });
  asked.end(sent.body);
  return await answerOf(asked);
}

async function answerOf(asked: ClientRequest) {
  const [incoming] = (await once(asked, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of incoming) body += chunk;
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body };
}

/** Opens a tunnel as a browser does for a secure URL or a socket. */
export async function connectThrough({ port }: Pick<CaptureProxy, 'port'>, authority: string) {
  const asked = request({
    host: '127.0.0.1',
    port,
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

/** The status with which a tunnel is granted (200) or refused; it is closed at once. */
export async function tunnelStatus(captureProxy: Pick<CaptureProxy, 'port'>, authority: string): Promise<number> {
  const { status, socket } = await connectThrough(captureProxy, authority);
  socket.destroy();
  return status;
}

/** A GET inside TLS inside a tunnel. */
export async function getSecurely(captureProxy: Pick<CaptureProxy, 'port'>, url: string): Promise<string> {
  const { hostname, port, pathname } = new URL(url);
  const { status, socket } = await connectThrough(captureProxy, `${hostname}:${port || 443}`);
  if (status !== 200) throw new Error(`CONNECT was answered with ${status}`);
  const secured = connectTls({ socket, servername: hostname, ca: TLS_IDENTITY.ca });
  await once(secured, 'secureConnect');
  const asked = request({ createConnection: () => secured, path: pathname, headers: { host: hostname } });
  asked.end();
  const { body } = await answerOf(asked);
  secured.destroy();
  return body;
}
