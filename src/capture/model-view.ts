import { buffer } from 'node:stream/consumers';
import type { OpenArtifact } from '../artifacts/artifacts.js';
import { CaptureError } from '../contract/capture-error.js';
import type { ModelTiles, TileSelection } from '../contract/model-tiles.js';
import { modelTiles } from '../render/encode/model-tiles.js';
import { withoutBmp } from '../render/encode/whole-picture.js';
import type { EncodeQueue } from '../render/memory.js';
import { pictureDeleted } from './open-picture.js';

export interface ModelViewDeps {
  openPicture(name: string): Promise<OpenArtifact | 'deleted' | null>;
  encodes: EncodeQueue;
}

/** Largest picture that is shown: each is read whole, one at a time. */
const VIEWED_MAX_BYTES = 64_000_000;
/** Maximum number of waiting views; more are rejected. */
const WAITING_MAX = 8;

/**
 * Cuts stored pictures into tiles that a model can read, one picture at a time, so that views take neither the memory nor the encoder of
 * captures.
 */
export class ModelViews {
  readonly #deps: ModelViewDeps;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(deps: ModelViewDeps) {
    this.#deps = deps;
  }

  /**
   * @throws CaptureError `invalid_request` (410 if the picture has been deleted, and as in modelTiles), `rate_limited` when too many wait
   */
  async view(name: string, selection: TileSelection): Promise<ModelTiles> {
    if (this.#waiting >= WAITING_MAX) {
      const message = 'Too many pictures are being shown at the moment. Try again shortly.';
      throw new CaptureError({ code: 'rate_limited', message, retryAfterSeconds: 2 });
    }
    this.#waiting++;
    const view = this.#last.then(() => this.#tiles(name, selection));
    this.#last = view.catch(() => undefined);
    return await view.finally(() => {
      this.#waiting--;
    });
  }

  async #tiles(name: string, selection: TileSelection): Promise<ModelTiles> {
    const artifact = await this.#deps.openPicture(name);
    if (artifact === null || artifact === 'deleted') throw pictureDeleted();
    if (artifact.bytes > VIEWED_MAX_BYTES) {
      const message = `The picture has ${Math.round(artifact.bytes / 1e6)} MB, more than can be shown: capture the page as webp, or a part of it.`;
      throw new CaptureError({ code: 'invalid_request', message });
    }
    const content = await withoutBmp(await buffer(await artifact.read()));
    return await modelTiles(this.#deps.encodes, content, selection);
  }
}
