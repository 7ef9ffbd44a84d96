import sharp from 'sharp';

/** CSS px of one row of the page. */
export const ROW_PX = 10;

/** A page of rows, each of a color that says which it is. */
export function rowsPage(heightPx: number, extra = ''): string {
  return `<!doctype html><style>body{margin:0}i{display:block;height:${ROW_PX}px}</style>
<main></main>${extra}<script>
  const rowColor = ${rowColor};
  let rows = '';
  for (let y = 0, i = 0; y < ${heightPx}; y += ${ROW_PX}, i++) {
    const height = Math.min(${ROW_PX}, ${heightPx} - y);
    rows += '<i style="height:' + height + 'px;background:rgb(' + rowColor(i).join(',') + ')"></i>';
  }
  document.querySelector('main').innerHTML = rows;
</script>`;
}

/** Neighbors differ strongly, and a row's number can be read back: 32 levels of red, 32 of green, 16 of blue. */
export function rowColor(row: number): [number, number, number] {
  return [(row % 32) * 8, (Math.floor(row / 32) % 32) * 8, (row % 2) * 128 + (Math.floor(row / 1024) % 16) * 8];
}

export interface RowsVerdict {
  width: number;
  height: number;
  /** px rows that show another row of the page than they should. */
  wrong: number;
  firstWrong: number | null;
}

/** px around an edge between two rows in which a lossy format mixes them. */
const LOSSY_EDGE = 2;
const WHITE = [255, 255, 255];

/**
 * Compares each px row of a picture, at one column, with the page's row that should be there. A px row that two of the page's rows share
 * may be any mixture of them, and of the white behind them.
 *
 * @param how.ratio px per CSS px
 * @param how.tolerance per channel; 0: lossless
 */
export async function judgeRows(
  content: Uint8Array,
  how: { ratio: number; tolerance: number; pageHeight?: number },
): Promise<RowsVerdict> {
  const picture = sharp(content, { limitInputPixels: false });
  const { width, height } = await picture.metadata();
  const column = { left: Math.floor(width / 2), top: 0, width: 1, height };
  const { data } = await picture.removeAlpha().extract(column).raw().toBuffer({ resolveWithObject: true });
  const edge = how.tolerance === 0 ? 0 : LOSSY_EDGE;
  let wrong = 0;
  let firstWrong: number | null = null;
  for (let row = 0; row < height; row++) {
    const above = Math.floor((row - edge + 0.001) / how.ratio / ROW_PX);
    const below = Math.floor((row + 1 + edge - 0.001) / how.ratio / ROW_PX);
    if (edge > 0 && above !== below) continue;
    if (how.pageHeight !== undefined && (row + 1) / how.ratio > how.pageHeight) continue;
    const seen = [0, 1, 2].map((channel) => data[row * 3 + channel] ?? -1);
    const shared = above !== below;
    if (isBetween(seen, shared ? [rowColor(above), rowColor(below), WHITE] : [rowColor(above)], how.tolerance))
      continue;
    wrong++;
    firstWrong ??= row;
  }
  return { width, height, wrong, firstWrong };
}

function isBetween(seen: number[], colors: number[][], tolerance: number): boolean {
  return seen.every((value, channel) => {
    const ends = colors.map((color) => color[channel] ?? 0);
    return value >= Math.min(...ends) - tolerance && value <= Math.max(...ends) + tolerance;
  });
}
