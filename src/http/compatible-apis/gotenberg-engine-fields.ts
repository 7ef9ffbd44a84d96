/** The fields of Gotenberg's PDF engines, and what they do to PDFs. */
import { z } from 'zod';
import type { FoundAttachment, FoundPdf, PdfRequest } from '../../capture/work-on-pdfs.js';
import { CaptureError } from '../../contract/capture-error.js';
import { type Conformance, documentFields, PERMISSIONS, RELATIONSHIPS } from '../../contract/document-schema.js';
import { isObject } from '../../contract/field-rules.js';
import { type PageRange, readPageRanges } from '../../contract/page-ranges.js';
import { NO_CHANGES, type PdfBookmark, type PdfChanges } from '../../contract/pdf-work.js';
import { invalidField, invalidRequest, type RequestIssue } from '../../contract/submission.js';
import { type CompatibleField, field, issuesOf, keep, put, refused } from './compatible-api.js';
import { boolean, excerpt, goSyntax, INVALID, invalid, json, oneOf } from './gotenberg-values.js';

type Permission = (typeof PERMISSIONS)[number];

/** The values of a form's fields. */
export interface EngineReading {
  split: { mode: string; span: string; unify: boolean };
  pdfa: string;
  pdfua: boolean;
  metadata: Record<string, unknown>;
  rotate: { degrees: number; pages: string };
  passwords: { user: string; owner: string };
  forbidden: Permission[];
  embedsMetadata: Record<string, Record<string, string>>;
  flatten: boolean;
  titleBookmarks: boolean;
  /** A list is for the result; an object has a list for each file, by its name. */
  bookmarks: readonly PdfBookmark[] | Readonly<Record<string, readonly PdfBookmark[]>> | null;
}

/** A form whose files have been received. */
export interface EngineForm {
  fields: Record<string, string>;
  /** In Gotenberg's order. */
  files: FoundPdf[];
  embeds: FoundPdf[];
}

export const NOT_HERE = 'is not supported here: send the PDF to a Gotenberg';
const SPLIT_REFUSED =
  "The requested split mode is not supported, or no PDF engine could process it. Valid modes: 'intervals', 'pages'.";
const FORMAT_REFUSED =
  'The requested PDF format is not supported, or no PDF engine could apply it. Valid formats include PDF/A-1b, PDF/A-2b, PDF/A-3b, and PDF/UA.';
export const NO_FILES: RequestIssue = { path: '', message: 'no form file found for extensions: [.pdf]' };
const PDF_FORMATS = /^PDF\/A-[123][abu]$/;
const CONFORMANCES: Record<string, Conformance> = {
  'PDF/A-2b': 'pdf/a-2b',
  'PDF/A-2u': 'pdf/a-2u',
  'PDF/A-3b': 'pdf/a-3b',
  'PDF/A-3u': 'pdf/a-3u',
};

const text = z.string();
const object = (name: string) => json(name, z.record(z.string(), z.unknown()), () => 'a JSON object is expected');
const bookmark: z.ZodType<PdfBookmark> = z.lazy(() =>
  z.object({ title: z.string(), page: z.int().min(1), children: z.array(bookmark).nullish() }).transform((one) => ({
    ...one,
    children: one.children ?? [],
  })),
);
const bookmarkList = z.array(bookmark);
const angle = z.string().transform((text, context) => {
  const degrees = Number(text);
  if ([90, 180, 270].includes(degrees)) return degrees;
  const reason = /^[+-]?\d{1,9}$/.test(text)
    ? 'wrong value, expected 90, 180, or 270'
    : goSyntax('Atoi')(excerpt(text));
  context.addIssue({ code: 'custom', message: invalid(text, reason) });
  return z.NEVER;
});
const allow = (...permissions: Permission[]) =>
  field<EngineReading, boolean>(boolean, (allowed, { forbidden }) => {
    if (!allowed) forbidden.push(...permissions);
  });
const off = (name: string): [string, CompatibleField<EngineReading>] => [
  name,
  field(text, (value) => (/^(false|0)$/i.test(value) ? undefined : NOT_HERE)),
];

