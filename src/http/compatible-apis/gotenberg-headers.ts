import type { IncomingHttpHeaders } from 'node:http';
import { CALLBACK_METHODS, type CallbackMethod, type Sending } from '../../contract/capture-request.js';
import { forbiddenHeader, hasLineBreak, lowerCaseNames } from '../../contract/field-rules.js';
import { WEBHOOK_URL_MAX_CHARS } from '../../contract/limits.js';
import { webhookUrlProblem } from '../../contract/read-url.js';
import { invalidField } from '../../contract/submission.js';
import { dispositionOf } from '../send-artifact.js';
import { baseName } from './gotenberg-form.js';
import { json, texts } from './gotenberg-values.js';

/** A request whose file is sent to an address. */
export interface Webhook {
  url: string;
  /** @param problems as for `gotenbergError` */
  sending(format: string, problems: Readonly<Record<string, string>>): Sending;
}

const TRACE = /^[\x21-\x7e]{1,200}$/;
/** W3C Trace Context. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const NAME_MAX_CHARS = 200;
const EXTRA_HEADERS = json('', texts, () => '');
const EXTRA_HEADERS_MAX = 64;

/** @throws CaptureError `invalid_request` for one that is too long, or has other characters than visible ASCII */
export function readTrace(headers: IncomingHttpHeaders): string | null {
  const trace = headerOf(headers, 'Gotenberg-Trace');
  if (trace === '') return null;
  if (!TRACE.test(trace)) throw invalidField('Gotenberg-Trace', 'must be 1 to 200 visible ASCII characters');
  return trace;
}

/** The name of the file without its extension; null if the request names none. */
export function outputName(headers: IncomingHttpHeaders): string | null {
  const value = Buffer.from(headerOf(headers, 'Gotenberg-Output-Filename'), 'latin1').toString();
  const chars = [...baseName(value).replace(/\p{Cc}/gu, '')];
  return chars.slice(0, NAME_MAX_CHARS).join('') || null;
}

/**
 * Reads the headers of a webhook.
 * @returns null if the answer is to be the file
 * @throws CaptureError `invalid_request`
 */
export function readWebhook(
  headers: IncomingHttpHeaders,
  { allowed, trace, name }: { allowed: readonly string[]; trace: string; name: string },
): Webhook | null {
  const url = headerOf(headers, 'Gotenberg-Webhook-Url');
  if (url === '') return null;
  if (headerOf(headers, 'Gotenberg-Webhook-Events-Url') !== '')
    throw invalidField('Gotenberg-Webhook-Events-Url', 'is not supported here: use Gotenberg-Webhook-Error-Url');
  const errorUrl = headerOf(headers, 'Gotenberg-Webhook-Error-Url');
  if (errorUrl === '') throw invalidField('Gotenberg-Webhook-Error-Url', 'is required with Gotenberg-Webhook-Url');
  for (const [path, given] of [
    ['Gotenberg-Webhook-Url', url],
    ['Gotenberg-Webhook-Error-Url', errorUrl],
  ] as const) {
    const problem = given.length > WEBHOOK_URL_MAX_CHARS ? 'is too long' : webhookUrlProblem(given, allowed);
    if (problem !== null) throw invalidField(path, problem);
  }
  const [method, errorMethod] = [
    readMethod(headers, 'Gotenberg-Webhook-Method'),
    readMethod(headers, 'Gotenberg-Webhook-Error-Method'),
  ];
  const { traceparent } = headers;
  const traced: Record<string, string> = TRACEPARENT.test(String(traceparent))
    ? { traceparent: String(traceparent) }
    : {};
  const always = { ...readExtraHeaders(headers), ...traced, 'gotenberg-trace': trace };
  return {
    url,
    sending: (format, problems) => ({
      method,
      headers: { 'content-disposition': dispositionOf(name, format), ...always },
      failure: { url: errorUrl, method: errorMethod, headers: always, problems },
    }),
  };
}

function readMethod(headers: IncomingHttpHeaders, path: string): CallbackMethod {
  const value = headerOf(headers, path).toUpperCase() || 'POST';
  const method = CALLBACK_METHODS.find((one) => one === value);
  if (method === undefined) throw invalidField(path, `must be one of ${CALLBACK_METHODS.join(', ')}`);
  return method;
}

/** Secrets: no message repeats a value. */
function readExtraHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const path = 'Gotenberg-Webhook-Extra-Http-Headers';
  const header = headerOf(headers, path);
  if (header === '') return {};
  const refuse = (message: string) => invalidField(path, message);
  const extra = EXTRA_HEADERS.safeParse(header).data;
  if (extra === undefined) throw refuse('must be a JSON object of names and values');
  const entries = Object.entries(extra);
  if (entries.length > EXTRA_HEADERS_MAX) throw refuse(`must have at most ${EXTRA_HEADERS_MAX} headers`);
  for (const [name, value] of entries) {
    const problem =
      forbiddenHeader(name) ??
      (hasLineBreak(value) || /[^\t\x20-\xff]/.test(value) ? 'has a value that no header may have' : null);
    if (problem !== null) throw refuse(`has '${name.slice(0, 60)}', which ${problem}`);
  }
  return lowerCaseNames(extra);
}

function headerOf(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name.toLowerCase()] ?? '').trim();
}
