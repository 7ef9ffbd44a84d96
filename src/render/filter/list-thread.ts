/** A worker that does the heavy half of filter lists, once and then ends: parsing them, and taking them out of a package. */
import { parentPort, workerData } from 'node:worker_threads';
import { FiltersEngine } from '@ghostery/adblocker';
import { ENGINE_OPTIONS } from './engines.js';
import { listsFromPackage } from './package-lists.js';

/** What the worker is given. */
export type ListJob =
  | {
      kind: 'parse';
      /** Filter lists, one after the other. */
      texts: string[];
    }
  | {
      kind: 'unpack';
      /** An npm package of rule sets, gzipped tar. */
      file: string;
      /** Rule sets wanted, by their number in it. */
      ids: number[];
    };

/** What it answers with. */
export type ListWork = { kind: 'parse'; engine: Uint8Array; rules: number } | { kind: 'unpack'; lists: Record<number, string> };

export async function runListJob(job: ListJob): Promise<ListWork> {
  if (job.kind === 'unpack') return { kind: 'unpack', lists: await listsFromPackage(job.file, job.ids) };
  const engine = FiltersEngine.parse(job.texts.join('\n'), ENGINE_OPTIONS);
  const { networkFilters, cosmeticFilters } = engine.getFilters();
  return { kind: 'parse', engine: engine.serialize(), rules: networkFilters.length + cosmeticFilters.length };
}

if (parentPort !== null) parentPort.postMessage(await runListJob(workerData as ListJob));
