import { expect, it } from 'vitest';
import { hostilePdfs } from './hostile-pdfs.js';
import { mutated } from './mutated.js';
import { aDocument, aPackedDocument, rawPdf } from './raw-pdf.js';
import { tryWork, workInThread } from './try-work.js';

it('PDFs that make programs crash, hang or take all memory are refused, or read', async () => {
  for (const [nth, [name, content]] of Object.entries(hostilePdfs()).entries()) {
    const expected = name.endsWith('fine') ? ['made'] : ['made', 'refused'];
    expect({ name, outcome: await tryWork(content, nth) }).toEqual({ name, outcome: expect.toBeOneOf(expected) });
  }
});

it('small numbers of a PDF are written as they are', async () => {
  const numbers = '[0.0000012 -0.00000000034 123456.7891 .5 -3]';
  const page = `<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Numbers ${numbers}>>`;
  const pages = { 1: '<</Type /Catalog /Pages 2 0 R>>', 2: '<</Type /Pages /Kids [3 0 R] /Count 1>>', 3: page };
  const [made] = await workInThread(rawPdf(pages), 0);
  const [, written = ''] = /\/Numbers \[([^\]]*)\]/.exec(made?.content.toString('latin1') ?? '') ?? [];
  expect(written).not.toContain('e');
  expect(written.trim().split(/\s+/).map(Number)).toEqual([0.0000012, -0.00000000034, 123456.7891, 0.5, -3]);
});

it('a PDF is refused in any of 100 damaged forms, or read', async () => {
  const documents = [aDocument('Some'), aPackedDocument('Some')];
  for (let seed = 0; seed < 100; seed++) {
    const outcome = await tryWork(mutated(documents[(seed >> 2) % 2] as Buffer, seed), seed);
    expect({ seed, outcome }).toEqual({ seed, outcome: expect.toBeOneOf(['made', 'refused']) });
  }
});
