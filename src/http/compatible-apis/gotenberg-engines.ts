/** The PDF engines of Gotenberg 8: routes that work on PDFs of the request. */
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Context } from 'hono';
import type { OpenArtifact } from '../../artifacts/artifacts.js';
import { chunksOf, type MadePdf, type PdfFacts, type PdfRequest } from '../../capture/work-on-pdfs.js';
import { CaptureError } from '../../contract/capture-error.js';
import { BODY_LIMIT_BYTES } from '../../contract/limits.js';
import { invalidField, invalidRequest, type RequestIssue } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { clientOf, jsonResponse } from '../exchange.js';
import { principalOf } from '../guard.js';
import { type FormParts, isForm, readPart } from '../read-form.js';
import { type ReceivedFiles, receivePdfs } from '../receive-pdfs.js';
import { sendPdfs } from '../send-pdfs.js';
import {
  type EngineForm,
  type EngineRules,
  type EngineWork,
  NO_FILES,
  NOT_HERE,
  readEngineForm,
} from './gotenberg-engine-fields.js';
import { baseName } from './gotenberg-form.js';
import { outputName } from './gotenberg-headers.js';

/** The routes below /forms/pdfengines/. */
export const ENGINES: Record<string, EngineRules> = {
  merge: { required: [], merges: true },
  split: { required: ['splitMode', 'splitSpan'], merges: false },
  flatten: { required: [], merges: false, fixed: { flatten: 'true' } },
  convert: {
    required: [],
    merges: false,
    needs: [['pdfa', 'pdfua'], "Invalid form data: either 'pdfa' or 'pdfua' form fields must be provided"],
  },
  'metadata/write': { required: ['metadata'], merges: false },
  encrypt: {
    required: [],
    merges: false,
    needs: [['userPassword', 'ownerPassword'], "Invalid form data: a 'userPassword' or 'ownerPassword' is required"],
  },
  embed: { required: [], merges: false },
  rotate: { required: ['rotateAngle'], merges: false },
  'bookmarks/write': { required: ['bookmarks'], merges: false },
};

/** The routes below /forms/pdfengines/ that read PDFs. */
export const ENGINE_READERS: Record<string, (facts: PdfFacts) => unknown> = {
  'metadata/read': toExifTool,
  'bookmarks/read': ({ bookmarks }) => bookmarks.map(toWireBookmark),
};

/** Answers with what PDFs say about themselves, by their names. @throws CaptureError */
export async function answerReader(
  services: AppServices,
  c: Context<AppEnv>,
  read: (facts: PdfFacts) => unknown,
): Promise<Response> {
  refuseWebhook(c);
  await using received = await receiveEngineForm(services, c);
  const { files } = received.body;
  if (files.length === 0) throw invalidRequest([NO_FILES]);
  const facts = await services.pdfs.read(files, { principal: principalOf(c), signal: clientOf(c) });
  const answer = Object.fromEntries(facts.map((one) => [one.name, read(one)]));
  return jsonResponse(200, answer, c.var.exchange.headers);
}

interface WireBookmark {
  title: string;
  page: number;
  children?: WireBookmark[];
}

function toWireBookmark({ title, page, children }: PdfFacts['bookmarks'][number]): WireBookmark {
  return { title, page, ...(children.length > 0 && { children: children.map(toWireBookmark) }) };
}

/** ExifTool's names and forms of what an information dictionary has. */
function toExifTool({ version, pages, info }: PdfFacts): Record<string, unknown> {
  const entries = Object.entries(info).map(([name, value]) => {
    if (name === 'CreationDate') return ['CreateDate', toExifDate(String(value))];
    if (name === 'ModDate') return [name, toExifDate(String(value))];
    const words = name === 'Keywords' ? String(value).split(/[,;]\s?/) : [];
    return [name, words.length > 1 ? words.map((word) => word.trim()) : toExifValue(value)];
  });
  return { PDFVersion: Number(version), PageCount: pages, ...Object.fromEntries(entries) };
}

/** ExifTool takes texts that look like numbers and booleans for these. */
function toExifValue(value: string | number | boolean): string | number | boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  return typeof value === 'string' && /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value;
}

