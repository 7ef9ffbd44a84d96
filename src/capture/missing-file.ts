import type { Artifacts } from '../artifacts/artifacts.js';
import type { Log } from '../log.js';
import type { RetentionStore } from '../store/store.js';

export interface MissingFileDeps {
  store: Pick<RetentionStore, 'markGone'>;
  artifacts: Pick<Artifacts, 'open' | 'isPresent' | 'isLocal'>;
  log: Log;
  now(): number;
}

/**
 * Checks whether something else deleted a stored picture's file, and records that, unless the whole storage is missing: a disk that is
 * mounted again brings its pictures back. For a bucket nothing is recorded, since a lagging replica may have the object a minute later.
 * @throws CaptureError `internal_error` (503) if the storage cannot be reached
 */
export async function isFileMissing({ store, artifacts, log, now }: MissingFileDeps, name: string): Promise<boolean> {
  if ((await artifacts.open(name)) !== null) return false;
  if (!artifacts.isLocal || !(await artifacts.isPresent())) return true;
  if (await store.markGone(name, now()))
    log.warn({ artifact: name }, 'the file of a picture is missing; the picture is treated as deleted');
  return true;
}
