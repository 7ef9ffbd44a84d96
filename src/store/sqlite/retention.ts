import type { RetentionStore } from '../store.js';
import type { Tables } from './tables.js';
import type { Writer } from './writer.js';

/** Rows that one transaction touches: a slice must never hold up the writes behind it (issue: no statement over 50 ms). */
const SLICE_ROWS = 50;

/** Marks gone the oldest artifacts that are too old or too much. Runs inside the caller's transaction. */
export function expireArtifacts(
  { artifacts, counters }: Pick<Tables, 'artifacts' | 'counters'>,
  rules: Parameters<RetentionStore['expireArtifacts']>[0],
): string[] {
  let kept = counters.artifactBytes();
  const expired: string[] = [];
  for (const { name, bytes, createdAt } of artifacts.oldest(rules.limit)) {
    if (createdAt >= rules.before && kept <= rules.maxBytes) break;
    artifacts.markGone(name, rules.now);
    artifacts.forget(name);
    expired.push(name);
    kept -= bytes;
  }
  return expired;
}

/** Deletes ended jobs slice by slice, other writes in between. @returns how many */
export async function deleteJobs(
  { jobs, artifacts }: Pick<Tables, 'jobs' | 'artifacts'>,
  writer: Writer,
  rules: { before: number; limit: number },
): Promise<number> {
  let deleted = 0;
  while (deleted < rules.limit) {
    const slice = Math.min(SLICE_ROWS, rules.limit - deleted);
    const count = await writer.run(() => {
      const ended = jobs.endedBefore(rules.before, slice);
      for (const { id, artifactName } of ended) {
        jobs.remove(id);
        // The row of a picture that is gone is kept, to answer 410, as long as a job speaks of it.
        if (artifactName !== null) artifacts.forget(artifactName);
      }
      return ended.length;
    });
    deleted += count;
    if (count < slice) break;
  }
  return deleted;
}
