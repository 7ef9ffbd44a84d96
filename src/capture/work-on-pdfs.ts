import type { Principal } from '../account/authenticate.js';
import type { OpenArtifact } from '../artifacts/artifacts.js';
import { CaptureError, refusedField } from '../contract/capture-error.js';
import type { PdfAttachment } from '../contract/document-schema.js';
import { ATTACHMENTS_MAX_BYTES, PDF_FILES_MAX_BYTES, PDFS_MADE_MAX_BYTES } from '../contract/limits.js';
import type { PdfBookmark, PdfChanges, PdfSource } from '../contract/pdf-work.js';
import { PDF_WORK_PRICE } from '../contract/pricing.js';
import type { Log } from '../log.js';
import type { PdfEdits } from '../pdf/edit-pdf.js';
import type { PdfQueue } from '../pdf/pdf-queue.js';
import type { PdfFacts } from '../pdf/read-pdfs.js';
import type { InputPdf, MadePdf } from '../pdf/work-on-pdfs.js';
import type { JobStore } from '../store/store.js';
import { type ChargeDeps, charge, type ReserveMemory, reserve } from './cost.js';
import { lookupJob } from './lookup.js';
import { pictureDeleted } from './open-picture.js';

export interface PdfDeps {
  store: Pick<JobStore, 'findJob'> & ChargeDeps['store'];
  openPicture(name: string): Promise<OpenArtifact | 'deleted' | null>;
  queue: PdfQueue;
  reserveMemory: ReserveMemory;
  log: Log;
  now(): number;
}

export type { MadePdf, PdfFacts };

/** A PDF that has not been read yet. */
export interface FoundPdf {
  name: string;
  bytes: number;
  /** The chapter of a merge. */
  chapter?: string;
  /** Whether the document's own title is preferred. */
  prefersTitle?: boolean;
  /** In place of its own. */
  bookmarks?: readonly PdfBookmark[];
  read(): AsyncIterable<Buffer> | Iterable<Buffer>;
}

/** A file that goes into each result. */
export type FoundAttachment = Omit<PdfAttachment, 'content'> & Pick<FoundPdf, 'bytes' | 'read'>;

export interface PdfRequest {
  files: readonly FoundPdf[];
  changes: PdfChanges;
  /** The bookmarks of a merged PDF. */
  bookmarks?: readonly PdfBookmark[];
  edits: Omit<PdfEdits, 'attachments'>;
  attachments: readonly FoundAttachment[];
}

/** The memory that the library takes for each byte of a file, with the files that are made. Measured: three bytes for 90 MB of pictures. */
const BYTES_PER_BYTE = 4;
const LIBRARY_BYTES = 100_000_000;

/**
 * Finds the PDF of a job, or one that is stored.
 * @param field names it in errors
 * @throws CaptureError `invalid_request`: 404 if it does not exist, 410 if it has been deleted, 400 if it is no PDF
 */
export async function findPdf(
  deps: Pick<PdfDeps, 'store' | 'openPicture'>,
  { field, source }: { field: string; source: Exclude<PdfSource, { kind: 'part' }> },
  principal: Principal,
): Promise<FoundPdf> {
  const name =
    source.kind === 'artifact' ? source.name : await artifactOf(deps, { field, jobId: source.jobId }, principal);
  if (!name.endsWith('.pdf')) throw refusedField(field, 'must be a PDF');
  const artifact = await deps.openPicture(name);
  if (artifact === 'deleted') throw pictureDeleted();
  if (artifact === null) throw refusedField(field, 'is not a PDF of this server', { status: 404 });
  return { name, bytes: artifact.bytes, read: () => chunksOf(artifact) };
}

/** Reads a stored file. */
export async function* chunksOf(artifact: OpenArtifact): AsyncGenerator<Buffer> {
  yield* await artifact.read();
}

interface PdfCaller {
  principal: Principal;
  signal: AbortSignal;
}

/**
 * Works on PDFs until `signal` aborts, for the price of one request, which is given back if it fails.
 * @throws CaptureError as PdfQueue.work; `quota_exceeded`; `rate_limited` if captures leave no memory
 */
