/** A PDF, or a zip file with several. */
export interface MadePdf {
  content: Uint8Array<ArrayBuffer>;
  type: 'application/pdf' | 'application/zip';
  /** Number of pages; null for a zip file. */
  pages: number | null;
}

export async function readPdf(response: Response): Promise<MadePdf> {
  const type = response.headers.get('content-type') === 'application/zip' ? 'application/zip' : 'application/pdf';
  const pages = response.headers.get('x-pages');
  const content = new Uint8Array(await response.arrayBuffer());
  return { content, type, pages: pages === null ? null : Number(pages) };
}
