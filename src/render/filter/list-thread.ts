/** A worker for one expensive task: parsing filter lists, or extracting them from a package. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { FiltersEngine } from '@ghostery/adblocker';
import { commonSyntax } from './common-syntax.js';
import { ENGINE_OPTIONS } from './engines.js';

/** The worker's task. */
export type ListJob =
  | {
      kind: 'parse';
      /** Filter lists, one after the other. */
      texts: string[];
    }
  | {
      kind: 'extract';
      /** Of the npm package of rule sets. */
      dir: string;
      /** Rule sets wanted, by their number in it. */
      ids: number[];
    };

/** The worker's result. */
export type ListWork = { kind: 'parse'; engine: Uint8Array; rules: number } | { kind: 'extract'; lists: Record<number, string> };

export async function runListJob(job: ListJob): Promise<ListWork> {
  if (job.kind === 'extract') return { kind: 'extract', lists: extractLists(job.dir, job.ids) };
  const engine = FiltersEngine.parse(commonSyntax(job.texts.join('\n')), ENGINE_OPTIONS);
  const { networkFilters, cosmeticFilters } = engine.getFilters();
  return { kind: 'parse', engine: engine.serialize(), rules: networkFilters.length + cosmeticFilters.length };
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

if (parentPort !== null) parentPort.postMessage(await runListJob(workerData as ListJob));
