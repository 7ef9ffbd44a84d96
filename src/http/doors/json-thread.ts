/** A thread that parses one large JSON body, so that the server goes on meanwhile. A separate bundle entry. */

import { parentPort, workerData } from 'node:worker_threads';
import { type StoredError, toStoredError } from '../../contract/capture-error.js';
import { readRequestJson } from '../../contract/request-json.js';

export interface JsonTask {
  bytes: Uint8Array;
  limitBytes: number;
  /** The member that is returned as bytes, if it is a string. */
  large: string;
}

/** `large` is UTF-8; null without the member. */
export type JsonAnswer = { value: unknown; large: Uint8Array<ArrayBuffer> | null } | { error: StoredError };

const answer = parse(workerData as JsonTask);
parentPort?.postMessage(answer, 'large' in answer && answer.large !== null ? [answer.large.buffer] : []);

function parse({ bytes, limitBytes, large }: JsonTask): JsonAnswer {
  try {
    const value = readRequestJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), limitBytes);
    const text = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[large] : undefined;
    if (typeof text !== 'string' || text === '') return { value, large: null };
    return { value: { ...(value as object), [large]: 'x' }, large: new TextEncoder().encode(text) };
  } catch (error) {
    return { error: toStoredError(error) };
  }
}
