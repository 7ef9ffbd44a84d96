import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/contract/config-error.js';
import { sendThrough } from './capture-proxy-client.js';
import { ALLOWED, openTestEgress, openTestProxy } from './open-test-egress.js';

async function refuses(allowDestinations: string[], url: string): Promise<boolean> {
  await using gate = await openTestEgress({}, { allowDestinations });
  return gate.egress.refusesLiterally(url);
}

describe('by its spelling', () => {
  test.each([
    [['127.0.0.2'], 'http://127.0.0.2:99/', false],
    [['127.0.0.2'], 'http://2130706434/', false],
    [['127.0.0.2'], 'http://[::ffff:127.0.0.2]/', false],
    [['127.0.0.2:8080'], 'http://127.0.0.2:8080/', false],
    [['127.0.0.2:8080'], 'http://127.0.0.2/', true],
    [['127.0.0.2:8080'], 'http://grafana:8080/', false],
    [['10.0.0.0/8'], 'http://10.255.0.1/', false],
    [['10.0.0.0/8'], 'http://192.168.0.1/', true],
    [['10.0.0.0/8'], 'http://wiki.internal/', false],
    [['10.0.0.0/8'], 'http://localhost/', true],
    [['10.0.0.0/8'], 'http://metadata.google.internal/', true],
    [['fd00::/8'], 'http://[fd12::1]/', false],
    [['[fd12::1]:80'], 'http://[fd12::1]/', false],
    [['[fd12::1]:80'], 'http://[fd12::1]:81/', true],
    [['localhost'], 'http://localhost:3000/', false],
    [['localhost'], 'http://127.0.0.1:3000/', true],
    [['localhost:3000'], 'http://localhost:3001/', true],
    [['127.0.0.1'], 'http://localhost:3000/', false],
    [['wiki'], 'http://wiki/', false],
    [['Wiki.Internal'], 'http://wiki.internal./', false],
    [['wiki.internal'], 'http://a.wiki.internal/', true],
    [['*.internal'], 'http://a.wiki.internal/', false],
    [['*'], 'http://metadata.google.internal/', true],
    [['*'], 'http://169.254.169.254/latest/', true],
    [['169.254.0.0/16'], 'http://169.254.169.254/latest/', true],
    [['169.254.0.0/16'], 'http://169.254.1.1/', false],
    [['*'], 'http://[fd00:ec2::254]/', true],
    [['*'], 'http://[64:ff9b::a9fe:a9fe]/', true],
    [['*'], 'http://[64:ff9b::7f00:1]/', false],
    [['*'], 'http://127.0.0.1/', false],
    [['*'], 'file:///etc/passwd', true],
    [[], 'http://nowhere.invalid/', false],
    [[], 'http://shop.test/', false],
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
    'wiki.corp': ['10.0.0.7'],
    'wiki.internal': ['10.0.0.7'],
    'other.corp': ['10.0.0.7', '192.168.0.1'],
    'invented.corp': ['93.184.216.34'],
    grafana: ['127.0.0.2'],
    my_app: ['10.0.0.7'],
    'cloud.example.net': ['169.254.169.254'],
  };

  test.each([
    [['10.0.0.0/8'], 'wiki.example.net', 80, true],
    [['10.0.0.0/8'], 'half.example.net', 80, false],
    [['10.0.0.7:8080'], 'wiki.example.net', 8080, true],
    [['half.example.net'], 'half.example.net', 80, true],
    [['half.example.net:443'], 'half.example.net', 80, false],
    [['10.0.0.0/8'], 'wiki.test', 80, true],
    [['wiki.test'], 'wiki.test', 80, true],
    [['10.0.0.0/8'], 'wiki.corp', 80, true],
    [['10.0.0.0/8'], 'wiki.internal', 80, true],
    [['10.0.0.0/8'], 'other.corp', 80, false],
    [['10.0.0.0/8'], 'invented.corp', 80, false],
    [['*.corp'], 'invented.corp', 80, true],
    [['*'], 'cloud.example.net', 80, false],
    [['cloud.example.net'], 'cloud.example.net', 80, false],
    [['127.0.0.2'], 'wiki.test', 80, false],
    [['127.0.0.2'], 'public.test', 80, false],
    // Services of a compose file.
    [['127.0.0.2'], 'grafana', 3000, true],
    [['127.0.0.2:3000'], 'grafana', 3000, true],
    [['127.0.0.2:3000'], 'grafana', 3001, false],
    [['grafana:3000'], 'grafana', 3000, true],
    [['127.0.0.3'], 'grafana', 3000, false],
    [['10.0.0.0/8'], 'my_app', 80, true],
    [['my_app'], 'my_app', 80, true],
  ])('allowing %j, %s:%i reached: %s', async (allow, host, port, expected) => {
    await using captureProxy = await openTestProxy(zone, { allowDestinations: allow });
    expect(await captureProxy.refuses(`http://${host}:${port}/`)).toBe(!expected);
  });
});

describe('what is denied', () => {
  const zone = { 'shop.example.net': [ALLOWED], 'denied.example.net': [ALLOWED] };

  test('is not reached, by name or address, allowed or public', async () => {
    const denyDestinations = ['denied.example.net', '93.184.216.0/24', `${ALLOWED}:81`];
    await using gate = await openTestEgress(zone, { denyDestinations });
    const urls = ['http://93.184.216.34/', 'http://denied.example.net/', `http://${ALLOWED}:81/`];
    const others = ['http://93.184.215.1/', `http://${ALLOWED}:82/`];
    expect([...urls, ...others].filter((url) => gate.egress.refusesLiterally(url))).toEqual(urls);
    await using captureProxy = await gate.openCaptureProxy();
    await expect(sendThrough(captureProxy, 'http://shop.example.net:81/')).rejects.toThrow();
    expect(captureProxy.refusedCount).toBe(1);
  });

  test('is written as what is allowed', async () => {
    await expect(openTestEgress({}, { denyDestinations: ['a/b'] })).rejects.toThrow(
      /STILLFRAME_DENY_DESTINATIONS has "a\/b"/,
    );
  });
});

test.each([
  '10.0.0.0/33',
  'http://example.com',
  'exa$mple',
  'example.com:0',
  'example.com:99999',
  '',
  '*.10.0.0.1',
  'a/b',
])('%j is a wrong setting, which fails the start', async (entry) => {
  await expect(openTestEgress({}, { allowDestinations: [entry] })).rejects.toThrow(ConfigError);
});
