import { expect, it } from 'vitest';
import { isBoundedRegex } from '../../../src/render/lists/bounded-regex.js';
import { MATCHED_CHARS } from '../../../src/render/lists/engines.js';

it.each([
  '\\/banner.*\\.js',
  '^https?:\\/\\/(?:[a-z]{2}\\.)?[0-9a-z]{7,16}\\.com\\/[a-z](?=[a-z]{0,25}[0-9A-Z])[0-9a-zA-Z]{3,26}\\/\\d{4,5}(?:\\?[_v]=\\d+)?$',
  '(\\d{1,3}\\.){3}\\d{1,3}',
  'ads?[0-9]+\\.(gif|jpg|png)',
  '\\/(?:banner|ad)s?\\/(?:[^/]+\\/)?[0-9]{3}x[0-9]{3}',
  '^https?:\\/\\/(?:[a-z0-9-]+\\.)*ads\\.[a-z]+\\/',
  '^https?:\\/\\/[-a-z]{8,15}\\.(?:com|net)\\/(?=[a-z]*[0-9])[0-9a-z]+\\.js$',
])('%s counts as bounded', (source) => {
  expect(isBoundedRegex(source, MATCHED_CHARS)).toBe(true);
});

it.each([
  '(a+)+$',
  'a.*b.*c',
  '^https?:\\/\\/.*\\/ads\\/.*\\/x.*\\.js',
  '^a|b.*c.*d',
  '(a|a)*b',
  '(?:a?){30}a{30}',
  '^(?:(?:a+)b?)*c$',
  '([a-z]+)\\1+x',
  '(?=(a+)+b)a',
  '^(?:\\w+\\s?)*$',
  'a*[ab]*c',
  '\\w+\\d+[a-z]',
  '(?=a*[ab]*c)',
])('%s counts as unbounded', (source) => {
  expect(isBoundedRegex(source, MATCHED_CHARS)).toBe(false);
});

it.each([
  '('.repeat(900) + ')'.repeat(900),
  'a?'.repeat(999),
  'a?b'.repeat(660),
  '(a?|b)?'.repeat(280),
  `${'(?:a?'.repeat(19)}${'x?'.repeat(800)}${')?'.repeat(19)}`,
])('a long expression is judged in little time', (source) => {
  const began = performance.now();
  isBoundedRegex(source, MATCHED_CHARS);
  expect(performance.now() - began).toBeLessThan(500);
});