/** In the order in which Gotenberg reads them, which is that of its errors. */
export const ENGINE_FIELDS: Record<string, CompatibleField<EngineReading>> = {
  splitMode: put(oneOf(['intervals', 'pages'], "wrong value, expected either 'intervals' or 'pages'"), 'split', 'mode'),
  splitSpan: field(text, (span, { split }) => {
    if (split.mode === 'intervals' && !/^\s*[1-9]\d{0,8}\s*$/.test(span))
      return invalid(span, /^\s*-?\d+\s*$/.test(span) ? 'value is inferior to 1' : goSyntax('Atoi')(excerpt(span)));
    split.span = span;
  }),
  splitUnify: field(boolean, (unify, { split }) => {
    if (unify && split.mode !== 'pages')
      return invalid(String(unify), `unify is not available for split mode '${split.mode}'`);
    split.unify = unify;
  }),
  pdfa: keep(text, 'pdfa'),
  pdfua: keep(boolean, 'pdfua'),
  metadata: keep(object('metadata'), 'metadata'),
  userPassword: put(text, 'passwords', 'user'),
  ownerPassword: put(text, 'passwords', 'owner'),
  allowPrinting: allow('print', 'print_high_quality'),
  allowCopying: allow('copy', 'accessibility'),
  allowModifying: allow('modify'),
  allowAnnotating: allow('annotate'),
  allowFillingForms: allow('fill_forms'),
  allowAssembling: allow('assemble'),
  rotateAngle: put(angle, 'rotate', 'degrees'),
  rotatePages: field(text, (pages, { rotate }) => {
    if (rangesOf(pages) === null) return invalid(pages, 'page numbers and ranges are expected, such as 1-3,5');
    rotate.pages = pages;
  }),
  embedsMetadata: keep(
    json('embedsMetadata', z.record(z.string(), z.record(z.string(), z.string())), () => 'a JSON object is expected'),
    'embedsMetadata',
  ),
  flatten: keep(boolean, 'flatten'),
  // A merge keeps the bookmarks of each file in any case.
  autoIndexBookmarks: field(boolean, () => undefined),
  titleBookmarks: keep(boolean, 'titleBookmarks'),
  bookmarks: keep(
    json('bookmarks', z.union([bookmarkList, z.record(z.string(), bookmarkList)]), () => 'bookmarks are expected'),
    'bookmarks',
  ),
  merge: field(boolean, () => undefined),
  downloadFrom: refused('send the files in the form'),
  ...Object.fromEntries(
    [
      ...'optimizeImages imageQuality watermarkSource watermarkExpression watermarkPages watermarkOptions'.split(' '),
      ...'stampSource stampExpression stampPages stampOptions facturxConformanceLevel facturxDocumentType facturxVersion'.split(
        ' ',
      ),
      ...'encrypt embeds split'.split(' '),
    ].map(off),
  ),
};

export function newEngineReading(): EngineReading {
  return {
    split: { mode: '', span: '', unify: false },
    pdfa: '',
    pdfua: false,
    metadata: {},
    rotate: { degrees: 0, pages: '' },
    passwords: { user: '', owner: '' },
    forbidden: [],
    embedsMetadata: {},
    flatten: false,
    titleBookmarks: false,
    bookmarks: null,
  };
}

export interface EngineRules {
  /** Fields without which the route refuses a form. */
  required: readonly string[];
  merges: boolean;
  /** Fields that the route sets. */
  fixed?: Readonly<Record<string, string>>;
  /** Fields of which a form needs one, and the error without. */
  needs?: readonly [names: readonly string[], message: string];
}

/**
 * Reads the request of a form.
 * @throws CaptureError `invalid_request` that names every field that is not valid, or else every one that is unknown, refused or missing
 */
