import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request as the stand-in has received it. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** How the stand-in meets a request: the last one meets all further requests, too. */
export type Reaction = (response: ServerResponse, request: Received) => void;

export interface StandIn extends AsyncDisposable {
  url: string;
  requests: Received[];
}

/** A server that answers as a real one does only in bad hours. */
export async function startStandIn(...reactions: Reaction[]): Promise<StandIn> {
  const requests: Received[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const received = { method, path, headers, body: await text(request) };
    requests.push(received);
    reactions[Math.min(requests.length, reactions.length) - 1]?.(response, received);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Reaction {
  return (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export function failure(
  status: number,
  error: Record<string, unknown>,
  headers: Record<string, string> = {},
): Reaction {
  return json(
    status,
    { ok: false, request_id: 'req_1', error: { message: 'No.', request_id: 'req_1', ...error } },
    headers,
  );
}

export function data(
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Reaction {
  return json(status, { ok: true, request_id: 'req_1', data: value }, headers);
}

/** Cuts the connection without an answer. */
export const cut: Reaction = (response) => response.destroy();

/** Never answers. */
export const hang: Reaction = () => undefined;

export const PICTURE = {
  url: 'https://example.com/',
  final_url: 'https://example.com/',
  cdn_url: 'http://127.0.0.1/artifacts/x.png',
  format: 'png',
  width: 1,
  height: 1,
  bytes: 4,
  duration_ms: 1,
  cached: false,
  blocked_requests: 0,
};

/** 200 with a finished capture. */
export const captured = data(PICTURE, { headers: { 'x-job-id': 'job_1' } });

/** 202 with a job. */
export const accepted = data(
  { job_id: 'job_1', state: 'waiting', poll_url: '/v1/jobs/job_1' },
  { status: 202, headers: { 'retry-after': '0' } },
);

/** The look-up of a job. */
export function snapshot(
  state: string,
  result?: Record<string, unknown>,
  headers: Record<string, string> = {},
): Reaction {
  return data({ id: 'job_1', state, ...(result === undefined ? {} : { result }) }, { headers });
}
