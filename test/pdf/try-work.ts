import { CaptureError } from '../../src/contract/capture-error.js';
import { NO_CHANGES, type PdfChanges } from '../../src/contract/pdf-work.js';
import { builtFile } from '../../src/package-files.js';
import { PdfFiles } from '../../src/pdf/pdf-files.js';
import type { MadePdf } from '../../src/pdf/work-on-pdfs.js';

const TIMEOUT_MS = 120_000;
const WORK: Partial<PdfChanges>[] = [
  { merge: { startOnOddPages: true } },
  { split: { every: 1 } },
  { rotate: { degrees: 90, pages: null } },
  { flatten: true, pages: [{ from: 1, to: 2 }] },
];

const files = new PdfFiles(builtFile('pdf-thread.js'));

/** Works on a file in a thread, in one of several ways. */
export async function workInThread(content: Buffer, nth: number): Promise<MadePdf[]> {
  const changes = { ...NO_CHANGES, ...WORK[nth % WORK.length] };
  const given = changes.merge === null ? ['a.pdf'] : ['a.pdf', 'b.pdf'];
  return await files.work(
    { files: given.map((name) => ({ name, content: new Uint8Array(content) })), changes },
    {
      timeoutMs: TIMEOUT_MS,
      signal: new AbortController().signal,
      failed: () => new CaptureError({ code: 'render_timeout', message: '' }),
    },
  );
}

/** @returns what becomes of a file */
export async function tryWork(content: Buffer, nth: number): Promise<string> {
  try {
    return (await workInThread(content, nth)).length > 0 ? 'made' : 'nothing';
  } catch (error) {
    return error instanceof CaptureError && error.code === 'invalid_request' ? 'refused' : String(error);
  }
}
