import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/contract/config-error.js';
import { openTestEgress } from './open-test-egress.js';

async function refuses(allowDestinations: string[], url: string): Promise<boolean> {
  await using gate = await openTestEgress({}, { allowDestinations });
  return gate.egress.refusesLiterally(url);
}

describe('by its spelling', () => {
  test.each([
    [['127.0.0.2'], 'http://127.0.0.2:99/', false],
    [['127.0.0.2'], 'http://2130706434/', false],
    [['127.0.0.2'], 'http://[::ffff:127.0.0.2]/', false],
    [['127.0.0.2'], 'http://127.0.0.3/', true],
    [['127.0.0.2:8080'], 'http://127.0.0.2:8080/', false],
    [['127.0.0.2:8080'], 'http://127.0.0.2/', true],
    [['127.0.0.2:443'], 'https://127.0.0.2/', false],
    [['10.0.0.0/8'], 'http://10.255.0.1/', false],
    [['10.0.0.0/8'], 'http://11.0.0.1/', false],
    [['10.0.0.0/8'], 'http://192.168.0.1/', true],
    [['10.0.0.0/8'], 'http://wiki.internal/', true],
    [['fd00::/8'], 'http://[fd12::1]/', false],
    [['[fd12::1]:80'], 'http://[fd12::1]/', false],
    [['[fd12::1]:80'], 'http://[fd12::1]:81/', true],
    [['fd12::1'], 'http://[fd12::1]:81/', false],
    [['localhost'], 'http://localhost:3000/', false],
    [['localhost'], 'http://127.0.0.1:3000/', true],
    [['localhost:3000'], 'http://localhost:3001/', true],
    [['127.0.0.1'], 'http://localhost:3000/', false],
    [['127.0.0.2'], 'http://localhost:3000/', true],
    [['wiki'], 'http://wiki/', false],
    [['wiki'], 'http://wiki2/', true],
    [['Wiki.Internal'], 'http://wiki.internal./', false],
    [['wiki.internal'], 'http://a.wiki.internal/', true],
    [['*.internal'], 'http://a.wiki.internal/', false],
    [['*.internal:80'], 'http://a.wiki.internal:81/', true],
    [['*'], 'http://metadata.google.internal/', false],
    [['*'], 'http://127.0.0.1/', false],
    [['*'], 'file:///etc/passwd', true],
    [[], 'http://nowhere.invalid/', false],
    [[], 'http://shop.test/', false],
    [[], 'http://test/', true],
  ])('allowing %j, %s refused: %s', async (allow, url, expected) => {
    expect(await refuses(allow, url)).toBe(expected);
  });
});

describe('by its answer', () => {
  const zone = {
    'wiki.example.net': ['10.0.0.7'],
    'half.example.net': ['10.0.0.7', '192.168.0.1'],
    'wiki.test': ['10.0.0.7'],
    'public.test': ['93.184.216.34'],
  };

  test.each([
    [['10.0.0.0/8'], 'wiki.example.net', 80, true],
    [['10.0.0.0/8'], 'half.example.net', 80, false],
    [['10.0.0.7:8080'], 'wiki.example.net', 8080, true],
    [['10.0.0.7:8080'], 'wiki.example.net', 80, false],
    [['half.example.net'], 'half.example.net', 80, true],
    [['half.example.net:443'], 'half.example.net', 80, false],
    [['half.example.net:443'], 'half.example.net', 443, true],
    [['other.example.net'], 'half.example.net', 443, false],
    [['10.0.0.0/8'], 'wiki.test', 80, true],
    [['wiki.test'], 'wiki.test', 80, true],
    [['127.0.0.2'], 'wiki.test', 80, false],
    [['127.0.0.2'], 'public.test', 80, false],
  ])('allowing %j, %s:%i reached: %s', async (allow, host, port, expected) => {
    await using gate = await openTestEgress(zone, { allowDestinations: allow });
    await using door = await gate.openDoor();
    const signal = AbortSignal.timeout(1_000);
    const asked = gate.egress.fetch({
      url: `http://${host}:${port}/`,
      method: 'GET',
      headers: {},
      body: null,
      timeoutMs: 300,
      maxBytes: 1,
      via: door,
      allowedOrigins: [],
      signal,
    });
    // Nobody is at these addresses: reached means that it was tried.
    const error = await asked.then(
      () => null,
      (thrown: Error) => thrown.name,
    );
    expect(error === 'EgressRefused').toBe(!expected);
  });
});

test.each([
  '10.0.0.0/33',
  'http://example.com',
  'a b',
  'exa$mple',
  'example.com:0',
  'example.com:99999',
  '',
  '10.0.0.0/8:80',
  '*.10.0.0.1',
  'a/b',
])('%j is a wrong setting, and the start says so', async (entry) => {
  await expect(openTestEgress({}, { allowDestinations: [entry] })).rejects.toThrow(ConfigError);
});
