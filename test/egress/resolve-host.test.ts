import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createResolve, SystemHosts } from '../../src/egress/resolve-host.js';
import { startDnsServer } from '../fixtures/dns-server.js';

describe('a name server', () => {
  test('is asked once for each family, and all of its answer counts', async () => {
    await using dns = await startDnsServer({ 'dual.example': ['192.0.2.1', '192.0.2.2', '2001:db8::1'] });
    const resolve = createResolve([dns.address]);
    expect(await resolve('dual.example')).toEqual({ addresses: ['192.0.2.1', '192.0.2.2', '2001:db8::1'] });
    expect(dns.queries).toHaveLength(2);
  });

  test('that is silent about one family delays nobody', async () => {
    await using dns = await startDnsServer({ 'half.example': ({ type }) => (type === 'A' ? ['192.0.2.1'] : 'SILENCE') });
    const started = performance.now();
    expect(await createResolve([dns.address])('half.example')).toEqual({ addresses: ['192.0.2.1'] });
    expect(performance.now() - started).toBeLessThan(2_400);
  });

  test.each([
    ['NXDOMAIN', false],
    ['SERVFAIL', true],
    ['REFUSED', true],
    [[], false],
  ] as const)('that answers %j is believed, for the time being: %s', async (reply, temporary) => {
    await using dns = await startDnsServer({ 'odd.example': reply });
    expect(await createResolve([dns.address])('odd.example')).toMatchObject({ unresolvable: expect.any(String), temporary });
  });

  test('that never answers is given up', async () => {
    await using dns = await startDnsServer({ 'mute.example': 'SILENCE' });
    expect(await createResolve([dns.address])('mute.example')).toEqual({ unresolvable: 'ETIMEOUT', temporary: true });
  });

  test('that has lost a question is asked again soon', async () => {
    await using dns = await startDnsServer({ 'lost.example': ({ nth }) => (nth === 0 ? 'SILENCE' : ['192.0.2.1']) });
    const started = performance.now();
    expect(await createResolve([dns.address])('lost.example')).toEqual({ addresses: ['192.0.2.1'] });
    expect(performance.now() - started).toBeLessThan(1_500);
  });

  test('that is silent leaves it to the next, soon', async () => {
    await using mute = await startDnsServer({ 'a.example': 'SILENCE' });
    await using dns = await startDnsServer({ 'a.example': ['192.0.2.1'] });
    const started = performance.now();
    expect(await createResolve([mute.address, dns.address])('a.example')).toEqual({ addresses: ['192.0.2.1'] });
    expect(performance.now() - started).toBeLessThan(1_500);
    expect(mute.count('a.example', 'A')).toBe(1);
  });

  test('that takes its time is waited for', async () => {
    const slowly = async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      return ['192.0.2.1'];
    };
    await using dns = await startDnsServer({ 'slow.example': slowly });
    const started = performance.now();
    expect(await createResolve([dns.address])('slow.example')).toEqual({ addresses: ['192.0.2.1'] });
    expect(performance.now() - started).toBeLessThan(2_400);
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
    expect(['a.example', 'B.example', 'localhost', 'c.example', 'd.example', '127.0.0.1'].map((name) => hosts.has(name))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    writeFileSync(file, '192.0.2.1 z.example\n');
    utimesSync(file, 1, 1);
    expect([hosts.has('a.example'), hosts.has('z.example')]).toEqual([false, true]);
    rmSync(dir, { recursive: true });
  });
});
