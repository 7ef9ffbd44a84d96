/** Pages by their numbers, as people write them: `1-3,5,8-`. */

/** From 1, both inclusive. */
export interface PageRange {
  from: number;
  to: number;
}

export const PAGE_RANGES_RULE = 'must be page numbers and ranges from 1 up, such as 1-3,5,8-';
export const PAGE_RANGES_MAX_CHARS = 1_000;

/** @returns null for another text */
export function readPageRanges(text: string): PageRange[] | null {
  const ranges: PageRange[] = [];
  for (const one of text.split(',')) {
    const [, from = '', dash, to = ''] = /^(\d{1,6})(?:(-)(\d{0,6}))?$/.exec(one.replace(/\s/g, '')) ?? [];
    const last = dash === undefined ? Number(from) : to === '' ? Number.POSITIVE_INFINITY : Number(to);
    if (from === '' || Number(from) < 1 || last < Number(from)) return null;
    ranges.push({ from: Number(from), to: last });
  }
  return ranges;
}

/** The numbers, from 0, of those pages that a document has, in the order of the ranges, each once. */
export function pagesIn(ranges: readonly PageRange[], count: number): number[] {
  const pages = new Set<number>();
  for (const { from, to } of ranges) for (let page = from; page <= Math.min(to, count); page++) pages.add(page - 1);
  return [...pages];
}
