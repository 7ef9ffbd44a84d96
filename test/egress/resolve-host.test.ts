import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createResolve, SystemHosts } from '../../src/egress/resolve-host.js';
import { type DnsHandler, startDnsServer } from '../fixtures/dns-server.js';

describe('a name server', () => {
  test('gets one query for each family, and all of its answer counts', async () => {
    await using dns = await startDnsServer({ 'dual.example': ['192.0.2.1', '192.0.2.2', '2001:db8::1'] });
    const resolve = createResolve([dns.address]);
    expect(await resolve('dual.example')).toEqual({ addresses: ['192.0.2.1', '192.0.2.2', '2001:db8::1'] });
    expect(dns.queries).toHaveLength(2);
  });

  test.each([
    ['NXDOMAIN', false],
    ['SERVFAIL', true],
    ['REFUSED', true],
    [[], false],
  ] as const)('that answers %j is believed, for the time being: %s', async (reply, temporary) => {
    await using dns = await startDnsServer({ 'odd.example': reply });
    expect(await createResolve([dns.address])('odd.example')).toMatchObject({
      unresolvable: expect.any(String),
      temporary,
    });
  });

  // The look-up's own limit is that of a unit test.
  test('that never answers is abandoned', { timeout: 15_000 }, async () => {
    await using dns = await startDnsServer({ 'mute.example': 'SILENCE' });
    expect(await createResolve([dns.address])('mute.example')).toEqual({ unresolvable: 'ETIMEOUT', temporary: true });
  });

  const slowly = async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    return ['192.0.2.1'];
  };
  test.each<[string, DnsHandler, number]>([
    ['is silent about one family delays nobody', ({ type }) => (type === 'A' ? ['192.0.2.1'] : 'SILENCE'), 2_400],
    ['has lost a question is asked again soon', ({ nth }) => (nth === 0 ? 'SILENCE' : ['192.0.2.1']), 1_500],
    ['takes its time is waited for', slowly, 2_400],
  ])('that %s', async (_how, answer, withinMs) => {
    await using dns = await startDnsServer({ 'a.example': answer });
    const started = performance.now();
    expect(await createResolve([dns.address])('a.example')).toEqual({ addresses: ['192.0.2.1'] });
    expect(performance.now() - started).toBeLessThan(withinMs);
  });

  test('that is silent leaves it to the next, soon', async () => {
    await using mute = await startDnsServer({ 'a.example': 'SILENCE' });
    await using dns = await startDnsServer({ 'a.example': ['192.0.2.1'] });
    const started = performance.now();
    expect(await createResolve([mute.address, dns.address])('a.example')).toEqual({ addresses: ['192.0.2.1'] });
    expect(performance.now() - started).toBeLessThan(1_500);
    expect(mute.count('a.example', 'A')).toBe(1);
  });

  test('may be one of several', async () => {
    await using dns = await startDnsServer({ 'a.example': ['192.0.2.1'] });
    expect(await createResolve(['127.0.0.1:1', dns.address])('a.example')).toEqual({ addresses: ['192.0.2.1'] });
    expect(() => createResolve(['::1', '[::1]:53', '127.0.0.1'])).not.toThrow();
  });
});

describe('the hosts file', () => {
  test('is known by its names, and read again when it changed', () => {
    const dir = mkdtempSync(join(tmpdir(), 'stillframe-hosts-'));
    const file = join(dir, 'hosts');
    const hosts = new SystemHosts(file);
    expect(hosts.has('a.example')).toBe(false);
    writeFileSync(file, '# c.example\n127.0.0.1\tlocalhost A.example  b.example # d.example\n');
    const names = ['a.example', 'B.example', 'localhost', 'c.example', 'd.example', '127.0.0.1'];
    expect(names.filter((name) => hosts.has(name))).toEqual(['a.example', 'B.example', 'localhost']);
    writeFileSync(file, '192.0.2.1 z.example\n');
    utimesSync(file, 1, 1);
    expect([hosts.has('a.example'), hosts.has('z.example')]).toEqual([false, true]);
    rmSync(dir, { recursive: true });
  });
});
