/** Merges, splits, turns and flattens PDFs, and makes the edits of `editPdf` on each result. Runs in the thread of `PdfFiles`. */
import { PdfDict, PdfNumber } from '@libpdf/core';
import { CaptureError, refusedField } from '../contract/capture-error.js';
import { PDF_PAGES_MAX, PDFS_MADE_MAX_BYTES } from '../contract/limits.js';
import { pagesIn } from '../contract/page-ranges.js';
import type { PdfBookmark, PdfChanges } from '../contract/pdf-work.js';
import { viewOf } from '../thread.js';
import { editPdf, type PdfEdits } from './edit-pdf.js';
import { joinPdfs, type Part } from './join-pdfs.js';
import { linkParts } from './link-parts.js';
import { type OpenPdf, openPdf, resolved } from './open-pdf.js';
import { toBookmarks, writeOutline } from './outline.js';

export interface InputPdf {
  /** For errors, and of the results. */
  name: string;
  content: Uint8Array;
  /** With `merge`: the title of a bookmark that leads to the file, and contains its bookmarks. */
  chapter?: string;
  /** Whether the document's own title is preferred as that of the bookmark. */
  prefersTitle?: boolean;
  /** In place of its own. */
  bookmarks?: readonly PdfBookmark[];
  addresses?: readonly string[];
}

export interface PdfWork {
  files: readonly InputPdf[];
  changes: PdfChanges;
  /** The bookmarks of a merged PDF, in place of those of its files. */
  bookmarks?: readonly PdfBookmark[];
  /** Edits of each result. */
  edits?: PdfEdits;
}

export interface MadePdf {
  /** The name of the file, or of the first of those that are merged. */
  name: string;
  content: Buffer;
  pages: number;
  /** The number of the first page of each merged file, from 0. */
  firstPages: number[];
}

interface Source extends Part {
  name: string;
}

/** @throws CaptureError `invalid_request` for files that cannot be read or have too many pages, and for edits that a file does not permit */
export async function workOnPdfs(work: PdfWork): Promise<MadePdf[]> {
  try {
    return await makeAll(work);
  } catch (error) {
    if (error instanceof CaptureError) throw error;
    // The library throws errors of any kind for objects of other kinds than it expects, and for deep nesting.
    const message = 'One of the PDFs is damaged, or has something that cannot be worked on.';
    throw new CaptureError({ code: 'invalid_request', message, cause: error });
  }
}

async function makeAll(work: PdfWork): Promise<MadePdf[]> {
  const sources: Source[] = [];
  for (const file of work.files) sources.push(await openSource(file, work.changes));
  const count = sources.reduce((sum, source) => sum + pagesOf(source).length, 0);
  if (count > PDF_PAGES_MAX) throw tooManyPages();
  const made: MadePdf[] = [];
  let bytes = 0;
  for (const group of groupsOf(sources, work.changes)) {
    const one = await make(group, work);
    const content = viewOf(work.edits === undefined ? one.content : await edited(one, work.edits));
    bytes += content.length;
    if (bytes > PDFS_MADE_MAX_BYTES) throw tooLarge();
    made.push({ ...one, content });
  }
  return made;
}

async function edited({ name, content }: { name: string; content: Uint8Array }, edits: PdfEdits): Promise<Uint8Array> {
  try {
    return (await editPdf({ content, edits })).content;
  } catch (error) {
    if (error instanceof CaptureError) throw error;
    // Edits read every object. A copy has those that can be read.
    return (await editPdf({ content: await copyOf(await openPdf(content, name)), edits })).content;
  }
}

async function copyOf(open: OpenPdf): Promise<Uint8Array> {
  return await joinPdfs([{ open }]).pdf.save();
}

async function openSource(
  { name, content, chapter, prefersTitle, bookmarks, addresses }: InputPdf,
  { flatten, pages }: PdfChanges,
): Promise<Source> {
  let open = await openPdf(content, name);
  // A copy is neither encrypted nor damaged, and has pages that the library finds.
  const { isEncrypted, recoveredViaBruteForce } = open.pdf;
  if (isEncrypted || recoveredViaBruteForce || open.pdf.getPageCount() !== open.pages.length)
    open = await openPdf(await copyOf(open), name);
  if (flatten) flattenForms(open);
  const pageRefs = open.pages.map(({ ref }) => ref);
  if (bookmarks !== undefined) writeOutline(open.pdf, toBookmarks(bookmarks, pageRefs));
  const chosen = pages === null ? undefined : pagesIn(pages, open.pages.length);
  if (chosen?.length === 0) throw refusedField(name, `has none of the pages: it has ${open.pages.length}`);
  return {
    name,
    open,
    ...(chosen && { pages: chosen }),
    ...(chapter !== undefined && { chapter: (prefersTitle && open.pdf.getTitle()?.trim()) || chapter }),
    ...(addresses && { addresses }),
  };
}

