/** What a PDF says about itself and brings along: fields of `pdf` in a capture request, and of PDFs that are given (extensions.md, Documents). */
import { z } from 'zod';
import { limited } from './field-rules.js';
import * as limits from './limits.js';

/** A file has one level of PDF/A at most, which may be combined with PDF/UA. */
export const CONFORMANCES = ['pdf/a-2b', 'pdf/a-2u', 'pdf/a-3b', 'pdf/a-3u', 'pdf/ua-1'] as const;
export type Conformance = (typeof CONFORMANCES)[number];

/** `AFRelationship` of PDF 2.0, as PDF/A-3 has it. */
export const RELATIONSHIPS = ['source', 'data', 'alternative', 'supplement', 'unspecified'] as const;

/** Profiles of Factur-X and ZUGFeRD 2, and XRechnung, which is a profile of ZUGFeRD. */
export const FACTURX_PROFILES = ['minimum', 'basic_wl', 'basic', 'en16931', 'extended', 'xrechnung'] as const;

/** What readers may do with the document of those who open it by the user password. */
export const PERMISSIONS = [
  'print',
  'print_high_quality',
  'modify',
  'copy',
  'annotate',
  'fill_forms',
  'accessibility',
  'assemble',
] as const;

const line = (description: string, example: string) =>
  limited(limits.METADATA_TEXT_MAX_CHARS)
    .refine(isPlainText, 'must not contain control characters')
    .optional()
    .meta({ description, example });

const date = (description: string) =>
  z.iso
    .datetime({
      offset: true,
      error: 'must be a date and time as in 2026-11-28T14:03:00Z or 2026-11-28T15:03:00+01:00',
    })
    .optional()
    .meta({ description, example: '2026-11-28T14:03:00Z' });

export const documentFields = {
  metadata: z
    .strictObject({
      title: line("title; default: the page's title", 'Invoice 4711'),
      author: line('author', 'Ada Lovelace'),
      subject: line("subject; default: the page's description", 'Invoice for November'),
      keywords: z
        .array(
          limited(limits.METADATA_TEXT_MAX_CHARS).refine(isPlainText, 'must not contain control characters').min(1),
        )
        .max(limits.METADATA_KEYWORDS_MAX_ITEMS)
        .optional()
        .meta({ description: 'keywords', example: ['invoice', '4711'] }),
      creator: line('program that the document was made with', 'Billing 2.4'),
      created: date('time of creation; default: now'),
      modified: date('time of the last change; default: that of creation'),
      custom: z
        .record(
          z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/),
          limited(limits.METADATA_TEXT_MAX_CHARS).refine(isPlainText, 'must not contain control characters'),
        )
        .optional()
        .meta({ description: 'further entries by name', example: { CostCenter: 'R&D' } }),
    })
    .optional()
    .meta({
      description: 'what the document says about itself, in its information dictionary and in XMP',
      example: { title: 'Invoice 4711', author: 'Ada Lovelace' },
    }),
  conformance: z
    .union([z.enum(CONFORMANCES), z.array(z.enum(CONFORMANCES)).min(1).max(2)])
    .optional()
    .meta({
      description: `standard that the document conforms to: ${CONFORMANCES.join(', ')}, or a list of a level of PDF/A and pdf/ua-1`,
      example: 'pdf/a-2b',
    }),
  attachments: z
    .array(
      z.strictObject({
        name: limited(limits.PAGE_FILES_NAME_MAX_BYTES).min(1).meta({ description: 'file name', example: 'data.csv' }),
        content: z.base64().optional().meta({ description: 'content in base64', example: 'YSxiCjEsMgo=' }),
        file: limited(limits.PAGE_FILES_NAME_MAX_BYTES)
          .min(1)
          .optional()
          .meta({ description: 'name of a file of the request, in place of `content`', example: 'data.csv' }),
        mime_type: limited(100)
          .regex(/^[A-Za-z0-9!#$&^_.+-]{1,60}\/[A-Za-z0-9!#$&^_.+-]{1,60}$/)
          .default('application/octet-stream')
          .meta({ description: 'media type', example: 'text/csv' }),
        relationship: z
          .enum(RELATIONSHIPS)
          .default('unspecified')
          .meta({ description: 'what the file is to the document' }),
        description: line('what the file is, for people', 'The figures of the table'),
      }),
    )
    .max(limits.ATTACHMENTS_MAX_ITEMS)
    .optional()
    .meta({
      description: 'files that the document brings along',
      example: [{ name: 'data.csv', content: 'YSxiCjEsMgo=', mime_type: 'text/csv' }],
    }),
  facturx: z
    .strictObject({
      xml: limited(limits.FACTURX_MAX_BYTES)
        .min(1)
        .meta({ description: 'the invoice as XML', example: '<rsm:CrossIndustryInvoice/>' }),
      profile: z.enum(FACTURX_PROFILES).default('en16931').meta({ description: 'profile of the XML' }),
    })
    .optional()
    .meta({
      description: 'electronic invoice (Factur-X, ZUGFeRD 2, XRechnung) in the document; implies `pdf/a-3b`',
      example: { xml: '<rsm:CrossIndustryInvoice/>', profile: 'en16931' },
    }),
  password: z
    .strictObject({
      user: limited(limits.PDF_PASSWORD_MAX_BYTES)
        .optional()
        .meta({ description: 'password that opens the document; write-only', example: 'secret', writeOnly: true }),
      owner: limited(limits.PDF_PASSWORD_MAX_BYTES).optional().meta({
        description: 'password that lifts the restrictions; write-only; default: a random one',
        example: 'another secret',
        writeOnly: true,
      }),
      permissions: z
        .array(z.enum(PERMISSIONS))
        .max(limits.TOLERATE_MAX_ITEMS)
        .optional()
        .meta({ description: 'what is allowed without the owner password; default: everything', example: ['print'] }),
    })
    .optional()
    .meta({ description: 'encrypt the document (AES-256)', example: { user: 'secret' } }),
};

export type PdfMetadata = NonNullable<z.output<typeof documentFields.metadata>>;
export type PdfPassword = NonNullable<z.output<typeof documentFields.password>>;
export type FacturX = NonNullable<z.output<typeof documentFields.facturx>>;
export type WireAttachment = NonNullable<z.output<typeof documentFields.attachments>>[number];

/** A file in a PDF. */
export interface PdfAttachment {
  name: string;
  content: Uint8Array;
  mimeType: string;
  relationship: WireAttachment['relationship'];
  description: string | null;
}

function isPlainText(text: string): boolean {
  return !/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/u.test(text);
}
