import type { PdfOption } from '../../contract/capture-request.js';
import { lengthToInches, PAPER_INCHES } from '../../contract/pdf-schema.js';
import type { PageBox } from '../in-page/rules.js';
import type { Margins } from './print-template.js';

/** The layout of a page on paper, in inches. */
export interface Sheet {
  /** The factor by which the page's own `@page` size exceeds its printed size; 1 if it fits the paper. */
  shrink: number;
  /** The width between the margins, at a scale of 1 and before `shrink`. */
  contentWidth: number;
  /** Distances from the edges of the paper to the content. */
  margins: Margins;
}

/** The position of a page's content on paper. The page's own `@page` rules take precedence over the request's margins, as in Chromium. */
export function sheetOf(pdf: Pick<PdfOption, 'paper' | 'margin' | 'preferCssPageSize'>, own: PageBox): Sheet {
  const page = sizeOf(own.size, pdf.paper) ?? pdf.paper;
  const margin = {
    top: lengthToInches(own['margin-top'] ?? '') ?? pdf.margin.top,
    right: lengthToInches(own['margin-right'] ?? '') ?? pdf.margin.right,
    bottom: lengthToInches(own['margin-bottom'] ?? '') ?? pdf.margin.bottom,
    left: lengthToInches(own['margin-left'] ?? '') ?? pdf.margin.left,
  };
  const contentWidth = page.width - margin.left - margin.right;
  if (pdf.preferCssPageSize) return { shrink: 1, contentWidth, margins: margin };
  // A page of another size than the paper is centred on it, and shrunk to fit.
  const printed = Math.min(1, pdf.paper.width / page.width, pdf.paper.height / page.height);
  const aside = (pdf.paper.width - page.width * printed) / 2;
  const above = (pdf.paper.height - page.height * printed) / 2;
  const margins = {
    top: above + margin.top * printed,
    right: aside + margin.right * printed,
    bottom: above + margin.bottom * printed,
    left: aside + margin.left * printed,
  };
  return { shrink: 1 / printed, contentWidth, margins };
}

/** The size specified by the property `size`; null if there is none. */
function sizeOf(size: string | undefined, paper: PdfOption['paper']): PdfOption['paper'] | null {
  const words = (size ?? '').toLowerCase().split(/\s+/);
  const lengths = words.map(lengthToInches).filter((length) => length !== null);
  const [width, height = width] = lengths;
  const [, named] = Object.entries(PAPER_INCHES).find(([name]) => words.includes(name)) ?? [];
  const found = width !== undefined && height !== undefined ? { width, height } : named;
  const turn = words.find((word) => word === 'landscape' || word === 'portrait');
  if (turn === undefined) return found ?? null;
  const [short, long] = [found ?? paper].flatMap((one) => [one.width, one.height]).sort((a, b) => a - b) as [number, number];
  return turn === 'landscape' ? { width: long, height: short } : { width: short, height: long };
}
