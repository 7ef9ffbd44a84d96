import { expect, test } from 'vitest';
import { parseBypass } from '../../src/egress/proxy-server.js';

test.each([
  ['example.com', 'example.com', true],
  ['example.com', 'www.example.com', false],
  ['.example.com', 'www.example.com', true],
  ['.example.com', 'example.com', false],
  ['*.example.com', 'a.b.example.com', true],
  ['*example.com', 'notexample.com', true],
  ['a*b*c.com', 'axxbyyc.com', true],
  ['ab*bc', 'abc', false],
  ['*', 'anything.example', true],
  ['<local>', 'intranet', true],
  ['example.com:8080', 'example.com', false],
  ['example.com:80', 'example.com', true],
  ['https://example.com', 'example.com', true],
  ['a.com; b.com c.com', 'b.com', true],
  ['93.184.216.0/24', '93.184.216.34', true],
  ['93.184.216.34', '1572395042', true],
  ['[2606:2800::1]:80', '[2606:2800::1]', true],
  ['2606:2800::/32', '[2606:2800::1]', true],
  ['::/0', '93.184.216.34', false],
  ['(((', 'example.com', false],
])('bypass %j of %s on port 80: %s', (list, host, expected) => {
  expect(parseBypass(list)(host, 80)).toBe(expected);
});

test('no bypass at all lets everything through the proxy', () => {
  expect(parseBypass(null)('example.com', 80)).toBe(false);
});
