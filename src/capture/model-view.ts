import { buffer } from 'node:stream/consumers';
import type { OpenArtifact } from '../artifacts/artifacts.js';
import type { ModelTiles, TileOrder } from '../contract/model-tiles.js';
import type { EncodeQueue } from '../render/picture/encode-queue.js';
import { modelTiles } from '../render/picture/model-tiles.js';
import { pictureDeleted } from './open-picture.js';

export interface ModelViewDeps {
  openPicture(name: string): Promise<OpenArtifact | 'deleted' | null>;
  encodes: EncodeQueue;
}

/**
 * A stored picture in tiles that a model can read.
 *
 * @throws CaptureError `invalid_request`: 410 if the picture has been deleted, and as modelTiles
 */
export async function modelView(deps: ModelViewDeps, name: string, order: TileOrder): Promise<ModelTiles> {
  const artifact = await deps.openPicture(name);
  if (artifact === null || artifact === 'deleted') throw pictureDeleted();
  return await modelTiles(deps.encodes, await buffer(await artifact.read()), order);
}
