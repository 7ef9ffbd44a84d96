import type { CaptureData } from '../contract/capture-data.js';
import type { Submission } from '../contract/submission.js';
import type { Egress } from '../egress/egress.js';
import type { JobStore } from '../store/store.js';
import { isFileMissing, type MissingFileDeps } from './missing-file.js';
import { refuseBlockedDestinations } from './refuse-blocked.js';

export interface LinkPictureDeps extends MissingFileDeps {
  store: MissingFileDeps['store'] & Pick<JobStore, 'findLinkAnswer'>;
  egress: Pick<Egress, 'refusesLiterally' | 'proxyProblem'>;
}

/** The stored picture that can answer a signed link at once. */
export interface LinkPicture {
  /** The newest picture, of any age; null if none is stored. */
  picture: { jobId: string; data: CaptureData; ageMs: number } | null;
  /** Whether a new picture is being rendered. */
  inFlight: boolean;
}

/**
 * Finds the stored picture for a link.
 * @throws CaptureError invalid_request (a refused destination), internal_error (503: the storage cannot be reached)
 */
export async function findLinkPicture(deps: LinkPictureDeps, submission: Submission, accountId: string): Promise<LinkPicture> {
  refuseBlockedDestinations(deps.egress, submission.options, { account: accountId });
  const { cacheIdentity, options } = submission;
  const { picture, inFlight } = await deps.store.findLinkAnswer({ accountId, cacheIdentity, timeout: options.timeout });
  const outcome = picture?.job.result?.outcome;
  if (picture === null || outcome?.ok !== true || (await isFileMissing(deps, picture.artifactName))) return { picture: null, inFlight };
  const ageMs = Math.max(0, deps.now() - picture.renderedAt);
  return { picture: { jobId: picture.job.id, data: { ...outcome.data, cached: true }, ageMs }, inFlight };
}
