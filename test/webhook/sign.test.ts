import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { SIGNATURE_HEADER, sign } from '../../src/webhook/deliver.js';

test('a signature covers the timestamp, a period and the exact body', () => {
  const body = '{"ok":true,"text":"ünïcödé ✓"}';
  const digest = createHmac('sha256', 'whsec_0123456789abcdef').update(`1700000000.${body}`, 'utf8').digest('hex');
  expect(sign('whsec_0123456789abcdef', body, 1_700_000_000_999)).toBe(`t=1700000000,v1=${digest}`);
  expect(SIGNATURE_HEADER).toBe('x-service-signature');
});

test('a signature agrees with an independent digest', () => {
  // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac 'a secret of 24 characters'
  expect(sign('a secret of 24 characters', '{"a":1}', 1_700_000_000_000)).toBe(
    't=1700000000,v1=8a5b0d5add80ef5795351ce2acb861ed89d5dfee54136fe8b910f1011b0068b1',
  );
});
