import { z } from 'zod';
import { CaptureError } from '../../contract/capture-error.js';
import type { ExtractedTable, ExtractedValue, Extraction, ExtractRule, ExtractRules } from '../../contract/extract.js';
import {
  EXTRACT_MATCHES_MAX,
  EXTRACT_MAX_CHARS,
  EXTRACT_TABLE_MAX,
  EXTRACT_VALUE_MAX_CHARS,
  FACT_NAME_MAX_CHARS,
  FACT_TEXT_MAX_CHARS,
} from '../../contract/limits.js';
import { pageBoxSchema } from '../../contract/page-facts.js';
import { monotonicNow, orElse } from '../deadlines.js';
import type { RawValue, RawValues } from '../in-page/extract.js';
import type { OpenPage } from '../page/open-page.js';
import { withoutLogin } from './facts-reader.js';
import type { MarkdownSource } from './markdown-thread.js';
import { readDate, readNumber } from './notations.js';
import { callInPage, READ_MAX_MS } from './page-program.js';

/** Converts a part of a page; null if that fails or takes too long. */
export type ToMarkdown = (source: MarkdownSource, timeoutMs: number) => Promise<string | null>;

/** The time for the Markdown of all values. */
const MARKDOWN_MS = 2_000;

const cell = z.string().max(FACT_TEXT_MAX_CHARS);
const row = z.array(cell).max(EXTRACT_TABLE_MAX.columns);
const rawSchema: z.ZodType<RawValues[]> = z.array(
  z.object({
    matches: z
      .array(
        z.object({
          text: z.string().max(EXTRACT_MAX_CHARS).nullable(),
          exact: z.string().max(FACT_NAME_MAX_CHARS).optional(),
          language: z.string().max(FACT_NAME_MAX_CHARS).optional(),
          table: z.object({ columns: row, rows: z.array(row).max(EXTRACT_TABLE_MAX.rows) }).optional(),
          box: pageBoxSchema.nullable(),
        }),
      )
      .max(EXTRACT_MATCHES_MAX),
    isCut: z.boolean(),
  }),
);

/** Reads the values of `extract` from one page. */
export class ValuesReader {
  #raw: RawValues[] | null = null;

  constructor(
    private readonly page: OpenPage,
    private readonly rules: ExtractRules,
    private readonly toMarkdown: ToMarkdown,
  ) {}

  /** Called when the page is as it will be pictured. A page that does not answer in time has no values. */
  async read(): Promise<void> {
    const { world, deadlines } = this.page;
    const extracting = callInPage(world, 'extract', [Object.values(this.rules)]);
    const answer = await orElse(extracting, { ms: READ_MAX_MS }, null);
    deadlines.signal.throwIfAborted();
    this.#raw = rawSchema.safeParse(answer).data ?? null;
  }

  /** The values, and the names of required ones that are missing. */
  async finish(): Promise<{ extraction: Extraction; missing: string[] }> {
    const values: Extraction['values'] = {};
    const truncated = new Set<string>();
    const missing: string[] = [];
    const until = monotonicNow() + MARKDOWN_MS;
    for (const [at, [name, rule]] of Object.entries(this.rules).entries()) {
      const { matches, isCut } = this.#raw?.[at] ?? { matches: [], isCut: true };
      const found: ExtractedValue[] = [];
      for (const raw of rule.all ? matches : [matches[0] ?? NOTHING]) {
        const { isCut: isLong = false, ...value } = await this.#valueOf(raw, rule, until);
        if (isLong) truncated.add(name);
        found.push(value);
      }
      if (isCut) truncated.add(name);
      values[name] = rule.all ? found : (found[0] ?? NO_VALUE);
      if (rule.required && found.every(({ value }) => value === null)) missing.push(name);
    }
    return { extraction: { values, ...(truncated.size === 0 ? {} : { truncated: [...truncated] }) }, missing };
  }

  async #valueOf(raw: RawValue, { type }: ExtractRule, until: number): Promise<ExtractedValue & { isCut?: boolean }> {
    const { text, exact, language, table, box } = raw;
    switch (type) {
      case 'number':
        return { value: exactNumber(exact) ?? readNumber(text ?? '', language), ...excerpt(text), box };
      case 'date':
        return { value: readDate(exact ?? '', language) ?? readDate(text ?? '', language), ...excerpt(text), box };
      case 'url':
        return { value: addressOf(text), box };
      case 'table':
        return { value: tableOf(table), box };
      case 'markdown': {
        if (text === null) return { value: null, box };
        const source = { html: text, url: this.page.session.page.url(), title: '', isPart: true };
        const markdown = await this.toMarkdown(source, Math.max(1, until - monotonicNow()));
        const isCut = markdown === null || markdown.length > EXTRACT_VALUE_MAX_CHARS;
        return { value: markdown?.slice(0, EXTRACT_VALUE_MAX_CHARS) || null, box, isCut };
      }
      case 'text':
        return { value: text === '' ? null : text, box };
      case 'html':
      case 'attribute':
        return { value: text, box };
    }
  }
}

const NOTHING: RawValue = { text: null, box: null };
const NO_VALUE: ExtractedValue = { value: null, box: null };

function excerpt(text: string | null): Pick<ExtractedValue, 'text'> {
  return text === null ? {} : { text };
}

/** A number for programs, which has a dot before its decimals. */
function exactNumber(text = ''): number | null {
  return /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d{1,3})?$/i.test(text.trim()) && Number.isFinite(Number(text))
    ? Number(text)
    : null;
}

function addressOf(text: string | null): string | null {
  return text !== null && /^(?:https?|mailto|tel|ftp):/i.test(text) ? withoutLogin(text) || null : null;
}

function tableOf(table: ExtractedTable | undefined): ExtractedTable | null {
  return table === undefined || (table.rows.length === 0 && table.columns.length === 0) ? null : table;
}

/** The error for a page that lacks required values. */
export function valuesMissing(missing: readonly string[], rules: ExtractRules): CaptureError {
  const named = missing.map((name) => `"${name}" (${rules[name]?.selector.slice(0, 200)})`).join(', ');
  return new CaptureError({
    code: 'render_incomplete',
    message: `The page lacks ${missing.length === 1 ? 'the required value' : 'required values'} of \`extract\`: ${named}. If the page shows ${missing.length === 1 ? 'it' : 'them'} later, \`wait_for_selector\` waits for that.`,
    details: { check: 'extract', missing },
  });
}
