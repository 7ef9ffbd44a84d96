import type { Readable } from 'node:stream';
import type { Context } from 'hono';
import { CaptureError } from '../../contract/capture-error.js';
import { BODY_LIMIT_BYTES, PDF_TEMPLATE_MAX_CHARS } from '../../contract/limits.js';
import { INDEX_FILE } from '../../contract/page-files.js';
import { invalidField, type RequestIssue } from '../../contract/submission.js';
import { runInThread } from '../../thread.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { clientOf } from '../exchange.js';
import { principalOf } from '../guard.js';
import { type FormParts, type PackedFiles, readPart } from '../read-form.js';
import type { MarkdownAnswer, MarkdownForm } from './markdown-form-thread.js';

/** The source of the page. */
export type Source = 'url' | 'html' | 'markdown';

/** The fields of a form, and the templates of a PDF. */
export interface GotenbergForm {
  fields: Record<string, string>;
  /** The files that the form lacks. */
  missing: RequestIssue[];
  header: string | undefined;
  footer: string | undefined;
}

/** Parts whose files belong to a PDF that exists, not to the page. */
const OTHER_FILES = new Set(['embeds', 'watermark', 'stamp', 'facturxXml']);
/** index.html and the Markdown files of a form together. */
const MARKDOWN_MAX_BYTES = 1_048_576;
/** A megabyte of ordinary Markdown takes half a second; what takes longer is made to. */
const MARKDOWN_TIMEOUT_MS = 5_000;
const MARKDOWN_MEMORY_MB = 128;
/** Room is left for the style that goes before a template. */
const TEMPLATE_MAX_BYTES = PDF_TEMPLATE_MAX_CHARS - 256;
const NAME_SHOWN_CHARS = 60;
const NO_INDEX = { path: '', message: `form file '${INDEX_FILE}' is required` };
const NO_MARKDOWN = { path: '', message: 'no form file found for extensions: [.md]' };

/** A form of Gotenberg: parts with a file name are files, the others fields. The first of several fields with a name counts. */
export class GotenbergParts implements FormParts<GotenbergForm> {
  readonly #fields = new Map<string, string>();
  /** The files that do not go to the pack as they are. */
  readonly #texts = new Map<string, string>();
  #fieldBytes = 0;
  #textBytes = 0;

  /** @param options.convert as `convertMarkdown` */
  constructor(
    private readonly files: PackedFiles,
    private readonly options: { source: Source; convert: (form: MarkdownForm) => Promise<MarkdownAnswer> },
  ) {}

  async take(part = '', fileName = '', content: Readable): Promise<void> {
    if (fileName === '') return await this.#takeField(part, content);
    if (OTHER_FILES.has(part)) throw refusedPart(part, 'is not supported here: send the PDF to a Gotenberg');
    const name = baseName(fileName);
    if (name === 'header.html' || name === 'footer.html') return await this.#takeTemplate(name, content);
    const { source } = this.options;
    if (source === 'url')
      throw refusedPart(name, 'is a file, which this route does not use: send it to a route for html');
    if (source === 'markdown' && (name === INDEX_FILE || /\.md$/i.test(name)))
      return await this.#takeMarkdown(name, content);
    await this.files.add(name, content);
  }

  async end(): Promise<GotenbergForm> {
    const { source } = this.options;
    const missing: RequestIssue[] = [];
    if (source === 'markdown') missing.push(...(await this.#addMarkdown()));
    if (source === 'html' && !this.files.list.some(({ name }) => name === INDEX_FILE)) missing.push(NO_INDEX);
    return {
      fields: Object.fromEntries(this.#fields),
      missing,
      header: this.#texts.get('header.html'),
      footer: this.#texts.get('footer.html'),
    };
  }

  async #takeField(name: string, content: Readable): Promise<void> {
    const value = await readPart(content, BODY_LIMIT_BYTES - this.#fieldBytes);
    if (value === null)
      throw invalidField(
        name.slice(0, NAME_SHOWN_CHARS),
        `is too large: all fields together may have ${BODY_LIMIT_BYTES} bytes`,
      );
    this.#fieldBytes += value.length;
    // An empty field is one that was not sent.
    if (value.length > 0 && !this.#fields.has(name)) this.#fields.set(name, value.toString());
  }

  async #takeTemplate(name: string, content: Readable): Promise<void> {
    const text = await readPart(content, TEMPLATE_MAX_BYTES);
    if (text === null) throw refusedPart(name, `must be at most ${TEMPLATE_MAX_BYTES} bytes`);
    this.#texts.set(name, text.toString());
  }

  async #takeMarkdown(name: string, content: Readable): Promise<void> {
    const text = await readPart(content, MARKDOWN_MAX_BYTES - this.#textBytes);
    if (text === null)
      throw refusedPart(name, `is too large: index.html and Markdown may have ${MARKDOWN_MAX_BYTES} bytes together`);
    this.#textBytes += text.length;
    this.#texts.set(name, text.toString());
  }

  /** @returns the files that are missing */
  async #addMarkdown(): Promise<RequestIssue[]> {
    const template = this.#texts.get(INDEX_FILE);
    const files = new Map([...this.#texts].filter(([name]) => /\.md$/i.test(name)));
    if (template === undefined || files.size === 0)
      return [...(template === undefined ? [NO_INDEX] : []), ...(files.size === 0 ? [NO_MARKDOWN] : [])];
    const answer = await this.options.convert({ template, files });
    if ('problem' in answer) throw new CaptureError({ code: 'invalid_request', message: answer.problem });
    await this.files.add(INDEX_FILE, [Buffer.from(answer.html)]);
    return [];
  }
}

/** @throws CaptureError `invalid_request` for Markdown that takes too long */
export async function convertMarkdown(
  { threads, config }: AppServices,
  c: Context<AppEnv>,
  task: MarkdownForm,
): Promise<MarkdownAnswer> {
  const signal = clientOf(c);
  using _turn = await threads.take(principalOf(c).accountId, signal);
  return await runInThread({
    file: config.markdownFormThread,
    task,
    memoryMb: MARKDOWN_MEMORY_MB,
    timeoutMs: MARKDOWN_TIMEOUT_MS,
    signal,
    failed: (cause) =>
      new CaptureError({ code: 'invalid_request', message: 'The Markdown could not be converted.', cause }),
  });
}

/** The part of a path after the last slash or backslash, as Gotenberg names files. */
export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1).normalize('NFC');
}

function refusedPart(name: string, message: string): CaptureError {
  return invalidField('', `form file '${name.slice(0, NAME_SHOWN_CHARS)}' ${message}`);
}
