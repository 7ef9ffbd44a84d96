import { describe, expect, it } from 'vitest';
import { isApiKey, newApiKey } from '../../src/contract/api-key.js';

describe('an API key', () => {
  it('has the prefix and 38 base62 characters', () => {
    expect(newApiKey()).toMatch(/^sf_live_[0-9A-Za-z]{38}$/);
  });

  it('is refused with any one character changed', () => {
    const key = newApiKey();
    expect(isApiKey(key)).toBe(true);
    for (let at = 8; at < key.length; at++) {
      const typo = key.slice(0, at) + (key[at] === 'x' ? 'y' : 'x') + key.slice(at + 1);
      expect(isApiKey(typo)).toBe(false);
    }
  });
});
