/** A thread that parses one large JSON body, so that the server goes on meanwhile. A separate bundle entry. */
import { parentPort, workerData } from 'node:worker_threads';
import { type StoredError, toStoredError } from '../../contract/capture-error.js';
import { PAGE_FILES_MAX_BYTES } from '../../contract/limits.js';
import { readRequestJson } from '../../contract/request-json.js';

/** `html` is that member of the value in UTF-8; null without it. */
export type JsonAnswer = { value: unknown; html: Uint8Array<ArrayBuffer> | null } | { error: StoredError };

const answer = parse(workerData as Uint8Array);
parentPort?.postMessage(answer, 'html' in answer && answer.html !== null ? [answer.html.buffer] : []);

function parse(bytes: Uint8Array): JsonAnswer {
  try {
    const value = readRequestJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), PAGE_FILES_MAX_BYTES);
    const { html } = Object(value) as { html?: unknown };
    if (typeof html !== 'string' || html === '') return { value, html: null };
    return { value: { ...(value as object), html: 'x' }, html: new TextEncoder().encode(html) };
  } catch (error) {
    return { error: toStoredError(error) };
  }
}
