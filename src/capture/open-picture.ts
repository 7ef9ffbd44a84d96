/** Reads stored pictures, although something else may have deleted their files. */
import type { Artifacts, OpenArtifact } from '../artifacts/artifacts.js';
import type { CaptureData } from '../contract/capture-data.js';
import { CaptureError } from '../contract/capture-error.js';
import type { Submission } from '../contract/submission.js';
import type { Egress } from '../egress/egress.js';
import type { Log } from '../log.js';
import type { ArtifactRow, JobStore, RetentionStore } from '../store/store.js';
import { refuseBlockedDestinations } from './check-destinations.js';

export interface MissingFileDeps {
  store: Pick<RetentionStore, 'markGone'>;
  artifacts: Pick<Artifacts, 'open' | 'isPresent' | 'isLocal'>;
  log: Log;
  now(): number;
}

/**
 * Opens a stored picture. If something else has deleted its file, that is recorded, unless the whole storage is missing: a disk that is
 * mounted again brings its pictures back. For a bucket nothing is recorded, since a lagging replica may have the object a minute later.
 * @returns null if the file is missing
 * @throws CaptureError `internal_error` (503) if the storage cannot be reached
 */
export async function openFile(
  { store, artifacts, log, now }: MissingFileDeps,
  name: string,
): Promise<OpenArtifact | null> {
  const artifact = await artifacts.open(name);
  if (artifact !== null || !artifacts.isLocal || !(await artifacts.isPresent())) return artifact;
  if (await store.markGone(name, now()))
    log.warn({ artifact: name }, 'the file of a picture is missing; the picture is treated as deleted');
  return null;
}

export interface OpenPictureDeps extends MissingFileDeps {
  store: MissingFileDeps['store'] & { findArtifact(name: string): Promise<ArtifactRow | null> };
}

/**
 * Opens a stored picture or PDF. Its row decides, since its file may remain while it cannot be removed, or may be missing because something
 * else removed it.
 * @returns `deleted` for a picture that existed; null for one that never did
 * @throws CaptureError `internal_error` (503) if the storage cannot be reached
 */
export async function openPicture(deps: OpenPictureDeps, name: string): Promise<OpenArtifact | 'deleted' | null> {
  const row = await deps.store.findArtifact(name);
  // The row is committed before anyone learns the name, so the storage need not be asked about guesses.
  if (row === null) return null;
  if (row.goneAt !== null) return 'deleted';
  const artifact = await openFile(deps, name);
  if (artifact !== null) return artifact;
  if (!deps.artifacts.isLocal) return 'deleted';
  return (await deps.store.findArtifact(name))?.goneAt === null ? null : 'deleted';
}

/** The error for a result whose picture is gone. */
export function pictureDeleted(): CaptureError {
  return new CaptureError({
    code: 'invalid_request',
    status: 410,
    message: 'The picture has been deleted. Capture the page again.',
  });
}

export interface LinkPictureDeps extends MissingFileDeps {
  store: MissingFileDeps['store'] & Pick<JobStore, 'findLinkAnswer'>;
  egress: Pick<Egress, 'refusesLiterally' | 'proxyProblem'>;
}

/** The stored picture that can answer a signed link at once. */
export interface LinkPicture {
  /** The newest picture, of any age; null if none is stored. */
  picture: { jobId: string; data: CaptureData; artifact: OpenArtifact; ageMs: number } | null;
  /** Whether a new picture is being rendered. */
  inFlight: boolean;
}

/**
 * Finds the stored picture for a link.
 * @throws CaptureError invalid_request (a refused destination), internal_error (503: the storage cannot be reached)
 */
export async function findLinkPicture(
  deps: LinkPictureDeps,
  submission: Submission,
  accountId: string,
): Promise<LinkPicture> {
  refuseBlockedDestinations(deps.egress, submission.options, { account: accountId });
  const { cacheIdentity, options } = submission;
  const { picture, inFlight } = await deps.store.findLinkAnswer({ accountId, cacheIdentity, timeout: options.timeout });
  const artifact = picture && (await openFile(deps, picture.data.artifact));
  if (picture === null || artifact === null) return { picture: null, inFlight };
  const { jobId, data, renderedAt } = picture;
  const ageMs = Math.max(0, deps.now() - renderedAt);
  return { picture: { jobId, data: { ...data, cached: true }, artifact, ageMs }, inFlight };
}
