import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { LocalNetworks } from '../../src/egress/local-networks.js';
import { sendThrough } from './capture-proxy-client.js';
import { ALLOWED, openTestEgress, openTestProxy } from './open-test-egress.js';

function interfaces(...cidrs: string[]) {
  const infos = cidrs.map((cidr) => ({ address: cidr.split('/')[0], cidr }) as NetworkInterfaceInfo);
  return () => ({ eth0: infos });
}

test('the networks of the machine are known, and read again when they may have changed', () => {
  let read = interfaces('198.51.100.7/24', '2001:db8:1:2::7/64', '10.8.0.1/0', 'fe80::1%eth0/64');
  let now = 0;
  const local = new LocalNetworks(
    () => read(),
    () => now,
  );
  const inside = ['198.51.100.7', '198.51.100.200', '::ffff:198.51.100.9', '2001:db8:1:2:9::1', '10.8.0.1'];
  const outside = ['198.51.101.7', '2001:db8:1:3::1', '10.8.0.2', '93.184.216.34', 'no address'];
  expect(inside.filter((address) => !local.has(address))).toEqual([]);
  expect(outside.filter((address) => local.has(address))).toEqual([]);
  read = interfaces('203.0.113.1/24');
  now = 9_999;
  expect(local.has('203.0.113.9')).toBe(false);
  now = 10_001;
  expect([local.has('203.0.113.9'), local.has('198.51.100.7')]).toEqual([true, false]);
});

test("a public address on the machine's own network is refused, by number and by name, unless the operator allows it", async () => {
  const local = new LocalNetworks(interfaces('93.184.216.30/28'));
  const zone = { 'own.example.net': ['93.184.216.30'], 'beside.example.net': ['93.184.216.20'] };
  await using captureProxy = await openTestProxy(zone, { local });
  expect(captureProxy.gate.egress.refusesLiterally('http://93.184.216.30/')).toBe(true);
  expect(captureProxy.gate.egress.refusesLiterally('http://93.184.216.1/')).toBe(false);
  for (const host of ['93.184.216.17', 'own.example.net', 'beside.example.net']) {
    await expect(sendThrough(captureProxy, `http://${host}/`)).rejects.toThrow();
  }
  expect(captureProxy.refusals.map(({ reason }) => reason)).toEqual(Array(3).fill('blocked_address'));
  await using open = await openTestEgress(zone, { local, allowDestinations: [ALLOWED, 'own.example.net'] });
  expect(open.egress.refusesLiterally('http://own.example.net/')).toBe(false);
  expect(await open.egress.judgeHost('own.example.net', 443)).toMatchObject({ ok: false });
});
