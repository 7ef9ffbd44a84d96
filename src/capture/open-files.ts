import type { Artifacts } from '../artifacts/artifacts.js';
import { unpack } from '../artifacts/page-pack.js';
import { CaptureError } from '../contract/capture-error.js';
import type { PageFilesOption } from '../contract/page-files.js';
import type { FileContents } from '../render/requests/own-files.js';

/**
 * Opens the stored files of a job.
 * @throws CaptureError `internal_error`: with status 503 if the storage cannot be reached, else if something has removed them
 */
export async function openFiles(artifacts: Pick<Artifacts, 'openPack'>, { pack, key }: PageFilesOption): Promise<FileContents> {
  const stored = pack === null ? null : await artifacts.openPack(pack);
  if (stored === null) {
    const message = 'The files of this request are no longer in the storage. Send the request again with another idempotency key.';
    throw new CaptureError({ code: 'internal_error', message });
  }
  return { read: async ({ start, end }) => unpack(await stored.read({ start, end }), key, start) };
}
