/** Reads metadata and bookmarks of PDFs. Runs in the thread of `PdfFiles`. */
import { PdfBool, PdfDict, PdfName, PdfNumber, PdfString } from '@libpdf/core';
import type { PdfBookmark } from '../contract/pdf-work.js';
import { openPdf, resolved } from './open-pdf.js';
import { listBookmarks } from './outline.js';
import type { InputPdf } from './work-on-pdfs.js';

export interface PdfFacts {
  name: string;
  pages: number;
  version: string;
  /** The information dictionary. Dates are texts, as PDF writes them. */
  info: Record<string, string | number | boolean>;
  bookmarks: PdfBookmark[];
}

export interface ReadTask {
  read: readonly InputPdf[];
}

const ENTRIES_MAX = 200;
const TEXT_MAX_CHARS = 10_000;

/** @throws CaptureError `invalid_request` for files that cannot be read */
export async function readPdfs({ read }: ReadTask): Promise<PdfFacts[]> {
  const facts: PdfFacts[] = [];
  for (const { name, content } of read) {
    const open = await openPdf(content, name);
    const { pdf, pages } = open;
    const info = resolved(pdf, pdf.context.info.trailer.get('Info'));
    const entries = info instanceof PdfDict ? [...info].slice(0, ENTRIES_MAX) : [];
    const texts = entries.flatMap(([key, given]) => {
      const value = resolved(pdf, given);
      if (value instanceof PdfString) return [[key.value, value.asString().slice(0, TEXT_MAX_CHARS)] as const];
      if (value instanceof PdfName || value instanceof PdfNumber || value instanceof PdfBool)
        return [[key.value, value.value] as const];
      return [];
    });
    const bookmarks = listBookmarks(open);
    facts.push({ name, pages: pages.length, version: pdf.version, info: Object.fromEntries(texts), bookmarks });
  }
  return facts;
}
