import { expect, it } from 'vitest';
import type { CdpSession } from '../../../src/render/launch/pipe-session.js';
import { printStream } from '../../../src/render/picture/print-stream.js';

/** A browser that answers `IO.read` as given. */
function aBrowser(read: () => unknown): CdpSession {
  const answers: Record<string, () => unknown> = {
    'Page.printToPDF': () => ({ stream: '1' }),
    'IO.read': read,
    'IO.close': () => ({}),
  };
  return { send: async (method: string) => answers[method]?.() } as unknown as CdpSession;
}

const PAPER = { paperWidth: 8, paperHeight: 11, pageRanges: '' };

it('a browser that cannot read back its file is reported as a full temporary directory', async () => {
  const full = aBrowser(() => {
    throw new Error('IO.read: Read failed');
  });
  await expect(printStream(full, PAPER)).rejects.toMatchObject({
    code: 'internal_error',
    status: 503,
    retriable: true,
    message: expect.stringContaining('temporary directory'),
  });
});

it('any other failure is unchanged', async () => {
  const broken = aBrowser(() => {
    throw new Error('IO.read: Invalid stream handle');
  });
  await expect(printStream(broken, PAPER)).rejects.toThrow('Invalid stream handle');
});
