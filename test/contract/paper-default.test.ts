import { expect, it } from 'vitest';
import { printedOnPaper } from '../../src/contract/pdf-schema.js';

it.each([
  [{ format: 'pdf' }, 'de-DE', { paper: 'a4' }],
  [{ format: 'pdf' }, 'en-US', { paper: 'letter' }],
  [{ format: 'pdf' }, 'not a locale', { paper: 'a4' }],
  [{ format: 'pdf', locale: 'fr-CA' }, 'de-DE', { paper: 'letter' }],
  [{ format: 'pdf', region: 'us', locale: 'de-DE' }, 'en-US', { paper: 'a4' }],
  [{ format: 'pdf', pdf: { margin: '1cm' } }, 'de-DE', { margin: '1cm', paper: 'a4' }],
  [{ format: 'pdf', pdf: { paper: 'a5' } }, 'en-US', { paper: 'a5' }],
  [{ format: 'pdf', full_page: true, pdf: {} }, 'de-DE', { paper: 'a4' }],
  [{ format: 'pdf', full_page: true }, 'de-DE', undefined],
  [{ format: 'png' }, 'de-DE', undefined],
  [{ format: 'pdf', pdf: 'a4' }, 'de-DE', 'a4'],
])('%j of a person with the locale %s is printed with %j', (request, locale, pdf) => {
  expect(printedOnPaper(request, locale).pdf).toEqual(pdf);
});
