/** Reads and edits PDFs of Chromium and pdfkit. Runs in the thread of `PdfFiles`. */
import { PDF } from '@libpdf/core';
import { refusedField } from '../contract/capture-error.js';
import {
  type Conformance,
  conformancesOf,
  type FacturX,
  type PdfAttachment,
  type PdfMetadata,
  type PdfPassword,
  PERMISSIONS,
} from '../contract/document-schema.js';
import { camelName } from '../contract/field-rules.js';
import { readInvoice } from '../contract/invoice-xml.js';
import { attachFiles } from './attachments.js';
import { claims, makeConform } from './conformance.js';
import { pagesOfDestinations } from './destinations.js';
import { drawOver, type Overlay } from './draw-over.js';
import { invoiceFile, invoiceSchema } from './facturx.js';
import { toPdfDate, writeInfo, writeXmp } from './xmp.js';

/** Edits of a PDF, and facts that are read from it. Text, links, tags and outline stay as they are. */
export interface PdfEdits {
  /** The language (WCAG 2, PDF16) of a document that declares none, as Chromium 156 makes those without tags. Ignored unless it is a language tag. */
  language?: string;
  /** Pages that are drawn over those of the PDF. */
  overlays?: readonly Overlay[];
  /** Names of destinations whose pages are wanted. */
  targets?: readonly string[];
  /** A prefix of the names of the following fields in errors. */
  field?: string;
  /** Replaces what the document says about itself, entry by entry. */
  metadata?: PdfMetadata;
  /** @throws CaptureError `invalid_request` for what cannot be made to conform */
  conformance?: readonly Conformance[];
  attachments?: readonly PdfAttachment[];
  /** Implies `pdf/a-3b`. */
  facturx?: FacturX;
  /** Applied last. */
  password?: PdfPassword;
  /** Whether `description` is wanted. */
  describe?: boolean;
}

export interface PdfDescription {
  title: string;
  /** The size of each page in points. */
  sheets: [width: number, height: number][];
  /** The pages, from 1 on, of named destinations. */
  destinations: Map<string, number>;
}

/** The first page's size in CSS px, and the number of pages. */
export interface ReadPdf {
  width: number;
  height: number;
  pages: number;
  /** The pages of `targets`, from 1 on; null for those that are not there. Absent without `targets`. */
  targetPages?: (number | null)[];
  description?: PdfDescription;
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
  const { language = '', overlays = [], targets, describe = false, password } = edits;
  if (LANGUAGE_TAG.test(language) && pdf.getLanguage() === undefined) pdf.setLanguage(language);
  await drawOver(pdf, overlays);
  const found = {
    ...(targets === undefined ? {} : { targetPages: pagesOf(pdf, targets) }),
    ...(describe ? { description: descriptionOf(pdf) } : {}),
  };
  describeDocument(pdf, edits);
  if (password !== undefined) protect(pdf, password);
  const [width, height] = [page.width, page.height].map((points) => Math.round(points * CSS_PX_PER_POINT)) as [
    number,
    number,
  ];
  // Appending takes a twentieth of the time that writing all objects anew would take.
  const edited = await pdf.save({ incremental: true, compressStreams: false });
  return { content: edited, width, height, pages: pdf.getPageCount(), ...found };
}

/** Applies what the document says about itself, and what it brings along. */
function describeDocument(
  pdf: PDF,
  { field = '', metadata, attachments = [], facturx, conformance = [] }: PdfEdits,
): void {
  const invoice = facturx === undefined ? null : readInvoice(facturx.xml);
  if (typeof invoice === 'string') throw refusedField(`${field}facturx.xml`, invoice);
  const all = conformancesOf({ conformance: [...conformance], facturx });
  if (metadata === undefined && attachments.length === 0 && all.length === 0) return;
  const info = writeInfo(pdf, metadata ?? {});
  const files = [...attachments];
  if (facturx !== undefined && invoice !== null) files.push(invoiceFile(facturx, invoice));
  if (files.length > 0) attachFiles(pdf, files, toPdfDate(new Date().toISOString()));
  makeConform(pdf, all, { info, field: `${field}conformance` });
  const schemas = [...claims(all), ...(invoice === null ? [] : [invoiceSchema(invoice)])];
  writeXmp(pdf, info, { schemas, keywords: metadata?.keywords });
}

function protect(pdf: PDF, { user, owner, permissions }: PdfPassword): void {
  const allowed = PERMISSIONS.map((one): [string, boolean] => [
    camelName(one),
    permissions === undefined || permissions.includes(one),
  ]);
  pdf.upgradeVersion('2.0');
  pdf.setProtection({
    ...(user === undefined ? {} : { userPassword: user }),
    ...(owner === undefined ? {} : { ownerPassword: owner }),
    permissions: Object.fromEntries(allowed),
  });
}

function pagesOf(pdf: PDF, targets: readonly string[]): (number | null)[] {
  const pages = pagesOfDestinations(pdf);
  return targets.map((name) => pages.get(name) ?? null);
}

function descriptionOf(pdf: PDF): PdfDescription {
  const sheets = pdf.getPages().map(({ width, height }): [number, number] => [width, height]);
  return { title: pdf.getTitle() ?? '', sheets, destinations: pagesOfDestinations(pdf) };
}
