/** Reads and edits PDFs of Chromium and pdfkit. Runs in the thread of `PdfFiles`. */
import { PDF } from '@libpdf/core';
import type { Conformance, FacturX, PdfAttachment, PdfMetadata, PdfPassword } from '../contract/document-schema.js';
import { pagesByDestination } from './destinations.js';
import { drawOver, type Overlay } from './draw-over.js';

/** What is done to a PDF, and read from it. Text, links, tags and outline stay as they are. */
export interface PdfEdits {
  /** The language (WCAG 2, PDF16) of a document that declares none, as Chromium 156 makes those without tags. Ignored unless it is a language tag. */
  language?: string;
  /** Pages that are drawn over those of the PDF. */
  overlays?: readonly Overlay[];
  /** Names of destinations whose pages are wanted. */
  targets?: readonly string[];
  /** Replaces what the document says about itself, entry by entry. */
  metadata?: PdfMetadata;
  /** @throws CaptureError `invalid_request` for what cannot be made to conform */
  conformance?: readonly Conformance[];
  attachments?: readonly PdfAttachment[];
  /** Implies `pdf/a-3b`. */
  facturx?: FacturX;
  /** Applied last. */
  password?: PdfPassword;
}

/** The first page's size in CSS px, and the number of pages. */
export interface ReadPdf {
  width: number;
  height: number;
  pages: number;
  /** The pages of `targets`, from 1 on; null for those that are not there. Absent without `targets`. */
  targetPages?: (number | null)[];
}

export interface PdfTask {
  content: Uint8Array;
  edits: PdfEdits;
}

const CSS_PX_PER_POINT = 96 / 72;
const LANGUAGE_TAG = /^[a-z]{1,8}(?:-[a-z0-9]{1,8}){0,8}$/i;

export async function editPdf({ content, edits }: PdfTask): Promise<ReadPdf & { content: Uint8Array }> {
  const pdf = await PDF.load(content, { lenient: false });
  const page = pdf.getPage(0);
  if (page === null) throw new Error('The PDF has no page.');
  const { language = '', overlays = [], targets } = edits;
  if (LANGUAGE_TAG.test(language) && pdf.getLanguage() === undefined) pdf.setLanguage(language);
  await drawOver(pdf, overlays);
  const found = targets === undefined ? {} : { targetPages: pagesByDestination(pdf, targets) };
  const [width, height] = [page.width, page.height].map((points) => Math.round(points * CSS_PX_PER_POINT)) as [
    number,
    number,
  ];
  // Appending takes a twentieth of the time that writing all objects anew would take.
  return { content: await pdf.save({ incremental: true }), width, height, pages: pdf.getPageCount(), ...found };
}
