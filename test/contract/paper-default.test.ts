import { expect, it } from 'vitest';
import { printedOnPaper } from '../../src/contract/pdf-schema.js';

it.each([
  [{ format: 'pdf' }, { paper: 'letter' }],
  [
    { format: 'pdf', pdf: { margin: '1cm' } },
    { margin: '1cm', paper: 'letter' },
  ],
  [{ format: 'pdf', pdf: { paper: 'a5' } }, { paper: 'a5' }],
  [{ format: 'pdf', full_page: true, pdf: {} }, { paper: 'letter' }],
  [{ format: 'pdf', full_page: true }, undefined],
  [{ format: 'png' }, undefined],
  [{ format: 'pdf', pdf: 'a4' }, 'a4'],
])('%j from the command line or the console is printed with %j', (request, pdf) => {
  expect(printedOnPaper(request).pdf).toEqual(pdf);
});
