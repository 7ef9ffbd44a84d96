/** A thread that makes one comparison, so that decoding and comparing do not block the server. A separate bundle entry. */

import { parentPort, workerData } from 'node:worker_threads';
import { type StoredError, toStoredError } from '../contract/capture-error.js';
import type { Comparison, ComparisonOptions } from '../contract/comparison.js';
import { comparePictures } from './compare-pictures.js';

export interface CompareTask {
  before: Uint8Array;
  after: Uint8Array;
  options: ComparisonOptions;
}

export type CompareAnswer = { comparison: Comparison & { picture: Uint8Array | null } } | { error: StoredError };

parentPort?.postMessage(await answer(workerData as CompareTask));

async function answer({ before, after, options }: CompareTask): Promise<CompareAnswer> {
  try {
    return { comparison: await comparePictures(viewOf(before), viewOf(after), options) };
  } catch (error) {
    return { error: toStoredError(error) };
  }
}

/** The same bytes, not copied. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
