import type { Context } from 'hono';
import { pictureDeleted } from '../capture/open-picture.js';
import type { CaptureData } from '../contract/capture-data.js';
import type { Edge, EdgeEnv } from './edge.js';
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
  edge: Edge,
  c: Context<EdgeEnv>,
  { data, cacheControl, conditional }: PictureAnswer,
): Promise<Response> {
  const artifact = await edge.openPicture(data.artifact);
  if (artifact === null || artifact === 'deleted') throw pictureDeleted();
  const { headers } = c.var.exchange;
  headers['x-width'] = String(data.width);
  headers['x-height'] = String(data.height);
  headers['x-cached'] = String(data.cached);
  return await sendArtifact(edge, c, { name: data.artifact, artifact, cacheControl, conditional, mayRedirect: false });
}
