/** `extract` of a request: rules that read typed values from the page, and the values (extensions.md, Extracted values). */
import { z } from 'zod';
import { limited } from './field-rules.js';
import * as limits from './limits.js';
import { pageBoxSchema } from './page-facts.js';

export const EXTRACT_TYPES = ['text', 'number', 'date', 'url', 'html', 'attribute', 'markdown', 'table'] as const;

const ruleSchema = z
  .strictObject({
    selector: limited(4_096).trim().min(1).meta({
      description: 'the element; `>>>` leads into open shadow trees and into frames of the same origin',
      example: '.price',
    }),
    type: z.enum(EXTRACT_TYPES).default('text').meta({
      description:
        'what is read: its visible text, a number or a date in any common notation, an absolute address, its HTML, an attribute, its content as Markdown, or the cells of a table',
    }),
    attribute: limited(limits.FACT_NAME_MAX_CHARS)
      .regex(/^[^\s"'<>/=\0]+$/, 'must be the name of an attribute')
      .optional()
      .meta({ description: 'name of the attribute; needs `type` `attribute`', example: 'data-sku' }),
    all: z
      .boolean()
      .default(false)
      .meta({ description: `a list of all matches, at most ${limits.EXTRACT_MATCHES_MAX}, instead of the first` }),
    required: z.boolean().default(false).meta({
      description: 'the capture fails with `render_incomplete` if there is no such value',
    }),
  })
  .superRefine(({ type, attribute }, context) => {
    if ((type === 'attribute') === (attribute !== undefined)) return;
    const message = attribute === undefined ? 'is required with `type` `attribute`' : 'needs `type` `attribute`';
    context.addIssue({ code: 'custom', path: ['attribute'], message });
  });

const NAME = /^[A-Za-z][\w-]{0,63}$/;

export const extractSchema = z.record(limited(limits.FACT_NAME_MAX_CHARS), ruleSchema).superRefine((rules, context) => {
  const names = Object.keys(rules);
  if (names.length === 0 || names.length > limits.EXTRACT_RULES_MAX)
    context.addIssue({ code: 'custom', message: `must have 1 to ${limits.EXTRACT_RULES_MAX} values` });
  const message = 'must have a name of at most 64 letters, digits, hyphens and underscores that begins with a letter';
  for (const name of names) if (!NAME.test(name)) context.addIssue({ code: 'custom', path: [name], message });
});

export type ExtractRules = z.output<typeof extractSchema>;
export type ExtractRule = ExtractRules[string];

const tableSchema = z.object({
  columns: z
    .array(z.string())
    .meta({ description: 'the header cells; empty without any', example: ['Tea', 'Minutes'] }),
  rows: z.array(z.array(z.string())).meta({ description: 'the other rows', example: [['Green', '2']] }),
});

const valueSchema = z
  .object({
    value: z.union([z.string(), z.number(), tableSchema, z.null()]).meta({
      description: 'a text, a number, or a table with `columns` and `rows`; null if there is none',
      example: 1234.56,
    }),
    text: z
      .string()
      .max(limits.FACT_TEXT_MAX_CHARS)
      .optional()
      .meta({ description: 'what a number or a date was read from', example: '1.234,56 €' }),
    box: pageBoxSchema.nullable().meta({
      description: 'where the element is, in CSS px of the page, as for `clip`; null if it has no box',
    }),
  })
  .meta({ id: 'ExtractedValue' });

export const extractionSchema = z.object({
  values: z.record(z.string(), z.union([valueSchema, z.array(valueSchema)])).meta({
    description: 'the values under the names of the rules; a list for a rule with `all`',
    example: { price: { value: 1234.56, text: '1.234,56 €', box: { x: 40, y: 320, width: 160, height: 44 } } },
  }),
  truncated: z
    .array(z.string())
    .optional()
    .meta({
      description: 'names of the rules of which something was left out, for its length, number or time',
      example: ['links'],
    }),
  untrusted_content: z.literal(true).meta({ description: 'always true: the values come from the page' }),
});

export type ExtractedTable = z.output<typeof tableSchema>;
export type ExtractedValue = z.output<typeof valueSchema>;
/** Values of the page, as on the wire. */
export type Extraction = Omit<z.output<typeof extractionSchema>, 'untrusted_content'>;
