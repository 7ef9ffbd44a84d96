/** Headers and footers that differ between pages (extensions.md, PDFs on paper), which Chromium 156 cannot print at once. */
import type { PdfOption } from '../../contract/capture-request.js';
import { pageChooser } from '../../contract/pdf-schema.js';

export type Templates = Pick<PdfOption, 'headerTemplate' | 'footerTemplate'>;

/** Pages with the same header and footer. */
export interface PagesAlike extends Templates {
  /** Their places in the file, from 0 on. */
  places: number[];
}

/**
 * The pages that have a header or footer.
 * @param printed the numbers of the pages in the file
 * @param pages the number of pages of the whole document
 */
export function pagesAlike(
  { headers = [], headerTemplate, footerTemplate }: Pick<PdfOption, 'headers' | keyof Templates>,
  { printed, pages }: { printed: readonly number[]; pages: number },
): PagesAlike[] {
  const entries = headers.map((entry) => ({ ...entry, isFor: pageChooser(entry.pages) }));
  const all = [...entries, { header: headerTemplate ?? '', footer: footerTemplate ?? '', isFor: () => true }];
  const groups = new Map<string, { header: string; footer: string; places: number[] }>();
  for (const [place, page] of printed.entries()) {
    const [header, footer] = (['header', 'footer'] as const).map((part) =>
      all.findIndex((entry) => entry[part] !== undefined && entry.isFor(page, pages)),
    ) as [number, number];
    const key = `${header} ${footer}`;
    const group = groups.get(key) ?? {
      header: all[header]?.header ?? '',
      footer: all[footer]?.footer ?? '',
      places: [],
    };
    group.places.push(place);
    groups.set(key, group);
  }
  return [...groups.values()]
    .filter(({ header, footer }) => header + footer !== '')
    .map(({ header, footer, places }) => ({
      headerTemplate: header === '' ? null : header,
      footerTemplate: footer === '' ? null : footer,
      places,
    }));
}

/** The numbers of the document's pages in a file with this many of them. */
export function printedPages(pageRanges: string | null, count: number): number[] {
  if (pageRanges === null) return Array.from({ length: count }, (_, place) => place + 1);
  const ranges = pageRanges.split(',').map((range) => range.split('-').map(Number) as [number, number?]);
  const printed: number[] = [];
  for (const [from, to = from] of ranges.sort(([one], [other]) => one - other))
    for (let page = Math.max(from, (printed.at(-1) ?? 0) + 1); page <= to && printed.length < count; page++)
      printed.push(page);
  return printed;
}

/** Numbers of pages in the form of `page_ranges`: `1-3,5` for 1, 2, 3 and 5. */
export function rangesOf(pages: readonly number[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const page of pages) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === page - 1) last[1] = page;
    else ranges.push([page, page]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}
