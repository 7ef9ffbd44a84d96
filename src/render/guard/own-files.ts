import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type CaptureOptions, HTML_DOCUMENT_URL } from '../../contract/capture-request.js';
import { fileNameOf, type PageFile, requestPath } from '../../contract/page-files.js';
import type { OwnAnswer, OwnHost, OwnRequest } from '../../egress/egress.js';

/** The content of all files of a capture, one after the other. */
export interface FileContents {
  /** Reads bytes; `end` is inclusive. */
  read(range: { start: number; end: number }): Promise<Readable>;
}

const NOT_FOUND: OwnAnswer = {
  status: 404,
  headers: { 'content-type': 'text/plain', 'content-length': 0 },
  body: null,
};

/** Serves the files of a capture at the reserved origin, to its own page. */
export function ownFiles(list: readonly PageFile[], contents: FileContents): OwnHost {
  const files = new Map(list.map((file) => [file.name, file]));
  const answer = async ({ method, path, range }: OwnRequest): Promise<OwnAnswer> => {
    if (method !== 'GET' && method !== 'HEAD')
      return { status: 405, headers: { allow: 'GET, HEAD', 'content-length': 0 }, body: null };
    const decoded = requestPath(path);
    const file = decoded === null ? undefined : files.get(fileNameOf(decoded));
    if (file === undefined) return NOT_FOUND;
    const part = partOf(file, range);
    if (part === null) {
      return { status: 416, headers: { 'content-range': `bytes */${file.bytes}`, 'content-length': 0 }, body: null };
    }
    const length = part.end - part.start + 1;
    const start = file.at + part.start;
    return {
      status: part.isWhole ? 200 : 206,
      headers: {
        'content-type': file.type,
        'content-length': length,
        'accept-ranges': 'bytes',
        'cache-control': 'no-store',
        ...(part.isWhole ? {} : { 'content-range': `bytes ${part.start}-${part.end}/${file.bytes}` }),
      },
      body: method === 'HEAD' || length === 0 ? null : await contents.read({ start, end: start + length - 1 }),
    };
  };
  return { host: new URL(HTML_DOCUMENT_URL).hostname, answer };
}

/** Options in which the attachments of a PDF that are files of the request have their content. */
export async function withAttachedFiles(options: CaptureOptions, contents?: FileContents): Promise<CaptureOptions> {
  const { pdf, files } = options;
  if (pdf?.document?.attachments === undefined || files === null || contents === undefined) return options;
  const attachments = [];
  for (const attachment of pdf.document.attachments) {
    const file = files.list.find(({ name }) => name === attachment.file);
    const range = file && { start: file.at, end: file.at + file.bytes - 1 };
    const content = range && (file.bytes === 0 ? '' : (await buffer(await contents.read(range))).toString('base64'));
    attachments.push(content === undefined ? attachment : { ...attachment, content });
  }
  return { ...options, pdf: { ...pdf, document: { ...pdf.document, attachments } } };
}

interface Part {
  start: number;
  /** Inclusive. */
  end: number;
  isWhole: boolean;
}

/** The requested part of a file, as media players ask for it; null if the file does not have it. */
function partOf({ bytes }: PageFile, range = ''): Part | null {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? [];
  if (first === '' && last === '') return { start: 0, end: bytes - 1, isWhole: true };
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? bytes - 1 : Math.min(bytes - 1, Number(last));
  return start <= end ? { start, end, isWhole: false } : null;
}
