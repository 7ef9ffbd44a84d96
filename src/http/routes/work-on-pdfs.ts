import type { Readable } from 'node:stream';
import type { Context } from 'hono';
import { z } from 'zod';
import type { FoundAttachment, FoundPdf } from '../../capture/work-on-pdfs.js';
import type { WireAttachment } from '../../contract/document-schema.js';
import { isObject } from '../../contract/field-rules.js';
import { BODY_LIMIT_BYTES, PDF_FILES_MAX_BYTES, PDF_PAGES_MAX } from '../../contract/limits.js';
import { parsePdfWork, pdfWorkSchema } from '../../contract/pdf-work.js';
import { EXTENSION } from '../../contract/request-fields.js';
import { readRequestJson, refusedBody, sendAsFiles } from '../../contract/request-json.js';
import { invalidField } from '../../contract/submission.js';
import type { AppEnv, AppServices } from '../app-services.js';
import { clientOf } from '../exchange.js';
import { principalOf, SUBMISSIONS } from '../guard.js';
import { readJson } from '../read-body.js';
import { type FormParts, isForm, readPart } from '../read-form.js';
import { type ReceivedFiles, receivePdfs } from '../receive-pdfs.js';
import type { Description, Route } from '../route.js';
import { sendPdfs, uniqueNames } from '../send-pdfs.js';
import { refuseWhenDraining } from '../submit-and-wait.js';

/** Works on PDFs that exist (extensions.md, POST /v1/pdf). */
export const workOnPdfs: Route = {
  method: 'POST',
  path: '/v1/pdf',
  access: SUBMISSIONS,
  describe,
  handle: (services) => async (c) => {
    refuseWhenDraining(services);
    if (!isForm(c.env.incoming)) {
      const body = await readJson(c.env.incoming, sendAsFiles);
      using _place = await services.pdfs.enter(principalOf(c).accountId, clientOf(c));
      return await work(services, c, { body, files: [] });
    }
    await using received = await receivePdfs(services, c, (files) => new PdfParts(files));
    return await work(services, c, received.body);
  },
};

interface ReceivedRequest {
  body: unknown;
  files: readonly FoundPdf[];
}

async function work(
  services: AppServices,
  c: Context<AppEnv>,
  { body, files: received }: ReceivedRequest,
): Promise<Response> {
  const principal = principalOf(c);
  const { files: sources, chapters, changes, edits, attachments } = parsePdfWork(body);
  const attached = attachments.map((one, nth) => attachmentOf(received, one, `attachments.${nth}`));
  const parts = received.filter(({ read }) => !attached.some((one) => one.read === read));
  const files = sources === null ? [...parts] : [];
  for (const [nth, source] of (sources ?? []).entries()) {
    const field = `files.${nth}`;
    files.push(
      source.kind === 'part'
        ? partOf(parts, source.name, field)
        : await services.pdfs.find({ field, source }, principal),
    );
  }
  const unused = parts.find((file) => !files.includes(file));
  if (unused !== undefined)
    throw invalidField('files', `does not name the file ${JSON.stringify(unused.name)} of the form`);
  if (files.length === 0)
    throw invalidField('files', 'is required: send PDFs as parts `files` of a form, or name PDFs of this server');
  const named = chapters ? files.map((file) => ({ ...file, chapter: file.name.replace(/\.pdf$/i, '') })) : files;
  const request = { files: named, changes, edits, attachments: attached };
  const made = await services.pdfs.work(request, { principal, signal: clientOf(c) });
  const names = uniqueNames(made.map(({ name }) => name));
  const [only] = made;
  if (made.length === 1 && only !== undefined) c.var.exchange.headers['x-pages'] = String(only.pages);
  return await sendPdfs(services, c, {
    files: made.map(({ content }, nth) => ({ content, name: names[nth] ?? '' })),
    archive: 'pdfs',
  });
}

