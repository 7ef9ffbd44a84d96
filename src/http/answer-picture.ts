import type { Context } from 'hono';
import { pictureDeleted } from '../capture/open-picture.js';
import type { CaptureData } from '../contract/capture-data.js';
import type { AppEnv, AppServices } from './app-services.js';
import { sendArtifact } from './send-artifact.js';

export interface PictureAnswer {
  data: CaptureData;
  cacheControl: string;
  /** Whether range and conditional requests are honoured. */
  conditional: boolean;
}

/**
 * Answers with the picture itself (extensions.md, Answers).
 *
 * @throws CaptureError `invalid_request` (410) if the picture has been deleted, `internal_error` (503) if the storage cannot be reached
 */
export async function answerPicture(
  services: AppServices,
  c: Context<AppEnv>,
  { data, cacheControl, conditional }: PictureAnswer,
): Promise<Response> {
  const artifact = await services.openPicture(data.artifact);
  if (artifact === null || artifact === 'deleted') throw pictureDeleted();
  const { headers } = c.var.exchange;
  headers['x-width'] = String(data.width);
  headers['x-height'] = String(data.height);
  headers['x-cached'] = String(data.cached);
  return await sendArtifact(services, c, { name: data.artifact, artifact, cacheControl, conditional, mayRedirect: false });
}
