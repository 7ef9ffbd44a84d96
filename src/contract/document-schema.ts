/** Fields for metadata, conformance, attachments, invoices and passwords, of `pdf` in a capture request and of PDFs that exist (extensions.md, Documents). */
import { z } from 'zod';
import { limited } from './field-rules.js';
import { FACTURX_PROFILES, readInvoice } from './invoice-xml.js';
import * as limits from './limits.js';
import { fileNameProblem } from './page-files.js';

/** A file has one level of PDF/A at most, which may be combined with PDF/UA. */
export const CONFORMANCES = ['pdf/a-2b', 'pdf/a-2u', 'pdf/a-3b', 'pdf/a-3u', 'pdf/ua-1'] as const;
export type Conformance = (typeof CONFORMANCES)[number];

/** `AFRelationship` of PDF 2.0, as PDF/A-3 has it. */
export const RELATIONSHIPS = ['source', 'data', 'alternative', 'supplement', 'unspecified'] as const;

/** Permissions of people who open the document with the user password. */
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

const EXAMPLE_INVOICE =
  '<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100" xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"><rsm:ExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter><ram:ID>urn:cen.eu:en16931:2017</ram:ID></ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext></rsm:CrossIndustryInvoice>';

const text = () =>
  limited(limits.METADATA_TEXT_MAX_CHARS).refine(
    (value) => !/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/u.test(value),
    'must not contain control characters, line breaks or broken surrogates',
  );
const line = (description: string, example: string) => text().optional().meta({ description, example });

const DATE =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;
const date = (description: string) =>
  limited(30)
    .regex(DATE, 'must be a date and time such as 2026-11-28T14:03:00Z or 2026-11-28T15:03:00+01:00')
    .optional()
    .meta({ description, example: '2026-11-28T14:03:00Z' });

/** Entries of the information dictionary that have fields of their own, or that only programs write. */
const RESERVED = /^(?:title|author|subject|keywords|creator|producer|creationdate|moddate|trapped)$/i;

const password = (description: string, example: string) =>
  limited(limits.PDF_PASSWORD_MAX_BYTES)
    .min(1)
    .refine(
      (value) => Buffer.byteLength(value) <= limits.PDF_PASSWORD_MAX_BYTES,
      `must be at most ${limits.PDF_PASSWORD_MAX_BYTES} bytes of UTF-8`,
    )
    .optional()
    .meta({ description: `${description}; write-only`, example, writeOnly: true });

