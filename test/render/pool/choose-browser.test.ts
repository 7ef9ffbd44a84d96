import { describe, expect, it } from 'vitest';
import { type Call, type Candidate, chooseBrowser } from '../../../src/render/pool/choose-browser.js';

interface Named extends Candidate {
  name: string;
}

const aBrowser = (name: string, seen: Partial<Candidate> & { warm?: number } = {}): Named => {
  const { warm = 1, ...rest } = seen;
  return { name, active: 0, served: 0, strained: false, yielding: false, warmFor: () => warm, ...rest };
};

function chosen(live: Named[], call: Partial<Call> = {}): string | null {
  const about = { quickAbout: true, knownQuickAbout: true };
  const choice = chooseBrowser(live, { emulationKey: 'any', pagesPerBrowser: 2, page: 'unknown', ...about, ...call });
  return choice === null ? null : `${choice.browser.name}${choice.toYield ? ', yielding' : ''}`;
}

it('there is nothing to choose where there is no browser', () => {
  for (const page of ['quick', 'unknown', 'heavy'] as const) expect(chosen([], { page })).toBeNull();
});

it.each(['quick', 'unknown'] as const)('where no browser yields, a %s page gets the best one', (page) => {
  const call = { page };
  expect(chosen([aBrowser('full', { active: 2 }), aBrowser('strained', { active: 1, strained: true, warm: 0 })], call)).toBe('strained');
  expect(chosen([aBrowser('strained', { strained: true }), aBrowser('calm', { active: 1, warm: 0 })], call)).toBe('calm');
  expect(chosen([aBrowser('cold', { warm: 0 }), aBrowser('warm', { active: 1 })], call)).toBe('warm');
  expect(chosen([aBrowser('one', { active: 1 }), aBrowser('none')], call)).toBe('none');
  expect(chosen([aBrowser('old', { served: 9 }), aBrowser('new')], call)).toBe('new');
});

describe('a page that is known to be quick', () => {
  const call = { page: 'quick' } as const;
  const idle = aBrowser('idle', { yielding: true });

  it('has the best browser of those that do not yield', () => {
    expect(chosen([idle, aBrowser('busy', { active: 1 }), aBrowser('best')], call)).toBe('best');
    expect(chosen([idle, aBrowser('full', { active: 2 }), aBrowser('busy', { active: 1, warm: 0 })], call)).toBe('busy');
  });

  it('goes to one that yields only when that is idle and the others are full or held up, or there is no other', () => {
    const used = aBrowser('used', { yielding: true, active: 1 });
    expect(chosen([idle, aBrowser('full', { active: 2 })], call)).toBe('idle');
    expect(chosen([idle, aBrowser('strained', { active: 1, strained: true })], call)).toBe('idle');
    expect(chosen([used, aBrowser('strained', { active: 1, strained: true })], call)).toBe('strained');
    expect(chosen([used, aBrowser('full', { active: 3 })], call)).toBe('full');
    expect(chosen([used], call)).toBe('used');
  });
});

describe('a page of which nothing is known', () => {
  const kept = aBrowser('kept');
  const yielding = aBrowser('yielding', { yielding: true, active: 1 });
  const full = aBrowser('full', { yielding: true, active: 2 });

  it('leaves a browser to those that are known to be quick, while heavy ones are about and there is room elsewhere', () => {
    expect(chosen([kept, aBrowser('other', { active: 1 }), yielding])).toBe('other');
    expect(chosen([kept, aBrowser('other', { active: 2 }), yielding])).toBe('yielding');
    expect(chosen([kept, yielding])).toBe('yielding');
    expect(chosen([kept, full])).toBe('kept');
  });

  it('shares all of them where none is known to be quick', () => {
    const call = { knownQuickAbout: false };
    expect(chosen([kept, yielding], call)).toBe('kept');
    expect(chosen([aBrowser('kept', { active: 2 }), yielding], call)).toBe('yielding');
  });
});

describe('a heavy page', () => {
  const call = { page: 'heavy' } as const;
  const used = aBrowser('used', { yielding: true, active: 1, strained: true });
  const full = aBrowser('full', { yielding: true, active: 5 });

  it('goes to a browser that yields, and has another yield when those are full', () => {
    const others = [aBrowser('kept'), aBrowser('busy', { active: 1 }), aBrowser('idle')];
    expect(chosen([...others, used], call)).toBe('used');
    expect(chosen([...others, full], call)).toBe('idle, yielding');
    expect(chosen(others, call)).toBe('idle, yielding');
  });

  it('leaves one browser to the quick ones while they are about', () => {
    expect(chosen([full, aBrowser('last')], call)).toBe('full');
    expect(chosen([aBrowser('only')], call)).toBe('only');
  });

  it('has all of them where no quick ones are about', () => {
    const alone = { ...call, quickAbout: false };
    expect(chosen([full, aBrowser('last')], alone)).toBe('last');
    expect(chosen([aBrowser('busy', { active: 1 }), aBrowser('idle', { yielding: true })], alone)).toBe('idle');
    expect(chosen([aBrowser('idle'), aBrowser('busy', { yielding: true, active: 1 })], alone)).toBe('idle');
  });
});
