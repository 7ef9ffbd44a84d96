import type { Artifacts } from '../artifacts/artifacts.js';
import type { Log } from '../log.js';
import type { RetentionStore } from '../store/store.js';

export interface MissingFileDeps {
  store: Pick<RetentionStore, 'markGone'>;
  artifacts: Pick<Artifacts, 'open' | 'isPresent'>;
  log: Log;
  now(): number;
}

/**
 * Whether the file of a kept picture is not there, for whatever reason from outside. Its row says so from then on, except where the
 * whole storage is away: a disk that comes back brings its pictures with it.
 */
export async function isFileMissing({ store, artifacts, log, now }: MissingFileDeps, name: string): Promise<boolean> {
  if ((await artifacts.open(name)) !== null) return false;
  if (!(await artifacts.isPresent())) return true;
  if (await store.markGone(name, now()))
    log.warn({ artifact: name }, 'the file of a picture is missing; the picture is treated as deleted');
  return true;
}
