import { expect, it } from 'vitest';
import { type Candidate, chooseBrowser } from '../../../src/render/pool/browser-pool.js';

interface Named extends Candidate {
  name: string;
}

const aBrowser = (name: string, seen: Partial<Candidate> & { warm?: number } = {}): Named => {
  const { warm = 1, ...rest } = seen;
  return { name, active: 0, served: 0, warmFor: () => warm, ...rest };
};

const chosen = (live: Named[]): string | null => chooseBrowser(live, 'any', 2)?.name ?? null;

it('no browser is chosen if there is none', () => {
  expect(chosen([])).toBeNull();
});

it('a capture gets a browser with a free slot, then one with an open page, then the least busy, then the newest', () => {
  expect(chosen([aBrowser('full', { active: 2 }), aBrowser('free', { active: 1, warm: 0 })])).toBe('free');
  expect(chosen([aBrowser('cold', { warm: 0 }), aBrowser('warm', { active: 1 })])).toBe('warm');
  expect(chosen([aBrowser('one', { active: 1 }), aBrowser('none')])).toBe('none');
  expect(chosen([aBrowser('old', { served: 9 }), aBrowser('new')])).toBe('new');
  expect(chosen([aBrowser('full', { active: 2 }), aBrowser('fuller', { active: 3 })])).toBe('full');
});
