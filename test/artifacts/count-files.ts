import type { Artifacts } from '../../src/artifacts/artifacts.js';

/** How many artifacts are kept. */
export async function countFiles(artifacts: Pick<Artifacts, 'list'>): Promise<number> {
  let count = 0;
  for await (const names of artifacts.list(Date.now() + 60_000)) count += names.length;
  return count;
}
