/** A thread that makes one comparison, so that decoding and comparing do not block the server. A separate bundle entry. */

import type { ComparisonOptions } from '../contract/comparison.js';
import { answerTask, viewOf } from '../thread.js';
import { comparePictures } from './compare-pictures.js';

export interface CompareTask {
  before: Uint8Array;
  after: Uint8Array;
  options: ComparisonOptions;
}

await answerTask(({ before, after, options }: CompareTask) => comparePictures(viewOf(before), viewOf(after), options));
