import { describe, expect, it } from 'vitest';
import { foldText } from '../../../src/render/in-page/fold.js';

describe('folded texts are equal', () => {
  it.each([
    ['whatever their white space', ' Out  of\n stock', 'out of stock'],
    ['in capitals as CSS writes them', 'Straße nach', 'STRASSE NACH'],
    ['with a capital ß', 'STRAẞE', 'straße'],
    ['wherever a sigma stands', 'ΟΔΟΣ', 'οδοσ'],
    ['in Turkish capitals', 'İletişim ılık', 'iletişim ILIK'],
    ['whatever marks of direction they carry', '\u200fשלום\u200e \u2067abc\u2069', 'שלום abc'],
    ['composed or not', 'Cafe\u0301 ż', 'café z\u0307'],
  ])('%s', (_how, one, other) => {
    expect(foldText(one)).toBe(foldText(other));
  });

  it('and letters that differ remain different', () => {
    expect(foldText('ż')).not.toBe(foldText('z'));
    expect(foldText('schon')).not.toBe(foldText('schön'));
  });
});

describe('a text of two million characters is folded in linear time', () => {
  it.each([
    ['combining marks', 'a\u0301\u0323'.repeat(2), '\u0323\u0301'],
    ['marks of other scripts', '\u05d0', '\u05b8\u0591\u0fb7\u0345'],
    ['white space', 'a', ' \n'],
    ['invisible characters', 'a', '\u200b\u2060'],
    ['ligatures', '', '\ufb03\u0130'],
    ['jamo', '', '\u1112\u1161\u11ab'],
  ])('of %s', (_what, start, unit) => {
    const textOf = (chars: number) => start + unit.repeat(chars / unit.length);
    foldText(textOf(10_000));
    const [some = 0, most = 0] = [250_000, 2_000_000].map((chars) => {
      const began = performance.now();
      foldText(textOf(chars));
      return performance.now() - began;
    });
    // Quadratic time would be 64 times as long.
    expect(most).toBeLessThan(24 * some + 2_000);
  });
});
