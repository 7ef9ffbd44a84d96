import { describe, expect, it } from 'vitest';
import { periodEnd, periodOf, priceOf } from '../../src/contract/pricing.js';

describe('the price of a capture', () => {
  it('is 1 for a viewport image, 2 for a full page, 3 for any PDF', () => {
    expect(priceOf({ format: 'png', fullPage: false })).toBe(1);
    expect(priceOf({ format: 'webp', fullPage: true })).toBe(2);
    expect(priceOf({ format: 'pdf', fullPage: false })).toBe(3);
    expect(priceOf({ format: 'pdf', fullPage: true })).toBe(3);
  });
});

describe('a billing period', () => {
  it('is a calendar month in UTC', () => {
    expect(periodOf(Date.UTC(2026, 11, 31, 23, 59))).toBe('2026-12');
    expect(periodEnd(Date.UTC(2026, 11, 31, 23, 59))).toBe(Date.UTC(2027, 0, 1));
  });
});
