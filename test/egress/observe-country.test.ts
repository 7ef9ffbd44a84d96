import { describe, expect, test } from 'vitest';
import { CountryObserver } from '../../src/egress/observe-country.js';
import { silentLog } from '../../src/log.js';
import { startCallerProxy } from '../fixtures/caller-proxy.js';
import { openTestEgress } from './open-test-egress.js';
import { startPlainSite } from './plain-site.js';

const TRACE = 'fl=1\nh=x\nip=203.0.113.9\nts=1\nloc=DE\ntls=off\n';

async function openObserver(answer: string | (() => string), options: { status?: number; now?: () => number } = {}) {
  const site = await startPlainSite({
    // Not one that captures may reach: the operator's own endpoint need not be.
    address: '127.0.0.3',
    answer: (_request, response) =>
      response.writeHead(options.status ?? 200).end(typeof answer === 'string' ? answer : answer()),
  });
  const gate = await openTestEgress();
  const url = `http://127.0.0.3:${site.port}/cdn-cgi/trace`;
  const observer = new CountryObserver({ egress: gate.egress, url, log: silentLog(), now: options.now ?? Date.now });
  return {
    site,
    async observe(proxy: Parameters<CountryObserver['observe']>[0]['proxy'] = null) {
      await using captureProxy = await gate.egress.openCaptureProxy();
      captureProxy.begin({ proxy, target: null });
      return await observer.observe({ captureProxy, proxy, timeoutMs: 60_000, signal: null });
    },
    async [Symbol.asyncDispose]() {
      await gate[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    },
  };
}

describe('the country of egress', () => {
  test.each([
    [TRACE, 'DE'],
    ['{"ip":"203.0.113.9","country":"fr"}', 'FR'],
    ['{"country_code":"GB","country":"United Kingdom"}', 'GB'],
    ['{"country":{"iso_code":"JP"}}', 'JP'],
  ])('is read from %j as %s', async (answer, country) => {
    await using world = await openObserver(answer);
    expect(await world.observe()).toBe(country);
  });

  test.each([
    ...['loc=XX\n', 'loc=T1\n', '{"country":null}', '{', '', '<html>'].map((answer) => [answer, 200] as const),
    [TRACE, 503] as const,
  ])('is unavailable from %j with status %d', async (answer, status) => {
    await using world = await openObserver(answer, { status });
    await expect(world.observe()).rejects.toMatchObject({ code: 'egress_unavailable', status: 503 });
  });

  test('is kept for ten minutes per way out; a failure is not', async () => {
    let now = 1;
    let answer = 'nothing';
    await using proxy = await startCallerProxy({ kind: 'socks5' });
    await using world = await openObserver(() => answer, { now: () => now });
    const way = { server: proxy.server, bypass: null, username: null, password: null };
    await expect(world.observe()).rejects.toThrow();
    answer = TRACE;
    expect([await world.observe(), await world.observe()]).toEqual(['DE', 'DE']);
    expect(world.site.requests).toHaveLength(2);
    answer = 'loc=NL';
    expect([await world.observe(way), await world.observe(way), await world.observe()]).toEqual(['NL', 'NL', 'DE']);
    expect(proxy.asked).toHaveLength(1);
    now += 10 * 60_000 + 1;
    expect(await world.observe()).toBe('NL');
  });

  test("is unavailable through a proxy that has failed, and the message names the proxy's fields", async () => {
    await using proxy = await startCallerProxy({ kind: 'http', credentials: { username: 'u', password: 'right' } });
    await using world = await openObserver(TRACE);
    const observed = world.observe({ server: proxy.server, bypass: null, username: 'u', password: 'wrong' });
    await expect(observed).rejects.toMatchObject({
      code: 'egress_unavailable',
      message: expect.stringContaining('proxy.password'),
    });
    expect(world.site.connections).toBe(0);
  });
});
