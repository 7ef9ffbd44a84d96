import { describe, expect, it } from 'vitest';
import { defaultOptions } from '../../src/contract/capture-request.js';
import { periodEnd, periodOf, priceOf } from '../../src/contract/pricing.js';

describe('the price of a capture', () => {
  it('is 1 for a viewport image, 2 for a full page, 3 for any PDF, 5 for an animated picture', () => {
    expect(priceOf({ ...defaultOptions(), format: 'png', fullPage: false })).toBe(1);
    expect(priceOf({ ...defaultOptions(), format: 'webp', fullPage: true })).toBe(2);
    expect(priceOf({ ...defaultOptions(), format: 'pdf', fullPage: false })).toBe(3);
    expect(priceOf({ ...defaultOptions(), format: 'pdf', fullPage: true })).toBe(3);
    const animate = { duration: 3_000, fps: 10, scroll: false, format: 'gif', scale: 'css' } as const;
    expect(priceOf({ ...defaultOptions(), format: 'gif', animate })).toBe(5);
  });
});

describe('a billing period', () => {
  it('is a calendar month in UTC', () => {
    expect(periodOf(Date.UTC(2026, 11, 31, 23, 59))).toBe('2026-12');
    expect(periodEnd(Date.UTC(2026, 11, 31, 23, 59))).toBe(Date.UTC(2027, 0, 1));
  });
});