const attachmentSchema = z.strictObject({
  name: limited(limits.PAGE_FILES_NAME_MAX_BYTES)
    .refine((name) => fileNameProblem(name) === null && !name.includes('/'), 'must be a plain file name')
    .meta({ description: 'file name', example: 'data.csv' }),
  content: limited(Math.ceil(limits.ATTACHMENTS_MAX_BYTES / 3) * 4)
    .regex(/^[A-Za-z0-9+/]*={0,2}$/, 'must be base64')
    .optional()
    .meta({
      description: `content in base64. A JSON body has at most ${limits.BODY_LIMIT_BYTES / 1024} KiB: send a larger file with the request, and name it in \`file\``,
      example: 'YSxiCjEsMgo=',
    }),
  file: limited(limits.PAGE_FILES_NAME_MAX_BYTES)
    .min(1)
    .optional()
    .meta({ description: 'name of a file that came with the request, in place of `content`', example: 'data.csv' }),
  mime_type: limited(127)
    .regex(/^[\w!#$&^.+-]{1,63}\/[\w!#$&^.+-]{1,63}$/, 'must be a media type, such as text/csv')
    .default('application/octet-stream')
    .meta({ description: 'media type', example: 'text/csv' }),
  relationship: z
    .enum(RELATIONSHIPS)
    .default('unspecified')
    .meta({ description: 'what the file is to the document', example: 'data' }),
  description: line('what the file is, for readers', 'The figures of the table'),
});

export const documentFields = {
  metadata: z
    .strictObject({
      title: line("title; default: the page's title", 'Invoice 4711'),
      author: line('author', 'Ada Lovelace'),
      subject: line("subject; default: the page's description", 'Invoice for November'),
      keywords: z
        .array(text().min(1))
        .max(limits.METADATA_KEYWORDS_MAX_ITEMS)
        .optional()
        .meta({ description: 'keywords', example: ['invoice', '4711'] }),
      creator: line('program that made the document', 'Billing 2.4'),
      producer: line("program that wrote the PDF; default: the browser's", 'Billing 2.4'),
      trapped: z
        .enum(['true', 'false', 'unknown'])
        .optional()
        .meta({ description: 'whether colors overlap for a printing press', example: 'false' }),
      created: date('time of creation; default: now'),
      modified: date('time of the last change; default: that of creation'),
      custom: z
        .record(
          limited(64).regex(
            /^[A-Za-z][\w-]{0,63}$/,
            'must begin with a letter, and have letters, digits, _ and - only',
          ),
          text(),
        )
        .refine(
          (entries) => Object.keys(entries).length <= limits.METADATA_CUSTOM_MAX_ITEMS,
          `must have at most ${limits.METADATA_CUSTOM_MAX_ITEMS} entries`,
        )
        .refine(
          (entries) => !Object.keys(entries).some((name) => RESERVED.test(name)),
          'must not have an entry that has a field of its own',
        )
        .optional()
        .meta({ description: 'further entries of the information dictionary', example: { CostCenter: 'R-17' } }),
    })
    .optional()
    .meta({
      description:
        'what the document says about itself, in its information dictionary and in XMP; an empty text removes an entry',
      example: { title: 'Invoice 4711', author: 'Ada Lovelace' },
    }),
  conformance: z
    .union([z.enum(CONFORMANCES), z.array(z.enum(CONFORMANCES)).min(1).max(2)], {
      error: `must be one of ${CONFORMANCES.join(', ')}, or a list of a level of PDF/A and pdf/ua-1`,
    })
    .refine(
      (value) =>
        [value].flat().filter((one) => one !== 'pdf/ua-1').length <= 1 &&
        new Set([value].flat()).size === [value].flat().length,
      'must have one level of PDF/A at most',
    )
    .optional()
    .meta({
      description: `standards that the document conforms to: ${CONFORMANCES.join(', ')}, or a list of a level of PDF/A and pdf/ua-1. The capture fails if the page cannot be made to conform`,
      example: 'pdf/a-2b',
    }),
  attachments: z
    .array(attachmentSchema)
    .max(limits.ATTACHMENTS_MAX_ITEMS)
    .optional()
    .meta({
      description: `files in the document, at most ${limits.ATTACHMENTS_MAX_ITEMS}, with ${limits.ATTACHMENTS_MAX_BYTES / 1_000_000} MB together`,
      example: [{ name: 'data.csv', content: 'YSxiCjEsMgo=', mime_type: 'text/csv' }],
      links: false,
    }),
  facturx: z
    .strictObject({
      xml: limited(limits.FACTURX_MAX_CHARS)
        .superRefine((xml, context) => {
          const read = readInvoice(xml);
          if (typeof read === 'string') context.addIssue({ code: 'custom', message: read });
        })
        .meta({ description: 'the invoice in UN/CEFACT CII', example: EXAMPLE_INVOICE, form: 'long' }),
      profile: z
        .enum(FACTURX_PROFILES)
        .optional()
        .meta({ description: 'profile that the XML must have; default: the one that it names', example: 'en16931' }),
    })
    .optional()
    .meta({
      description: 'electronic invoice (Factur-X, ZUGFeRD 2, XRechnung) in the document, which becomes PDF/A-3',
      example: { xml: EXAMPLE_INVOICE, profile: 'en16931' },
      links: false,
    }),
  password: z
    .strictObject({
      user: password('password that opens the document', 'secret'),
      owner: password('password that lifts the restrictions; default: a random one', 'another secret'),
      permissions: z
        .array(z.enum(PERMISSIONS))
        .max(limits.TOLERATE_MAX_ITEMS)
        .optional()
        .meta({
          description: 'what readers may do without the owner password; default: everything',
          example: ['print'],
        }),
    })
    .refine(({ user, owner }) => user !== undefined || owner !== undefined, 'needs `user`, `owner` or both')
    .optional()
    .meta({ description: 'encrypt the document with AES-256', example: { user: 'secret' }, links: false }),
};

interface DocumentFields {
  conformance?: Conformance | Conformance[] | undefined;
  attachments?: WireAttachment[] | undefined;
  facturx?: FacturX | undefined;
  password?: PdfPassword | undefined;
}

/** Adds the rules for fields that need or exclude each other. */
export function withDocumentRules<Schema extends z.ZodType<DocumentFields>>(schema: Schema): Schema {
  return schema.superRefine((fields, context) => {
    for (const [path, message] of documentProblems(fields)) context.addIssue({ code: 'custom', path, message });
  });
}

function documentProblems({
  conformance = [],
  attachments = [],
  facturx,
  password,
}: DocumentFields): [path: string[], message: string][] {
  const requested = conformancesOf({ conformance, facturx });
  const level = requested.find((one) => one !== 'pdf/ua-1');
  const invoice = facturx === undefined ? null : readInvoice(facturx.xml);
  const names = attachments.map(({ name }) => name);
  const problems: [string[], boolean, string][] = [
    [
      ['password', 'permissions'],
      requested.includes('pdf/ua-1') && password?.permissions?.includes('accessibility') === false,
      'must have `accessibility` with `conformance` pdf/ua-1',
    ],
    [
      ['password'],
      password !== undefined && level !== undefined,
      `cannot be combined with \`conformance\` ${level}: PDF/A forbids encryption`,
    ],
    [
      ['conformance'],
      facturx !== undefined && level?.startsWith('pdf/a-2') === true,
      'must be pdf/a-3b or pdf/a-3u with `facturx`',
    ],
    [
      ['attachments'],
      attachments.length > 0 && level?.startsWith('pdf/a-2') === true,
      `cannot be combined with \`conformance\` ${level}, whose attachments must be PDF/A themselves: use pdf/a-3b`,
    ],
    [['attachments'], new Set(names).size < names.length, 'must have different names'],
    [
      ['attachments'],
      invoice !== null && typeof invoice !== 'string' && names.includes(invoice.fileName),
      'must not have the name of the invoice',
    ],
    [
      ['facturx', 'profile'],
      invoice !== null && typeof invoice !== 'string' && (facturx?.profile ?? invoice.profile) !== invoice.profile,
      `must be that of the XML, which is ${typeof invoice === 'string' ? '' : invoice?.profile}`,
    ],
    ...attachments.map(({ content, file }, index): [string[], boolean, string] => [
      ['attachments', String(index)],
      (content === undefined) === (file === undefined),
      'needs either `content` or `file`',
    ]),
  ];
  return problems.flatMap(([path, isBroken, message]): [string[], string][] => (isBroken ? [[path, message]] : []));
}

/** The standards that a document must conform to. */
export function conformancesOf({
  conformance = [],
  facturx,
}: Pick<DocumentFields, 'conformance' | 'facturx'>): Conformance[] {
  const standards = [conformance].flat();
  const isArchive = standards.some((one) => one !== 'pdf/ua-1');
  return facturx === undefined || isArchive ? standards : [...standards, 'pdf/a-3b'];
}

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
