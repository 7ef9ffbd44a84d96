import { expect, it } from 'vitest';
import { pageChooser } from '../../../src/contract/pdf-schema.js';
import { pagesAlike, printedPages, rangesOf } from '../../../src/render/picture/page-headers.js';

it.each([
  ['1', [1]],
  ['2-', [2, 3, 4, 5]],
  ['-2', [1, 2]],
  ['2 - 3, last', [2, 3, 5]],
  ['First,even', [1, 2, 4]],
  ['right', [1, 3, 5]],
  ['9', []],
])('the choice %s is for the pages %j of five', (choice, expected) => {
  const isFor = pageChooser(choice);
  expect([1, 2, 3, 4, 5].filter((page) => isFor(page, 5))).toEqual(expected);
});

it('each part of a page is that of the first entry that is for the page and has it', () => {
  const headers = [
    { pages: '1', header: '' },
    { pages: 'left', footer: 'L' },
    { pages: '1-2', header: 'H', footer: '' },
  ];
  const pdf = { headers, headerTemplate: 'all', footerTemplate: null };
  expect(pagesAlike(pdf, { printed: [1, 2, 3, 4], pages: 4 })).toEqual([
    { headerTemplate: 'H', footerTemplate: 'L', places: [1] },
    { headerTemplate: 'all', footerTemplate: null, places: [2] },
    { headerTemplate: 'all', footerTemplate: 'L', places: [3] },
  ]);
});

it('pages in a file have the numbers that the ranges name, in ascending order and each once', () => {
  expect(printedPages(null, 3)).toEqual([1, 2, 3]);
  expect(printedPages('7-999999,2-3,3-4', 5)).toEqual([2, 3, 4, 7, 8]);
  expect(rangesOf([1, 2, 3, 5, 8, 9])).toBe('1-3,5,8-9');
});