/** `D:20060918162750-04'00'` becomes `2006:09:18 16:27:50-04:00`. */
function toExifDate(date: string): string {
  const [, year = '', month = '01', day = '01', hour = '00', minute = '00', second = '00', zone = ''] =
    /^D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(Z|[+-]\d\d(?:'\d\d)?)?/.exec(date) ?? [];
  const offset = zone === 'Z' || zone === '' ? zone : zone.replace("'", ':').padEnd(6, ':00');
  return year === '' ? date : `${year}:${month}:${day} ${hour}:${minute}:${second}${offset}`;
}

/** Answers with the PDFs that a form asks for. @throws CaptureError */
export async function answerEngine(services: AppServices, c: Context<AppEnv>, rules: EngineRules): Promise<Response> {
  const { headers } = c.env.incoming;
  refuseWebhook(c);
  await using received = await receiveEngineForm(services, c);
  const request = readEngineForm(received.body, rules);
  const made = await workOn(services, c, request);
  return await sendMade(services, c, { made, request, name: outputName(headers) });
}

/** Answers with what becomes of the PDF of a conversion. @throws CaptureError */
export async function answerChanged(
  services: AppServices,
  c: Context<AppEnv>,
  { artifact, work, name }: { artifact: OpenArtifact; work: EngineWork; name: string },
): Promise<Response> {
  using _place = await services.pdfs.enter(principalOf(c).accountId, clientOf(c));
  const file = { name: `${name}.pdf`, bytes: artifact.bytes, read: () => chunksOf(artifact) };
  const request = { ...work, files: [file] };
  const made = await workOn(services, c, request);
  return await sendMade(services, c, { made, request, name });
}

/** As POST /v1/pdf, with errors under the names of the form. */
async function workOn(services: AppServices, c: Context<AppEnv>, request: PdfRequest): Promise<MadePdf[]> {
  return await services.pdfs.work(request, { principal: principalOf(c), signal: clientOf(c) }).catch((thrown) => {
    const [issue] = (thrown instanceof CaptureError ? (thrown.details?.issues ?? []) : []) as RequestIssue[];
    if (issue?.path !== 'conformance') throw thrown;
    const field = issue.message.startsWith('cannot be pdf/ua') ? 'pdfua' : 'pdfa';
    throw invalidField(field, issue.message.replace(/\.$/, ''));
  });
}

function refuseWebhook(c: Context<AppEnv>): void {
  if (c.env.incoming.headers['gotenberg-webhook-url'] !== undefined)
    throw invalidField('Gotenberg-Webhook-Url', 'is not supported on this route: wait for the answer instead');
}

/** Sends results with the names that Gotenberg gives them. */
async function sendMade(
  services: AppServices,
  c: Context<AppEnv>,
  { made, request, name }: { made: readonly MadePdf[]; request: Pick<PdfRequest, 'changes'>; name: string | null },
): Promise<Response> {
  const { merge, split } = request.changes;
  const counts = new Map<string, number>();
  const files = made.map(({ name: fileName, content }) => {
    const nth = counts.get(fileName) ?? 0;
    counts.set(fileName, nth + 1);
    const base = merge === null ? fileName.replace(/\.pdf$/i, '') : randomUUID();
    return { name: `${base}${split === null ? '' : `_${nth}`}.pdf`, content };
  });
  const [only] = files;
  if (files.length === 1 && only !== undefined && name !== null) only.name = `${name}.pdf`;
  return await sendPdfs(services, c, { files, archive: name ?? randomUUID() });
}

async function receiveEngineForm(services: AppServices, c: Context<AppEnv>) {
  if (!isForm(c.env.incoming)) {
    const message = 'The content type must be multipart/form-data.';
    throw new CaptureError({ code: 'invalid_request', status: 415, message });
  }
  return await receivePdfs(services, c, (files) => new EngineParts(files));
}

/** Parts that hold other files than PDFs to work on. */
const REFUSED_PARTS = new Set(['watermark', 'stamp', 'facturxXml']);

class EngineParts implements FormParts<EngineForm> {
  readonly #fields = new Map<string, string>();
  readonly #form: Omit<EngineForm, 'fields'> = { files: [], embeds: [] };
  #fieldBytes = 0;

  constructor(private readonly received: ReceivedFiles) {}

  async take(part = '', fileName = '', content: Readable): Promise<void> {
    if (fileName === '') return await this.#takeField(part, content);
    if (REFUSED_PARTS.has(part)) throw invalidField(part, NOT_HERE);
    const name = baseName(fileName).replace(/\p{Cc}/gu, '');
    const isPdf = /\.pdf$/i.test(name);
    if (part === 'embeds') this.#form.embeds.push(await this.received.add(name, content));
    else if (isPdf) this.#form.files.push(await this.received.add(name, content));
    else content.resume();
  }

  end(): EngineForm {
    const { files, embeds } = this.#form;
    return { fields: Object.fromEntries(this.#fields), files: files.sort((a, b) => inOrder(a.name, b.name)), embeds };
  }

  async #takeField(name: string, content: Readable): Promise<void> {
    const value = await readPart(content, BODY_LIMIT_BYTES - this.#fieldBytes);
    if (value === null)
      throw invalidField(name.slice(0, 60), `is too large: all fields together may have ${BODY_LIMIT_BYTES} bytes`);
    this.#fieldBytes += value.length;
    // An empty field is one that was not sent.
    if (value.length > 0 && !this.#fields.has(name)) this.#fields.set(name, value.toString());
  }
}

interface Numbered {
  number: number | null;
  rest: string;
  isPrefix: boolean;
}

/** The order in which Gotenberg takes files: by a number at the beginning or the end of the name. */
function inOrder(one: string, other: string): number {
  const [a, b] = [numbered(one), numbered(other)];
  const text = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);
  if (a.number === null || b.number === null)
    return a.number === b.number ? text(one, other) : a.number === null ? 1 : -1;
  if (a.isPrefix && b.isPrefix) return a.number - b.number || text(a.rest, b.rest);
  if (a.isPrefix !== b.isPrefix) return text(a.rest, b.rest) || (a.isPrefix ? -1 : 1);
  return text(a.rest, b.rest) || a.number - b.number || text(one, other);
}

function numbered(name: string): Numbered {
  const [, first, after = ''] = /^(\d{1,15})(.*)$/s.exec(name) ?? [];
  if (first !== undefined) return { number: Number(first), rest: after, isPrefix: true };
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  const digits = /\d{1,15}$/.exec(stem.slice(-15))?.[0];
  if (digits === undefined) return { number: null, rest: name, isPrefix: false };
  return { number: Number(digits), rest: stem.slice(0, -digits.length) + extension, isPrefix: false };
}
