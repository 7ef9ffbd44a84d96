import sharp from 'sharp';

/** CSS px of one row of the page. */
export const ROW_PX = 10;

/** A page of rows, each of a colour that says which it is. */
export function rowsPage(heightPx: number, extra = ''): string {
  return `<!doctype html><style>body{margin:0}i{display:block;height:${ROW_PX}px}</style>
<main></main>${extra}<script>
  const rowColour = ${rowColour};
  let rows = '';
  for (let y = 0, i = 0; y < ${heightPx}; y += ${ROW_PX}, i++) {
    const height = Math.min(${ROW_PX}, ${heightPx} - y);
    rows += '<i style="height:' + height + 'px;background:rgb(' + rowColour(i).join(',') + ')"></i>';
  }
  document.querySelector('main').innerHTML = rows;
</script>`;
}

/** Neighbours differ strongly, and a row's number can be read back: 32 levels of red, 32 of green, 16 of blue. */
export function rowColour(row: number): [number, number, number] {
  return [(row % 32) * 8, (Math.floor(row / 32) % 32) * 8, (row % 2) * 128 + (Math.floor(row / 1024) % 16) * 8];
}

export interface RowsVerdict {
  width: number;
  height: number;
  /** px rows that show another row of the page than they should. */
  wrong: number;
  firstWrong: number | null;
}

/**
 * Compares each px row of a picture, at one column, with the page's row that should be there.
 * Where px and CSS px do not meet in whole numbers, the browser rounds each edge to a px row of its choice.
 *
 * @param how.ratio px per CSS px
 * @param how.tolerance per channel
 */
export async function judgeRows(content: Uint8Array, how: { ratio: number; tolerance: number; column?: number }): Promise<RowsVerdict> {
  const picture = sharp(content, { limitInputPixels: false });
  const { width, height } = await picture.metadata();
  const left = how.column ?? Math.floor(width / 2);
  const { data, info } = await picture
    .removeAlpha()
    .extract({ left, top: 0, width: 1, height })
    .raw()
    .toBuffer({ resolveWithObject: true });
  let wrong = 0;
  let firstWrong: number | null = null;
  for (let row = 0; row < info.height; row++) {
    const seen = [data[row * 3] ?? -1, data[row * 3 + 1] ?? -1, data[row * 3 + 2] ?? -1];
    const candidates = (Number.isInteger(how.ratio) ? [0.5] : [-0.6, 0.5, 1.6]).map((edge) =>
      Math.floor((row + edge) / how.ratio / ROW_PX),
    );
    const right = candidates.some((candidate) =>
      rowColour(candidate).every((value, channel) => Math.abs(value - (seen[channel] ?? 0)) <= how.tolerance),
    );
    if (right) continue;
    wrong++;
    firstWrong ??= row;
  }
  return { width, height, wrong, firstWrong };
}
