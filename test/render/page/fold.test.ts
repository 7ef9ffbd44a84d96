import { describe, expect, it } from 'vitest';
import { foldText } from '../../../src/render/page/check-content.js';

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

  it('and keep the letters that differ apart', () => {
    expect(foldText('ż')).not.toBe(foldText('z'));
    expect(foldText('schon')).not.toBe(foldText('schön'));
  });
});
