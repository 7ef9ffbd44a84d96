import type { Box } from '../contract/comparison.js';

/** The changed pixels of the area that both pictures have: one byte per pixel, 1 if it has changed. */
export interface Changes {
  width: number;
  height: number;
  changed: Uint8Array;
}

/** Changed pixels closer than one or two cells, in px, belong to the same region. */
export const CELL_PX = 16;
const REGIONS_MAX = 100;

/** The bounding box of changed pixels, with exclusive ends. */
export interface Bounds {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Groups changed pixels that are near each other. @returns their bounding boxes, the largest first, at most 100 */
export function changedRegions(changes: Changes): Box[] {
  const columns = Math.ceil(changes.width / CELL_PX);
  const cells = boundsByCell(changes, columns);
  const regions = joinedCells(new Set(cells.keys()), columns).map((joined) => {
    const region = { left: Number.POSITIVE_INFINITY, top: Number.POSITIVE_INFINITY, right: 0, bottom: 0 };
    for (const cell of joined) extend(region, cells.get(cell) ?? region);
    return region;
  });
  const boxes = regions.map(({ left, top, right, bottom }) => ({
    x: left,
    y: top,
    width: right - left,
    height: bottom - top,
  }));
  return boxes.sort((a, b) => b.width * b.height - a.width * a.height).slice(0, REGIONS_MAX);
}

/** Groups cells that touch each other, and empties the set. */
export function joinedCells(cells: Set<number>, columns: number): number[][] {
  const groups: number[][] = [];
  for (const first of cells) {
    const group: number[] = [];
    const open = [first];
    for (let cell = open.pop(); cell !== undefined; cell = open.pop()) {
      if (!cells.delete(cell)) continue;
      group.push(cell);
      open.push(...neighbors(cell, columns));
    }
    groups.push(group);
  }
  return groups;
}

/** The cells around a cell, of which some may lie outside the picture. */
export function neighbors(cell: number, columns: number): number[] {
  const column = cell % columns;
  const sideways = [0, ...(column > 0 ? [-1] : []), ...(column < columns - 1 ? [1] : [])];
  return [-columns, 0, columns]
    .flatMap((rows) => sideways.map((step) => cell + rows + step))
    .filter((other) => other !== cell);
}

function boundsByCell({ width, changed }: Changes, columns: number): Map<number, Bounds> {
  const cells = new Map<number, Bounds>();
  for (let at = changed.indexOf(1); at !== -1; at = changed.indexOf(1, at + 1)) {
    const [x, y] = [at % width, Math.floor(at / width)];
    const cell = Math.floor(y / CELL_PX) * columns + Math.floor(x / CELL_PX);
    const pixel = { left: x, top: y, right: x + 1, bottom: y + 1 };
    const bounds = cells.get(cell);
    if (bounds === undefined) cells.set(cell, pixel);
    else extend(bounds, pixel);
  }
  return cells;
}

function extend(region: Bounds, { left, top, right, bottom }: Bounds): void {
  region.left = Math.min(region.left, left);
  region.top = Math.min(region.top, top);
  region.right = Math.max(region.right, right);
  region.bottom = Math.max(region.bottom, bottom);
}
