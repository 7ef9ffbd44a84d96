import { describe, expect, it } from 'vitest';
import { isId, newId } from '../../src/contract/ids.js';

describe('an id', () => {
  it('is a prefix and a ULID', () => {
    expect(newId('job')).toMatch(/^job_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(isId('job', newId('job'))).toBe(true);
    expect(isId('job', newId('request'))).toBe(false);
    expect(isId('job', 'job_1')).toBe(false);
  });

  it('sorts by its time', () => {
    expect(newId('job', 1_000) < newId('job', 1_001)).toBe(true);
    expect(newId('job', Date.UTC(2026, 0)) < newId('job', Date.UTC(2027, 0))).toBe(true);
  });
});
