/** A worker for one expensive task: checking or parsing filter lists, or extracting them from a package. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { FiltersEngine } from '@ghostery/adblocker';
import { isBoundedRegex } from './bounded-regex.js';
import { countRules, type ListFacts, listProblem } from './check-list.js';
import { commonSyntax } from './common-syntax.js';
import { ENGINE_OPTIONS } from './engines.js';
import { MATCHED_CHARS } from './linear-patterns.js';

/** The worker's task. */
export type ListJob =
  | {
      kind: 'parse';
      /** Filter lists, one after the other. */
      texts: string[];
    }
  | {
      kind: 'check';
      /** A fetched list. */
      content: Uint8Array;
      facts: ListFacts;
    }
  | {
      kind: 'extract';
      /** Of the npm package of rule sets. */
      dir: string;
      /** Rule sets wanted, by their number in it. */
      ids: number[];
    };

/** The worker's result, by the task's kind. */
export interface ListWork {
  parse: { engine: Uint8Array; rules: number };
  /** Why the text may not replace a list, or null. */
  check: { problem: string | null; rules: number };
  extract: { lists: Record<number, string> };
}

export function runListJob(job: ListJob): ListWork[ListJob['kind']] {
  if (job.kind === 'extract') return { lists: extractLists(job.dir, job.ids) };
  if (job.kind === 'check') {
    const text = new TextDecoder().decode(job.content);
    return { problem: listProblem(text, job.facts), rules: countRules(text) };
  }
  const engine = FiltersEngine.parse(commonSyntax(job.texts.join('\n')), ENGINE_OPTIONS);
  const { networkFilters, cosmeticFilters } = engine.getFilters();
  const endless = networkFilters
    .filter((rule) => rule.isFullRegex() && !isBoundedRegex(rule.getRegex().source, MATCHED_CHARS))
    .map((rule) => rule.getId());
  if (endless.length > 0) engine.update({ removedNetworkFilters: endless });
  return { engine: engine.serialize(), rules: networkFilters.length + cosmeticFilters.length - endless.length };
}

/** The lists that rule sets were made from, each of which is in the first entry of its set. @throws Error when a set has none */
function extractLists(dir: string, ids: readonly number[]): Record<number, string> {
  const lists: Record<number, string> = {};
  for (const id of ids) {
    const file = join(dir, `dist/filters/declarative/ruleset_${id}/ruleset_${id}.json`);
    if (!existsSync(file)) continue;
    const [first] = JSON.parse(readFileSync(file, 'utf8')) as { metadata?: { rawFilterList?: unknown } }[];
    const list = first?.metadata?.rawFilterList;
    if (typeof list !== 'string') throw new Error('the package has no filter list at the expected path');
    lists[id] = list;
  }
  return lists;
}

if (parentPort !== null) parentPort.postMessage(runListJob(workerData as ListJob));
