/** Requests to the Gotenberg that the operator has named (STILLFRAME_GOTENBERG_UPSTREAM). Nothing is kept: bodies are streamed. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as sendHttp } from 'node:http';
import { request as sendHttps } from 'node:https';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { charge } from '../../capture/cost.js';
import { CaptureError } from '../../contract/capture-error.js';
import { HOP_BY_HOP_HEADERS } from '../../contract/field-rules.js';
import { PAGE_FILES_MAX_BYTES } from '../../contract/limits.js';
import { forwardedPrice } from '../../contract/pricing.js';
import { invalidField } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { principalOf } from '../guard.js';
import { isForm, readParts } from '../read-form.js';

/** The time for which a request may stay without a byte in either direction. */
const TIMEOUT_MS = 120_000;
/** Headers of the connection, and what belongs to the caller and this server. */
const NOT_PASSED_ON = new Set<string>([
  ...HOP_BY_HOP_HEADERS,
  'expect',
  'host',
  'authorization',
  'cookie',
  'set-cookie',
]);

/** Gotenberg's own headers that are passed on. With the others, which are refused, it would send requests to addresses of the caller's. */
const OWN_HEADERS = new Set(['gotenberg-output-filename', 'gotenberg-trace']);
/** Headers of the caller's body, which is written anew. */
const BODY_HEADERS = new Set(['content-length', 'content-encoding', 'content-type']);
/** In lower case. */
const DOWNLOADS_PART = 'downloadfrom';
const NAME_SHOWN_CHARS = 60;

/**
 * Passes a form on, and its answer back. What would have the upstream send requests to addresses of the caller's is refused by name. The
 * account is charged before, so that concurrent requests do not exceed its quota, and gets its credits back if there is no answer of success.
 * @throws CaptureError `invalid_request`, with 413 for more than 50 MB and 415 for no form; `quota_exceeded`; `egress_unavailable` for an
 *   upstream that does not answer
 */
export async function passOn(services: AppServices, c: Context<AppEnv>, upstream: string): Promise<Response> {
  const { incoming } = c.env;
  const { pathname, search } = new URL(c.req.url);
  // The request target itself could be absolute, or leave the path of the setting.
  const url = new URL(`${upstream.replace(/(?<!\/)\/+$/, '')}${pathname}${search}`);
  for (const name of Object.keys(incoming.headers)) {
    if (name.startsWith('gotenberg-') && !OWN_HEADERS.has(name))
      throw invalidField(titleCase(name), 'is not supported here: wait for the answer instead');
  }
  if (!isForm(incoming))
    throw new CaptureError({
      code: 'invalid_request',
      status: 415,
      message: 'The content type must be multipart/form-data.',
    });
  if (Number(incoming.headers['content-length']) > PAGE_FILES_MAX_BYTES) throw tooLarge();
  const kept = Object.entries(passedOn(incoming.headers)).filter(([name]) => !BODY_HEADERS.has(name));
  const boundary = randomUUID();
  const headers = { ...Object.fromEntries(kept), 'content-type': `multipart/form-data; boundary=${boundary}` };
  const giveBack = await charge(services, { accountId: principalOf(c).accountId, price: forwardedPrice() });
  return await exchange(services, c, { url, headers, body: () => rewritten(incoming, boundary), onFailure: giveBack });
}

function titleCase(name: string): string {
  return name.slice(0, NAME_SHOWN_CHARS).replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}

/** The parts of a form in a form of our own, so that the upstream reads in it exactly what has been judged here. */
function rewritten(incoming: IncomingMessage, boundary: string): Readable {
  const body = new PassThrough();
  const take = async (part = '', fileName = '', content: Readable) => {
    if (part.trim().toLowerCase() === DOWNLOADS_PART)
      throw invalidField('downloadFrom', 'is not supported here: send the files themselves');
    body.write(partHead(boundary, part, fileName));
    await pipeline(content, body, { end: false });
    body.write('\r\n');
  };
  readParts(incoming, { take }, { tooLarge }).then(
    () => body.end(`--${boundary}--\r\n`),
    (error: Error) => body.destroy(error),
  );
  return body;
}