function partOf(files: readonly FoundPdf[], name: string, field: string): FoundPdf {
  const file = files.find((one) => one.name === name);
  if (file !== undefined) return file;
  throw invalidField(
    field,
    'must be the id of a job, the `cdn_url` of a PDF of this server, or the name of a file of the form',
  );
}

function attachmentOf(files: readonly FoundPdf[], attachment: WireAttachment, field: string): FoundAttachment {
  const { name, content, file, mime_type: mimeType, relationship, description = null } = attachment;
  if ((content === undefined) === (file === undefined)) throw invalidField(field, 'needs `content` or `file`');
  const facts = { name, mimeType, relationship, description };
  if (content !== undefined) {
    const bytes = Buffer.from(content, 'base64');
    return { ...facts, bytes: bytes.length, read: () => [bytes] };
  }
  const part = files.find((one) => one.name === file);
  if (part === undefined) throw invalidField(`${field}.file`, 'must be the name of a file of the form');
  return { ...facts, bytes: part.bytes, read: part.read };
}

const REQUEST_PART = 'request';
const FILES_PART = 'files';
const THE_REQUEST = `The part \`${REQUEST_PART}\``;
const NAME_MAX_CHARS = 200;

class PdfParts implements FormParts<ReceivedRequest> {
  #request: Buffer | null = null;

  constructor(private readonly files: ReceivedFiles) {}

  async take(part: string | undefined, fileName: string | undefined, content: Readable): Promise<void> {
    if (part === FILES_PART) {
      const name = (fileName ?? '').replace(/^.*[/\\]/s, '').replace(/\p{Cc}/gu, '');
      await this.files.add(name.slice(0, NAME_MAX_CHARS) || `${this.files.list.length + 1}.pdf`, content);
      return;
    }
    if (part !== REQUEST_PART)
      throw refusedBody(
        `Unknown part \`${(part ?? '').slice(0, 60)}\`. Known parts: \`${REQUEST_PART}\`, \`${FILES_PART}\`.`,
      );
    if (this.#request !== null) throw refusedBody(`There is more than one part \`${REQUEST_PART}\`.`);
    this.#request = await readPart(content, BODY_LIMIT_BYTES);
    if (this.#request === null) throw sendAsFiles(THE_REQUEST);
  }

  end(): ReceivedRequest {
    if (this.#request === null)
      throw refusedBody(`${THE_REQUEST} is missing: it says what to do, such as {"merge": true}.`);
    const body = readRequestJson(this.#request, BODY_LIMIT_BYTES, THE_REQUEST);
    if (!isObject(body)) throw refusedBody(`${THE_REQUEST} must be a JSON object.`);
    return { body, files: this.files.list };
  }
}

function describe(): Description {
  return {
    operationId: 'workOnPdfs',
    tags: ['captures'],
    summary: 'Merge, split and change PDFs',
    description: `Answers with the PDF, or with several as a zip file. Nothing is stored. A request costs 1 credit; one that fails costs nothing. The files have at most ${PDF_FILES_MAX_BYTES / 1e6} MB and ${PDF_PAGES_MAX} pages together.`,
    answers: {
      200: {
        description: 'The PDF, or a zip file with several.',
        types: ['application/pdf', 'application/zip'],
        headers: { 'x-pages': 'of one PDF: the number of its pages', 'content-disposition': 'the name of the file' },
      },
    },
    failures: {
      400: 'The request is not valid, or a file is damaged, encrypted with a password or too large.',
      404: 'One of the PDFs does not exist.',
      410: 'One of the PDFs has been deleted.',
      503: 'Shutting down, or the disk is full.',
    },
    body: {
      description: 'As JSON, or as a form with the JSON in the part `request`, and the PDFs in parts `files`.',
      schema: pdfWorkSchema,
      form: z.object({
        request: pdfWorkSchema.meta({ description: 'what is done', example: { merge: true } }),
        files: z
          .array(z.string().meta({ format: 'binary' }))
          .meta({ description: 'PDFs', example: ['a.pdf', 'b.pdf'] }),
      }),
      example: { files: ['job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8', 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N9'], merge: true },
    },
    ...EXTENSION,
  };
}
