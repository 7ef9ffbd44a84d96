import type { OpenArtifact } from '../artifacts/artifacts.js';
import { CaptureError } from '../contract/capture-error.js';
import type { ArtifactRow } from '../store/store.js';
import { isFileMissing, type MissingFileDeps } from './missing-file.js';

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
  const artifact = await deps.artifacts.open(name);
  if (artifact !== null) return artifact;
  if (!deps.artifacts.isLocal) return 'deleted';
  await isFileMissing(deps, name);
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