export function readEngineForm(
  { fields: formFields, files, embeds }: EngineForm,
  { required, merges, fixed, needs }: EngineRules,
): PdfRequest {
  const fields = { ...formFields, ...fixed };
  const reading = newEngineReading();
  const missing = required
    .filter((name) => fields[name] === undefined)
    .map((name) => ({ path: name, message: 'is required' }));
  const issues = issuesOf(fields, ENGINE_FIELDS, reading);
  const invalidOnes = issues.filter(({ message }) => message.startsWith(INVALID));
  const problem = fileProblem(fields);
  if (problem !== null) throw refusal(problem);
  const reported = [
    ...(invalidOnes.length > 0 ? invalidOnes : issues),
    ...missing,
    ...(files.length === 0 ? [NO_FILES] : []),
  ];
  if (reported.length > 0) throw invalidRequest(reported);
  if (needs !== undefined && !needs[0].some((name) => fields[name] !== undefined)) throw refusal(needs[1]);
  const work = toWork(reading, embeds);
  const { bookmarks } = reading;
  const ofResult = merges && Array.isArray(bookmarks) ? { bookmarks } : {};
  const ofFile = ({ name }: FoundPdf) => {
    const own = Array.isArray(bookmarks) ? bookmarks : (bookmarks as Record<string, readonly PdfBookmark[]>)?.[name];
    return own === undefined || 'bookmarks' in ofResult ? {} : { bookmarks: own };
  };
  return {
    ...work,
    ...ofResult,
    files: (reading.titleBookmarks
      ? files.map((file) => ({ ...file, chapter: file.name.replace(/\.pdf$/i, ''), prefersTitle: true }))
      : files
    ).map((file) => ({ ...file, ...ofFile(file) })),
    changes: { ...work.changes, merge: merges ? { startOnOddPages: false } : null },
  };
}

/** Gotenberg's error for a stamp or watermark without its file, whose part is refused here. */
export function fileProblem(fields: Readonly<Record<string, string>>): string | null {
  const kind = ['watermark', 'stamp'].find((name) => /^(pdf|image)$/.test(fields[`${name}Source`] ?? ''));
  return kind === undefined ? null : `Invalid form data: a ${kind} file is required for image or pdf source`;
}

export type EngineWork = Omit<PdfRequest, 'files'>;

export function asksForWork({ changes, edits }: EngineWork): boolean {
  return [...Object.values(changes), ...Object.values(edits)].some(Boolean);
}

/**
 * Lists the changes to the PDF of a conversion. PDF/A and PDF/UA alone are left to the Gotenberg behind this server, if there is one.
 * @throws CaptureError as `toWork`
 */
export function archived(
  reading: EngineReading,
  hasUpstream: boolean,
): EngineWork & { archive: Record<string, string> } {
  const { pdfa, pdfua } = reading;
  const isArchived = (pdfa === '' || PDF_FORMATS.test(pdfa)) && (pdfa !== '' || pdfua);
  const others = toWork({ ...reading, pdfa: '', pdfua: false }, []);
  if (!hasUpstream || !isArchived || asksForWork(others)) return { ...toWork(reading, []), archive: {} };
  return { ...others, archive: { ...(pdfa !== '' && { pdfa }), ...(pdfua && { pdfua: 'true' }) } };
}

