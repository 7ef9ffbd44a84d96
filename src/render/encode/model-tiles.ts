import { CaptureError } from '../../contract/capture-error.js';
import {
  MODEL_ANSWER_MAX_BYTES,
  MODEL_EDGE_MAX_PX,
  MODEL_TILES_MAX,
  type ModelTile,
  type ModelTiles,
  type TileSelection,
} from '../../contract/model-tiles.js';
import { invalidRequest } from '../../contract/submission.js';
import { sharp } from '../../sharp.js';
import type { EncodeQueue } from '../memory.js';

/** Output px per CSS px that suffice for text. More only cost tokens. */
const DENSITY_MAX = 2;
/** A picture up to this much taller than a tile is scaled down instead of being cut. */
const SINGLE_MAX_RATIO = 1.5;
/** Rows of a tile that the next one repeats, in px, so that each line of text is complete in one of them. */
const OVERLAP_PX = 48;
/** Qualities, tried in this order until a tile is small enough. */
const QUALITIES = [80, 55, 30];
/** The decoders of webp and avif keep the whole picture in memory; others keep some rows. */
const DECODED_MAX_PIXELS = 50_000_000;

/** Makes the process encode one tile at a time, so that captures find free threads for their encoders. */
const ALONE = Number.POSITIVE_INFINITY;

type Cut = Pick<ModelTile, 'top' | 'bottom'>;

interface Plan {
  /** Factor from px of the picture to px of a tile. */
  scale: number;
  cuts: Cut[];
}

/**
 * Cuts a captured picture into tiles that a model can read, and returns those from `from` on that fit into one answer.
 * @param content png, jpeg, webp or avif
 * @throws CaptureError `invalid_request` if there is no such tile, or the picture is too large to be decoded here
 */
export async function modelTiles(
  encodes: EncodeQueue,
  content: Buffer,
  { from, density }: TileSelection,
): Promise<ModelTiles> {
  const { width, height, format } = await sharp(content, { limitInputPixels: false }).metadata();
  if (/^(webp|heif)$/.test(format) && width * height > DECODED_MAX_PIXELS) throw tooLarge();
  const { scale, cuts } = plan({ width, height, density });
  if (from > cuts.length) throw noSuchTile(cuts.length);
  const tiles: ModelTile[] = [];
  let leftBytes = MODEL_ANSWER_MAX_BYTES;
  for (const cut of cuts.slice(from - 1, from - 1 + MODEL_TILES_MAX)) {
    const tile = await encodes.run(ALONE, () => encodeTile(content, { width, scale, cut }));
    if (tile.length > leftBytes) break;
    leftBytes -= tile.length;
    tiles.push({ content: tile, mediaType: 'image/webp', ...cut });
  }
  return { tiles, from, total: cuts.length };
}

/** Plans tiles of equal height, each beginning with the last rows of the one above. */
function plan({ width, height, density }: { width: number; height: number; density: number }): Plan {
  const scale = Math.min(1, MODEL_EDGE_MAX_PX / width, DENSITY_MAX / density);
  if (height * scale <= MODEL_EDGE_MAX_PX * SINGLE_MAX_RATIO) {
    return { scale: Math.min(scale, MODEL_EDGE_MAX_PX / height), cuts: [{ top: 0, bottom: height }] };
  }
  const overlap = Math.ceil(OVERLAP_PX / scale);
  const most = Math.floor(MODEL_EDGE_MAX_PX / scale);
  const count = Math.ceil((height - overlap) / (most - overlap));
  const rows = Math.ceil((height + (count - 1) * overlap) / count);
  const cuts = Array.from({ length: count }, (_, index) => {
    const top = index * (rows - overlap);
    return { top, bottom: Math.min(top + rows, height) };
  });
  return { scale, cuts };
}

interface TilePart {
  width: number;
  scale: number;
  cut: Cut;
}

/** Encodes a tile so that it fits into one answer. */
async function encodeTile(content: Buffer, part: TilePart): Promise<Buffer> {
  for (const quality of QUALITIES) {
    const tile = await encode(content, part, quality);
    if (tile.length <= MODEL_ANSWER_MAX_BYTES) return tile;
  }
  // Only noise needs this, and it is as illegible at half the size.
  return await encode(content, { ...part, scale: part.scale / 2 }, QUALITIES.at(-1) ?? 1);
}

function encode(content: Buffer, { width, scale, cut }: TilePart, quality: number): Promise<Buffer> {
  const rows = cut.bottom - cut.top;
  const size = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(rows * scale)) };
  return sharp(content, { limitInputPixels: false, sequentialRead: true })
    .extract({ left: 0, top: cut.top, width, height: rows })
    .flatten({ background: '#fff' })
    .resize({ ...size, fit: 'fill' })
    .webp({ quality, effort: 2 })
    .toBuffer();
}

function noSuchTile(total: number): CaptureError {
  return invalidRequest([
    { path: 'from', message: total === 1 ? 'must be 1: the picture is one tile' : `must be at most ${total}` },
  ]);
}

function tooLarge(): CaptureError {
  return new CaptureError({
    code: 'invalid_request',
    message: 'The picture is too large to be shown here. Download it from `cdn_url`.',
  });
}
