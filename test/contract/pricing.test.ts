import { expect, it } from 'vitest';
import { periodEnd, periodOf, priceOf } from '../../src/contract/pricing.js';
import { parse, URL_ONLY } from './parsing.js';

it.each<[number, object]>([
  [1, {}],
  [1, { format: 'bmp', palette: { colors: 2 }, rotate: 270 }],
  [2, { full_page: true }],
  [3, { format: 'pdf' }],
  [3, { format: 'pdf', full_page: true }],
  [5, { animate: { format: 'gif' } }],
  [1, { captures: [{}] }],
  [1, { captures: [{}, { selector: 'a' }, { selector_all: 'p' }] }],
  [2, { captures: [{}, { full_page: true }] }],
  [3, { captures: [{ full_page: true }, { full_page: true, format: 'png' }] }],
  [5, { captures: [{ format: 'pdf' }, { format: 'pdf' }] }],
  [4, { captures: [{}, { full_page: true }], color_schemes: ['light', 'dark'] }],
  [4, { viewports: [{}, { width: 400 }], full_page: true }],
])('the price is %i for %j', (price, body) => {
  expect(priceOf(parse({ ...URL_ONLY, ...body }).options)).toBe(price);
});

it('a billing period is a calendar month in UTC', () => {
  expect(periodOf(Date.UTC(2026, 11, 31, 23, 59))).toBe('2026-12');
  expect(periodEnd(Date.UTC(2026, 11, 31, 23, 59))).toBe(Date.UTC(2027, 0, 1));
});