/** The head of a part. A part without a file name is a field. */
function partHead(boundary: string, name: string, fileName = ''): string {
  const quoted = (text: string) => `"${text.replace(/["\\\r\n\0]/g, (mark) => encodeURIComponent(mark))}"`;
  const file = fileName === '' ? '' : `; filename=${quoted(fileName)}\r\ncontent-type: application/octet-stream`;
  return `--${boundary}\r\ncontent-disposition: form-data; name=${quoted(name)}${file}\r\n\r\n`;
}

/** Has a PDF converted, such as to PDF/A. @throws CaptureError as `passOn` */
export async function convertAtUpstream(
  services: AppServices,
  c: Context<AppEnv>,
  conversion: {
    upstream: string;
    pdf: { bytes: number; read(): Promise<Readable> };
    fields: Record<string, string>;
    disposition: string;
  },
): Promise<Response> {
  const { upstream, pdf, fields, disposition } = conversion;
  const boundary = randomUUID();
  const written = Object.entries(fields).map(([name, value]) => `${partHead(boundary, name)}${value}\r\n`);
  const head = Buffer.from(`${written.join('')}${partHead(boundary, 'files', 'page.pdf')}`);
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
  return await exchange(services, c, { url, headers, body, disposition });
}

interface Outgoing {
  url: URL;
  headers: Record<string, string | string[]>;
  body(): AsyncIterable<Buffer>;
  /** Replaces that of the answer. */
  disposition?: string;
  /** Called once if the upstream does not succeed, or the client goes before it answers. */
  onFailure?(): Promise<void>;
}

async function exchange(services: AppServices, c: Context<AppEnv>, exchanged: Outgoing): Promise<Response> {
  const { outgoing } = c.env;
  const gone = new AbortController();
  outgoing.once('close', () => gone.abort());
  if (outgoing.destroyed) gone.abort();
  let answer: IncomingMessage;
  try {
    answer = await send(exchanged, gone.signal);
    gone.signal.throwIfAborted();
  } catch (error) {
    await exchanged.onFailure?.();
    if (gone.signal.aborted) return RESPONSE_ALREADY_SENT;
    if (error instanceof CaptureError) throw error;
    // The address is the operator's, so the error does not name it.
    const message = 'The Gotenberg behind this server could not be reached, or did not answer in time.';
    throw new CaptureError({ code: 'egress_unavailable', message, cause: error });
  }
  const { statusCode: status = 502 } = answer;
  const succeeds = status >= 200 && status < 300;
  answer.once('error', (error) => {
    // Once an answer has begun, a client that goes is charged: it may have all that it needs.
    if (gone.signal.aborted) return;
    services.log.warn({ request_id: c.var.exchange.requestId, err: error }, 'an answer of the Gotenberg was cut off');
    if (succeeds) void exchanged.onFailure?.();
  });
  if (!succeeds) await exchanged.onFailure?.();
  const { disposition } = exchanged;
  const name = disposition === undefined || !succeeds ? {} : { 'content-disposition': disposition };
  outgoing.writeHead(status, { ...c.var.exchange.headers, ...passedOn(answer.headers), ...name });
  pipeline(answer, outgoing).catch(() => undefined);
  return RESPONSE_ALREADY_SENT;
}

/** @returns the answer, whose body has not been read. @throws CaptureError of the body; Error of the connection */
async function send({ url, headers, body }: Outgoing, signal: AbortSignal): Promise<IncomingMessage> {
  const start = url.protocol === 'https:' ? sendHttps : sendHttp;
  const request = start(url, { method: 'POST', headers, signal, timeout: TIMEOUT_MS });
  // Whoever waits for the request or its answer gets the error, too.
  request.on('error', () => undefined);
  request.once('timeout', () => request.destroy(new Error('the upstream did not answer in time')));
  // An upstream may answer before it has read everything.
  const sent = pipeline(body(), limited, request).then(() => new Promise<never>(() => undefined));
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  answered.catch(() => undefined);
  try {
    const [answer] = await Promise.race([
      answered,
      sent.catch((error: unknown) => (error instanceof CaptureError ? Promise.reject(error) : answered)),
    ]);
    return answer;
  } catch (error) {
    request.destroy();
    throw error;
  }
}

function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set(
    (headers.connection ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  const kept = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !NOT_PASSED_ON.has(name) && !named.has(name),
  );
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
  return new CaptureError({
    code: 'invalid_request',
    status: 413,
    message: `The body is larger than ${PAGE_FILES_MAX_BYTES} bytes.`,
  });
}