function flattenForms({ pdf, pages }: OpenPdf): void {
  for (const { dict, inherited } of pages) {
    // @libpdf/core 0.4.2 takes a page without resources of its own for one without any, and adds to those that pages share.
    const resources = resolved(pdf, dict.get('Resources') ?? inherited.get('Resources'));
    const own = resources instanceof PdfDict ? resources.clone() : new PdfDict();
    const forms = resolved(pdf, own.get('XObject'));
    if (forms instanceof PdfDict) own.set('XObject', forms.clone());
    dict.set('Resources', own);
  }
  pdf.getForm()?.flatten();
  pdf.flattenAnnotations();
}

function pagesOf({ open, pages }: Part): number[] {
  return [...(pages ?? open.pages.keys())];
}

/** The files, or parts of them, of each result. */
function groupsOf(sources: readonly Source[], { merge, split }: PdfChanges): Source[][] {
  const documents = merge === null ? sources.map((source) => [source]) : [[...sources]];
  if (split === null) return documents;
  return documents.flatMap((document) => {
    const pages = document.flatMap((source) => pagesOf(source).map((page) => ({ source, page })));
    return chunksOf(pages.length, split).map((chunk) => {
      const parts = new Map<Source, number[]>();
      for (const nth of chunk) {
        const { source, page } = pages[nth] as (typeof pages)[number];
        const list = parts.get(source) ?? [];
        parts.set(source, list);
        list.push(page);
      }
      return [...parts].map(([source, list]) => ({ ...source, pages: list }));
    });
  });
}

/** The numbers of the pages of each result, from 0. @throws CaptureError `invalid_request` for ranges without pages */
function chunksOf(count: number, split: NonNullable<PdfChanges['split']>): number[][] {
  if ('ranges' in split) {
    const chunks = split.ranges.map((ranges) => pagesIn(ranges, count));
    const empty = chunks.findIndex((chunk) => chunk.length === 0);
    if (empty !== -1) throw refusedField(`split.ranges.${empty}`, `has none of the ${count} pages`);
    return chunks;
  }
  const chunks: number[][] = [];
  for (let at = 0; at < count; at += split.every)
    chunks.push(Array.from({ length: Math.min(split.every, count - at) }, (_, nth) => at + nth));
  return chunks;
}

async function make(
  group: readonly Source[],
  { changes: { merge, rotate }, bookmarks }: PdfWork,
): Promise<Omit<MadePdf, 'content'> & { content: Uint8Array }> {
  const [first] = group;
  if (first === undefined) throw new Error('A PDF is made of no files.');
  const { name, open } = first;
  if (group.length === 1 && first.pages === undefined && first.chapter === undefined) {
    if (rotate !== null) rotatePages(open, rotate);
    return { name, content: await open.pdf.save({ incremental: true }), pages: open.pages.length, firstPages: [0] };
  }
  const joined = joinPdfs(group, merge ?? {});
  linkParts(joined, group);
  const { pdf, pages, firstPages } = joined;
  if (bookmarks !== undefined) writeOutline(pdf, toBookmarks(bookmarks, pages));
  const found = pages.flatMap((ref) => {
    const dict = pdf.getObject(ref);
    return dict instanceof PdfDict ? [{ ref, dict, inherited: new Map() }] : [];
  });
  if (rotate !== null) rotatePages({ pdf, pages: found }, rotate);
  return { name, content: await pdf.save(), pages: pages.length, firstPages };
}

function rotatePages(
  { pdf, pages }: Pick<OpenPdf, 'pdf' | 'pages'>,
  { degrees, pages: ranges }: NonNullable<PdfChanges['rotate']>,
): void {
  for (const nth of ranges === null ? pages.keys() : pagesIn(ranges, pages.length)) {
    const page = pages[nth];
    const current = resolved(pdf, page?.dict.get('Rotate') ?? page?.inherited.get('Rotate'));
    const before = current instanceof PdfNumber ? current.value : 0;
    page?.dict.set('Rotate', PdfNumber.of((((before + degrees) % 360) + 360) % 360));
  }
}

/** Each part of a file has the fonts and pictures that its pages use, and the attachments. */
function tooLarge(): CaptureError {
  const message = `The results have more than ${PDFS_MADE_MAX_BYTES / 1e6} MB together. Split the files into fewer parts.`;
  return new CaptureError({ code: 'invalid_request', message });
}

function tooManyPages(): CaptureError {
  const message = `The files have more than ${PDF_PAGES_MAX} pages together.`;
  return new CaptureError({ code: 'invalid_request', message });
}
