/** JSON bodies with a document of up to 50 MB. */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Context } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import { isObject } from '../../contract/field-rules.js';
import { BODY_LIMIT_BYTES, PAGE_FILES_MAX_BYTES } from '../../contract/limits.js';
import { bodyTooLarge, readRequestJson, refusedBody } from '../../contract/request-json.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { principalOf } from '../guard.js';
import { readBytes, requireJson } from '../read-body.js';
import { packFiles } from '../read-form.js';
import type { SubmittableForm } from '../receive-form.js';
import type { JsonAnswer } from './json-thread.js';

/** A megabyte of HTML takes about 15 ms to parse, which would hold up other requests. */
const PARSED_HERE_BYTES = 1024 * 1024;

/** A JSON object, and the bytes of its `html` if the body is large. Disposal gives up the place among the uploads. */
export interface DoorBody extends Disposable {
  fields: Record<string, unknown>;
  /** In place of `fields.html`, whose value is then not that of the request. */
  html: Uint8Array | null;
}

/**
 * Reads a JSON object, whose member `html` may be large.
 * @throws CaptureError `invalid_request`; `rate_limited` when too many large requests are being received
 */
export async function readDoorBody({ uploads, config }: AppServices, c: Context<AppEnv>): Promise<DoorBody> {
  const { incoming } = c.env;
  requireJson(incoming);
  const isSmall = Number(incoming.headers['content-length']) <= BODY_LIMIT_BYTES;
  const place = isSmall ? null : uploads.places.enter(principalOf(c).accountId);
  const dispose = () => place?.[Symbol.dispose]();
  try {
    const bytes = await readBytes(incoming, PAGE_FILES_MAX_BYTES, () => bodyTooLarge(PAGE_FILES_MAX_BYTES));
    const { value, html } =
      bytes.length > PARSED_HERE_BYTES
        ? await parseInThread(config.jsonThread, bytes)
        : { value: readRequestJson(bytes, PAGE_FILES_MAX_BYTES), html: null };
    if (!isObject(value)) throw refusedBody('The body must be a JSON object.');
    return { fields: value, html, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

async function parseInThread(thread: URL, bytes: Buffer): Promise<Exclude<JsonAnswer, { error: unknown }>> {
  const worker = new Worker(thread, { workerData: bytes, transferList: [bytes.buffer as ArrayBuffer], name: 'json' });
  const [answer] = (await once(worker, 'message')) as [JsonAnswer];
  if ('error' in answer) throw new CaptureError(answer.error);
  return answer;
}

/** A document as the file of a capture. Disposal is repeatable. */
export async function documentForm({ uploads, submit }: AppServices, html: string | Uint8Array): Promise<SubmittableForm> {
  const form = await packFiles(uploads.dir, (files) => files.addDocument(typeof html === 'string' ? Buffer.from(html) : html));
  const dispose = () => form[Symbol.asyncDispose]();
  return { ...form, submit: (submission, context) => submit(submission, { ...context, pack: form.pack }).finally(dispose) };
}