/** @throws CaptureError `invalid_request` for values and combinations that Gotenberg refuses, with its texts */
export function toWork(reading: EngineReading, embeds: readonly FoundPdf[]): Omit<PdfRequest, 'files'> {
  const { passwords, forbidden, pdfa, pdfua, metadata, flatten, rotate } = reading;
  const isEncrypted = passwords.user !== '' || passwords.owner !== '';
  if (pdfa !== '' && !PDF_FORMATS.test(pdfa)) throw refusal(FORMAT_REFUSED);
  if (pdfa !== '' && isEncrypted) throw refusal('Invalid form data: PDF/A format is incompatible with encryption');
  if (pdfa !== '' && embeds.length > 0 && !/^PDF\/A-3/.test(pdfa))
    throw refusal(
      `Invalid form data: PDF format '${pdfa}' does not support embedded files; only PDF/A-3 variants allow attachments`,
    );
  if (forbidden.length > 0 && !isEncrypted)
    throw refusal("Invalid form data: permission restrictions require a 'userPassword' or 'ownerPassword'");
  const conformance = CONFORMANCES[pdfa];
  if (pdfa !== '' && conformance === undefined)
    throw invalidField('pdfa', `cannot be ${pdfa} here: use one of ${Object.keys(CONFORMANCES).join(', ')}`);
  const levels: Conformance[] = [
    ...(conformance === undefined ? [] : [conformance]),
    ...(pdfua ? ['pdf/ua-1' as const] : []),
  ];
  const { user, owner } = passwords;
  const permissions = PERMISSIONS.filter((one) => !forbidden.includes(one));
  return {
    changes: {
      ...NO_CHANGES,
      flatten,
      ...splitOf(reading.split),
      rotate:
        rotate.degrees === 0
          ? null
          : { degrees: rotate.degrees, pages: rotate.pages === '' ? null : rangesOf(rotate.pages) },
    },
    edits: {
      ...(Object.keys(metadata).length > 0 && { metadata: toMetadata(metadata) }),
      ...(levels.length > 0 && { conformance: levels }),
      ...(isEncrypted && {
        password: {
          ...(user !== '' && { user }),
          ...(owner !== '' && { owner }),
          ...(forbidden.length > 0 && { permissions }),
        },
      }),
    },
    attachments: embeds.map((file) => attachmentOf(file, reading.embedsMetadata[file.name] ?? {})),
  };
}

function splitOf({ mode, span, unify }: EngineReading['split']): Pick<PdfChanges, 'split' | 'pages'> {
  if (mode === '') return { split: null, pages: null };
  if (mode === 'intervals') return { split: { every: Number(span) }, pages: null };
  const pages = rangesOf(span);
  if (pages === null) throw refusal(SPLIT_REFUSED);
  return { pages, split: unify ? null : { every: 1 } };
}

/** `z` and `end` stand for the last page, as in QPDF and PDFtk. */
function rangesOf(span: string): PageRange[] | null {
  return readPageRanges(span.replace(/-(z|end)(?=\s*(,|$))/g, '-'));
}

/** Names that are left out, as in Gotenberg: those with which ExifTool would change files. */
const NOT_WRITTEN = /(?:^|:)(?:FileName|Directory|HardLink|SymLink|TestName)#?$/i;

/** The names of ExifTool for what a PDF has an entry for. */
const METADATA: Record<string, string> = {
  Title: 'title',
  Author: 'author',
  Subject: 'subject',
  Creator: 'creator',
  Producer: 'producer',
  CreateDate: 'created',
  CreationDate: 'created',
  ModDate: 'modified',
  ModifyDate: 'modified',
};

function toMetadata(values: Record<string, unknown>): NonNullable<PdfRequest['edits']['metadata']> {
  const custom: Record<string, string> = {};
  const known: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    if (NOT_WRITTEN.test(name)) continue;
    const entry = METADATA[name];
    if (name === 'Keywords') known.keywords = Array.isArray(value) ? value.map(String) : [String(value)];
    else if (name === 'Trapped') known.trapped = String(value).toLowerCase();
    else if (entry !== undefined) known[entry] = String(value);
    else if (isObject(value)) throw refusal(METADATA_REFUSED);
    else custom[name] = Array.isArray(value) ? value.map(String).join(', ') : String(value);
  }
  const all = { ...known, ...(Object.keys(custom).length > 0 && { custom }) };
  const { data } = documentFields.metadata.safeParse(all);
  if (data === undefined) throw refusal(METADATA_REFUSED);
  return data;
}

const METADATA_REFUSED =
  'The requested metadata could not be written; ensure values are valid and free of control characters.';

/** Gotenberg's clients write the media type and the relationship as PDF does. */
function attachmentOf({ name, bytes, read }: FoundPdf, facts: Record<string, string>): FoundAttachment {
  const relationship = RELATIONSHIPS.find((one) => one === facts.relationship?.toLowerCase()) ?? 'unspecified';
  return { name, bytes, read, mimeType: facts.mimeType ?? 'application/octet-stream', relationship, description: null };
}

function refusal(message: string): CaptureError {
  return new CaptureError({ code: 'invalid_request', message });
}
