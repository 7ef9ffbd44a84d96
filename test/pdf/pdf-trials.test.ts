import { expect, it } from 'vitest';
import { hostilePdfs } from './hostile-pdfs.js';
import { mutated } from './mutated.js';
import { aDocument, aPackedDocument } from './raw-pdf.js';
import { tryWork } from './try-work.js';

it('PDFs that make programs crash, hang or take all memory are refused, or read', async () => {
  for (const [nth, [name, content]] of Object.entries(hostilePdfs()).entries()) {
    const expected = name.endsWith('fine') ? ['made'] : ['made', 'refused'];
    expect({ name, outcome: await tryWork(content, nth) }).toEqual({ name, outcome: expect.toBeOneOf(expected) });
  }
});

it('a PDF is refused in any of 100 damaged forms, or read', async () => {
  const documents = [aDocument('Some'), aPackedDocument('Some')];
  for (let seed = 0; seed < 100; seed++) {
    const outcome = await tryWork(mutated(documents[(seed >> 2) % 2] as Buffer, seed), seed);
    expect({ seed, outcome }).toEqual({ seed, outcome: expect.toBeOneOf(['made', 'refused']) });
  }
});
