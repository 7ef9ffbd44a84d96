/** Requests to the Gotenberg that the operator has named (STILLFRAME_GOTENBERG_UPSTREAM). Nothing is kept: bodies are streamed. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as sendHttp } from 'node:http';
import { request as sendHttps } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import { PAGE_FILES_MAX_BYTES } from '../../contract/limits.js';
import type { AppEnv, AppServices } from '../app-services.js';

/** How long a request may stay without a byte in either direction. */
const TIMEOUT_MS = 120_000;
/** RFC 9110, 7.6.1, and what belongs to the caller and this server. */
const NOT_PASSED_ON = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'expect', 'host', 'authorization', 'cookie', 'set-cookie'],
]);

/**
 * Passes a request on, and its answer back.
 * @throws CaptureError `invalid_request` (413) for more than 50 MB, `egress_unavailable` for an upstream that does not answer
 */
export async function passOn(services: AppServices, c: Context<AppEnv>, upstream: string): Promise<Response> {
  const { incoming } = c.env;
  const { pathname, search } = new URL(c.req.url);
  // The request target itself could be absolute, or leave the path of the setting.
  const url = new URL(`${upstream.replace(/(?<!\/)\/+$/, '')}${pathname}${search}`);
  if (Number(incoming.headers['content-length']) > PAGE_FILES_MAX_BYTES) throw tooLarge();
  return await exchange(services, c, { url, headers: passedOn(incoming.headers), body: incoming });
}

/** Has a PDF converted, such as to PDF/A. @throws CaptureError as `passOn` */
export async function convertAtUpstream(
  services: AppServices,
  c: Context<AppEnv>,
  order: { upstream: string; pdf: { bytes: number; read(): Promise<Readable> }; fields: Record<string, string>; disposition: string },
): Promise<Response> {
  const { upstream, pdf, fields, disposition } = order;
  const boundary = randomUUID();
  const part = (name: string) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"`;
  const written = Object.entries(fields).map(([name, value]) => `${part(name)}\r\n\r\n${value}\r\n`);
  const head = Buffer.from(`${written.join('')}${part('files')}; filename="page.pdf"\r\ncontent-type: application/pdf\r\n\r\n`);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const content = await pdf.read();
  async function* body() {
    yield head;
    yield* content;
    yield tail;
  }
  const headers = {
    'content-type': `multipart/form-data; boundary=${boundary}`,
    'content-length': String(head.length + pdf.bytes + tail.length),
    'gotenberg-trace': c.var.exchange.headers['gotenberg-trace'] ?? '',
  };
  const url = new URL(`${upstream.replace(/(?<!\/)\/+$/, '')}/forms/pdfengines/convert`);
  return await exchange(services, c, { url, headers, body: body(), disposition });
}

interface Outgoing {
  url: URL;
  headers: Record<string, string | string[]>;
  body: AsyncIterable<Buffer>;
  /** Replaces that of the answer. */
  disposition?: string;
}

async function exchange(services: AppServices, c: Context<AppEnv>, { url, headers, body, disposition }: Outgoing): Promise<Response> {
  const { outgoing } = c.env;
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  if (outgoing.destroyed) gone.abort();
  const send = url.protocol === 'https:' ? sendHttps : sendHttp;
  const request = send(url, { method: 'POST', headers, signal: gone.signal, timeout: TIMEOUT_MS });
  // Whoever waits for the request or its answer gets the error, too.
  request.on('error', () => undefined);
  request.once('timeout', () => request.destroy(new Error('the upstream did not answer in time')));
  // An upstream may answer before it has read everything.
  const sent = pipeline(body, limited, request).then(() => new Promise<never>(() => undefined));
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  answered.catch(() => undefined);
  let answer: IncomingMessage;
  try {
    [answer] = await Promise.race([
      answered,
      sent.catch((error: unknown) => (error instanceof CaptureError ? Promise.reject(error) : answered)),
    ]);
  } catch (error) {
    request.destroy();
    if (outgoing.destroyed) return RESPONSE_ALREADY_SENT;
    if (error instanceof CaptureError) throw error;
    // The address is the operator's, so the error does not name it.
    const message = 'The Gotenberg behind this server could not be reached, or did not answer in time.';
    throw new CaptureError({ code: 'egress_unavailable', message, cause: error });
  }
  if (outgoing.destroyed) {
    request.destroy();
    return RESPONSE_ALREADY_SENT;
  }
  const status = answer.statusCode ?? 502;
  const name = disposition === undefined || status >= 300 ? {} : { 'content-disposition': disposition };
  outgoing.writeHead(status, { ...c.var.exchange.headers, ...passedOn(answer.headers), ...name });
  pipeline(answer, outgoing).catch((error: unknown) => {
    if (!gone.signal.aborted)
      services.log.warn({ request_id: c.var.exchange.requestId, err: error }, 'an answer of the Gotenberg was cut off');
  });
  return RESPONSE_ALREADY_SENT;
}

function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set(
    (headers.connection ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !NOT_PASSED_ON.has(name) && !named.has(name));
  return Object.fromEntries(kept) as Record<string, string | string[]>;
}

/** Counts what a body without a length has. */
async function* limited(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > PAGE_FILES_MAX_BYTES) throw tooLarge();
    yield chunk;
  }
}

function tooLarge(): CaptureError {
  return new CaptureError({ code: 'invalid_request', status: 413, message: `The body is larger than ${PAGE_FILES_MAX_BYTES} bytes.` });
}