export async function workOnPdfs(
  deps: PdfDeps,
  { files, changes, bookmarks, edits, attachments }: PdfRequest,
  who: PdfCaller,
): Promise<MadePdf[]> {
  if (attachments.reduce((sum, file) => sum + file.bytes, 0) > ATTACHMENTS_MAX_BYTES)
    throw refusedField('attachments', `must have at most ${ATTACHMENTS_MAX_BYTES / 1e6} MB together`);
  return await charged(deps, files, who, () =>
    deps.queue.work({ account: who.principal.accountId, signal: who.signal }, async () => {
      const { attached, ...loaded } = await load(deps, { files, attachments, makesMany: changes.split !== null }, who);
      const all = { ...edits, ...(attached.length > 0 && { attachments: attached }) };
      return {
        ...loaded,
        changes,
        ...(bookmarks && { bookmarks }),
        ...(Object.keys(all).length > 0 && { edits: all }),
      };
    }),
  );
}

/** Reads what PDFs say about themselves, as `workOnPdfs`. */
export async function readPdfs(deps: PdfDeps, files: readonly FoundPdf[], who: PdfCaller): Promise<PdfFacts[]> {
  return await charged(deps, files, who, () =>
    deps.queue.read({ account: who.principal.accountId, signal: who.signal }, () =>
      load(deps, { files, attachments: [], makesMany: false }, who),
    ),
  );
}

async function charged<Value>(
  deps: PdfDeps,
  files: readonly FoundPdf[],
  { principal }: PdfCaller,
  work: () => Promise<Value>,
): Promise<Value> {
  if (sizeOf(files) > PDF_FILES_MAX_BYTES)
    throw new CaptureError({
      code: 'invalid_request',
      message: `The files have more than ${PDF_FILES_MAX_BYTES / 1e6} MB together.`,
    });
  const giveBack = await charge(deps, { accountId: principal.accountId, price: PDF_WORK_PRICE });
  try {
    return await work();
  } catch (error) {
    await giveBack();
    throw error;
  }
}

async function load(
  { reserveMemory }: PdfDeps,
  {
    files,
    attachments,
    makesMany,
  }: { files: readonly FoundPdf[]; attachments: readonly FoundAttachment[]; makesMany: boolean },
  { signal }: PdfCaller,
): Promise<{ files: InputPdf[]; attached: PdfAttachment[] } & Disposable> {
  const inputBytes = BYTES_PER_BYTE * (sizeOf(files) + sizeOf(attachments));
  const bytes = LIBRARY_BYTES + inputBytes + (makesMany ? PDFS_MADE_MAX_BYTES : 0);
  const memory = await reserve(reserveMemory, { bytes, consumer: 'PDFs', signal });
  const dispose = () => memory?.[Symbol.dispose]();
  try {
    const contents: InputPdf[] = [];
    for (const { name, bytes: size, read: chunks, ...rest } of files)
      contents.push({ ...rest, name, content: await read({ bytes: size, read: chunks }) });
    const attached: PdfAttachment[] = [];
    for (const { bytes: size, read: chunks, ...facts } of attachments)
      attached.push({ ...facts, content: await read({ bytes: size, read: chunks }) });
    return { files: contents, attached, [Symbol.dispose]: dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

function sizeOf(files: readonly Pick<FoundPdf, 'bytes'>[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function read({ bytes, read: chunks }: Pick<FoundPdf, 'bytes' | 'read'>): Promise<Buffer> {
  // A buffer of its own can be moved to a thread; joining the chunks would hold up other requests.
  const content = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for await (const chunk of chunks()) at += chunk.copy(content, at);
  return content;
}

async function artifactOf(
  { store }: Pick<PdfDeps, 'store'>,
  { field, jobId }: { field: string; jobId: string },
  principal: Principal,
): Promise<string> {
  const job = await lookupJob(store, jobId, principal);
  if (job === null) throw refusedField(field, 'is not a job of this API key', { status: 404 });
  if (job.result === null) throw refusedField(field, 'is a job that has not ended yet');
  if (!job.result.outcome.ok) throw refusedField(field, 'is a job that has failed');
  return job.result.outcome.data.artifact;
}
