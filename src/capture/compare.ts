import { buffer } from 'node:stream/consumers';
import type { Principal } from '../account/authenticate.js';
import type { Artifacts, OpenArtifact } from '../artifacts/artifacts.js';
import type { CompareQueue } from '../compare/compare-queue.js';
import { CaptureError } from '../contract/capture-error.js';
import type { Comparison, ComparisonOptions, PictureSource } from '../contract/comparison.js';
import type { JobSnapshot } from '../contract/job.js';
import type { JobStore, RetentionStore } from '../store/store.js';
import { lookupJob } from './lookup.js';
import { pictureDeleted } from './open-picture.js';

export interface CompareDeps {
  store: Pick<JobStore, 'findJob'> & Pick<RetentionStore, 'keepArtifact'>;
  artifacts: Pick<Artifacts, 'put'>;
  openPicture(name: string): Promise<OpenArtifact | 'deleted' | null>;
  queue: CompareQueue;
  now(): number;
}

/** A picture that exists; captures have been made. */
export type StoredSource = Exclude<PictureSource, { kind: 'capture' }>;

/** The largest stored picture that is read. */
const STORED_MAX_BYTES = 64_000_000;

/**
 * Compares two pictures and stores the picture of their differences, which expires like every other.
 * @returns the comparison, and the name of that artifact
 * @throws CaptureError `invalid_request` for a picture that does not exist (404), has been deleted (410), or cannot be compared;
 * `rate_limited` when too many comparisons wait
 */
export async function compare(
  deps: CompareDeps,
  { before, after, options }: { before: StoredSource; after: StoredSource; options: ComparisonOptions },
  principal: Principal,
): Promise<{ comparison: Comparison; artifact: string | null }> {
  const { picture, ...comparison } = await deps.queue.compare(async () => ({
    before: await read(deps, 'before', before, principal),
    after: await read(deps, 'after', after, principal),
    options,
  }));
  if (picture === null) return { comparison, artifact: null };
  const stored = await deps.artifacts.put(picture, 'webp');
  await deps.store.keepArtifact({ ...stored, accountId: principal.accountId, createdAt: deps.now() });
  return { comparison, artifact: stored.name };
}

async function read(deps: CompareDeps, side: 'before' | 'after', source: StoredSource, principal: Principal): Promise<Buffer> {
  if (source.kind === 'given') return source.content;
  const name = source.kind === 'artifact' ? source.name : artifactOf(side, await lookupJob(deps.store, source.jobId, principal));
  if (name.endsWith('.pdf')) throw refused(side, 'must be a picture, not a PDF');
  const artifact = await deps.openPicture(name);
  if (artifact === 'deleted') throw pictureDeleted();
  if (artifact === null) throw refused(side, 'is not a picture of this server', 404);
  if (artifact.bytes > STORED_MAX_BYTES) throw refused(side, `must have at most ${STORED_MAX_BYTES / 1e6} MB`);
  return await buffer(await artifact.read());
}

function artifactOf(side: 'before' | 'after', job: JobSnapshot | null): string {
  if (job === null) throw refused(side, 'is not a job of this API key', 404);
  if (job.result === null) throw refused(side, 'is a job that has not ended yet');
  if (!job.result.outcome.ok) throw refused(side, 'is a job that has failed');
  return job.result.outcome.data.artifact;
}

function refused(side: 'before' | 'after', message: string, status = 400): CaptureError {
  return new CaptureError({
    code: 'invalid_request',
    status,
    message: `\`${side}\` ${message}.`,
    details: { issues: [{ path: side, message }] },
  });
}
