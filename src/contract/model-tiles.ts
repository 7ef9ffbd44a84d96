/** Pictures of a capture in a size that language models can read: one, or tiles of a long page from top to bottom. */

/** Models scale larger pictures down. */
export const MODEL_EDGE_MAX_PX = 1_568;
/** The size of all tiles of one answer together: less than 1 MB as base64, which is what common clients accept. */
export const MODEL_ANSWER_MAX_BYTES = 700_000;
/** The number of tiles in one answer. Each costs a model about 2,000 tokens. */
export const MODEL_TILES_MAX = 4;

export interface ModelTile {
  content: Buffer;
  mediaType: 'image/webp';
  /** The rows of the captured picture that it shows: from `top` up to, but not including, `bottom`. */
  top: number;
  bottom: number;
}

export interface ModelTiles {
  /** Never empty. */
  tiles: ModelTile[];
  /** Number of the first one, counted from 1. */
  from: number;
  /** Number of all tiles of the picture. */
  total: number;
}

export interface TileSelection {
  /** Number of the first tile, counted from 1. */
  from: number;
  /** Pixels of the picture per CSS px. */
  density: number;
}
