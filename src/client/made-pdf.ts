import { StillframeError } from './stillframe-error.js';

/** A PDF, or a zip file with several. */
export interface MadePdf {
  content: Uint8Array<ArrayBuffer>;
  type: 'application/pdf' | 'application/zip';
  /** Number of pages; null for a zip file. */
  pages: number | null;
}

export async function readPdf(response: Response): Promise<MadePdf> {
  const type = response.headers.get('content-type');
  if (type !== 'application/pdf' && type !== 'application/zip') {
    const message = 'The answer is neither a PDF nor a zip file.';
    throw new StillframeError({ code: 'unexpected_response', message, retriable: false, status: response.status });
  }
  const pages = response.headers.get('x-pages');
  const content = new Uint8Array(await response.arrayBuffer());
  return { content, type, pages: pages === null ? null : Number(pages) };
}
