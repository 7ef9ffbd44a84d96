/** POST /v1/pdf: what is done to PDFs that exist (extensions.md, POST /v1/pdf). */
import { z } from 'zod';
import { readArtifactName } from './comparison.js';
import {
  type Conformance,
  documentFields,
  type FacturX,
  type PdfMetadata,
  type PdfPassword,
  type WireAttachment,
  withDocumentRules,
} from './document-schema.js';
import { limited } from './field-rules.js';
import { isId } from './ids.js';
import { PDF_FILES_MAX, PDF_PAGES_MAX, URL_MAX_BYTES } from './limits.js';
import { PAGE_RANGES_MAX_CHARS, PAGE_RANGES_RULE, type PageRange, readPageRanges } from './page-ranges.js';
import { EXTENSION } from './request-fields.js';
import { invalidField, parseFields } from './submission.js';

const pageRanges = (description: string, example: string) =>
  limited(PAGE_RANGES_MAX_CHARS)
    .refine((text) => readPageRanges(text) !== null, PAGE_RANGES_RULE)
    .meta({ description, example });

export const pdfWorkSchema = withDocumentRules(
  z.strictObject({
    files: z
      .array(limited(URL_MAX_BYTES).min(1))
      .min(1)
      .max(PDF_FILES_MAX)
      .optional()
      .meta({
        description:
          'the PDFs in their order: the id of a job, the `cdn_url` of a PDF of this server, or the name of a file that the form has. Default: the files of the form',
        example: ['job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8', 'terms.pdf'],
      }),
    flatten: z.boolean().default(false).meta({
      description: 'form fields and annotations become part of the pages; links stay',
      example: true,
    }),
    pages: pageRanges('the pages of each file that are kept, in this order', '1-3,5,8-').optional(),
    merge: z.boolean().default(false).meta({
      description: 'all files become one, with the bookmarks, links, form fields, tags and attachments of each',
      example: true,
    }),
    chapters: z.boolean().default(false).meta({
      description: 'with `merge`, each file gets a bookmark with its name, which contains its own bookmarks',
      example: true,
    }),
    blank_pages_to_odd: z.boolean().default(false).meta({
      description: 'with `merge`, each file begins on an odd page, as for printing on both sides',
      example: true,
    }),
    split: z
      .strictObject({
        every: z
          .int()
          .min(1)
          .max(PDF_PAGES_MAX)
          .optional()
          .meta({ description: 'how many pages each PDF has at most', example: 10 }),
        ranges: z
          .array(pageRanges('the pages of one PDF', '1-3'))
          .min(1)
          .max(PDF_FILES_MAX)
          .optional()
          .meta({ description: 'the pages of each PDF', example: ['1-3', '4-'] }),
      })
      .refine(({ every, ranges }) => (every === undefined) !== (ranges === undefined), 'needs `every` or `ranges`')
      .optional()
      .meta({ description: 'makes several PDFs, which are sent as a zip file' }),
    rotate: z
      .strictObject({
        degrees: z
          .union([z.literal(90), z.literal(180), z.literal(270)], { error: 'must be 90, 180 or 270' })
          .meta({ description: 'how far pages are turned clockwise', example: 90 }),
        pages: pageRanges('the pages of each result that are turned. Default: all', '2-').optional(),
      })
      .optional()
      .meta({ description: 'turns pages' }),
    ...documentFields,
  }),
).meta({ id: 'PdfRequest', ...EXTENSION });

/** The source of a PDF. */
export type PdfSource =
  | { kind: 'job'; jobId: string }
  | { kind: 'artifact'; name: string }
  | { kind: 'part'; name: string };

/** In the order in which it is done. */
export interface PdfChanges {
  flatten: boolean;
  /** The pages that each file keeps. */
  pages: readonly PageRange[] | null;
  /** `startOnOddPages` adds a blank page before a file that would begin on an even one. */
  merge: { startOnOddPages: boolean } | null;
  split: { every: number } | { ranges: readonly (readonly PageRange[])[] } | null;
  /** Pages of each result; null for all. */
  rotate: { degrees: number; pages: readonly PageRange[] | null } | null;
}

/** `page` counts from 1. */
export interface PdfBookmark {
  title: string;
  page: number;
  children: readonly PdfBookmark[];
}

export const NO_CHANGES: PdfChanges = { flatten: false, pages: null, merge: null, split: null, rotate: null };

export interface ParsedPdfWork {
  /** null: the files of the form. */
  files: PdfSource[] | null;
  /** Whether each merged file gets a bookmark with its name. */
  chapters: boolean;
  changes: PdfChanges;
  /** Edits of each result. */
  edits: {
    metadata?: PdfMetadata;
    conformance?: readonly Conformance[];
    facturx?: FacturX;
    password?: PdfPassword;
  };
  attachments: readonly WireAttachment[];
}

/** @throws CaptureError `invalid_request`, with every problem in `details.issues` */
export function parsePdfWork(body: unknown): ParsedPdfWork {
  const fields = parseFields(pdfWorkSchema, body);
  const { files, flatten, pages, merge, chapters, split, rotate } = fields;
  for (const name of ['chapters', 'blank_pages_to_odd'] as const)
    if (fields[name] && !merge) throw invalidField(name, 'needs `merge`');
  const changes: PdfChanges = {
    flatten,
    pages: rangesOf(pages),
    merge: merge ? { startOnOddPages: fields.blank_pages_to_odd } : null,
    split: split === undefined ? null : splitOf(split),
    rotate: rotate === undefined ? null : { degrees: rotate.degrees, pages: rangesOf(rotate.pages) },
  };
  const { metadata, conformance, facturx, password, attachments = [] } = fields;
  const edits = {
    ...(metadata && { metadata }),
    ...(conformance && { conformance: [conformance].flat() }),
    ...(facturx && { facturx }),
    ...(password && { password }),
  };
  const requested = [...Object.values(changes), ...Object.values(edits), attachments.length > 0];
  if (!requested.some(Boolean)) throw invalidField('', NOTHING);
  return { files: files?.map(readSource) ?? null, chapters, changes, edits, attachments };
}

function rangesOf(text: string | undefined): PageRange[] | null {
  return text === undefined ? null : readPageRanges(text);
}

function splitOf({ every, ranges = [] }: NonNullable<z.output<typeof pdfWorkSchema>['split']>): PdfChanges['split'] {
  return every === undefined ? { ranges: ranges.map((text) => rangesOf(text) ?? []) } : { every };
}

const NOTHING =
  'The request says nothing to do: name at least one of merge, pages, split, rotate, flatten, metadata, conformance, attachments, facturx, password.';

function readSource(text: string): PdfSource {
  if (isId('job', text)) return { kind: 'job', jobId: text };
  const name = readArtifactName(text);
  return name === null ? { kind: 'part', name: text } : { kind: 'artifact', name };
}
