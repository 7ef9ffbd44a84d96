import { expect, onTestFinished, test, vi } from 'vitest';
import { rememberLookups } from '../../src/egress/resolve-host.js';
import { sendThrough } from './capture-proxy-client.js';
import { openTestEgress, openTestProxy } from './open-test-egress.js';
import { startPlainSite } from './plain-site.js';

test('a name is looked up once in a capture, found or not, and again by the next capture', async () => {
  await using site = await startPlainSite({
    answer: (_request, response) => response.writeHead(200, { connection: 'close' }).end(),
  });
  await using gate = await openTestEgress();
  for (const captures of [1, 2]) {
    await using captureProxy = await gate.openCaptureProxy();
    for (const host of ['stub.example.com', 'nowhere.example.net']) {
      await Promise.allSettled(
        Array.from({ length: 12 }, () => sendThrough(captureProxy, `http://${host}:${site.port}/`)),
      );
      await sendThrough(captureProxy, `http://${host}:${site.port}/`).catch(() => null);
      expect(gate.dns.count(host, 'A')).toBe(captures);
    }
    expect(captureProxy.refusedCount).toBe(13);
  }
  expect(site.connections).toBe(26);
});

test('a destination can be checked before it is connected to, and each refused request counts', async () => {
  await using captureProxy = await openTestProxy();
  const both = [
    captureProxy.refuses('https://nowhere.example.net/a'),
    captureProxy.refuses('https://nowhere.example.net/b'),
  ];
  expect(await Promise.all(both)).toEqual([true, true]);
  expect(captureProxy.refuses('https://nowhere.example.net:443/c')).toBe(true);
  expect(captureProxy.refusals).toEqual(
    Array(3).fill({ host: 'nowhere.example.net', port: 443, reason: 'unresolvable' }),
  );
  expect(captureProxy.gate.dns.count('nowhere.example.net', 'A')).toBe(1);
  expect(await captureProxy.refuses('http://127.0.0.1/')).toBe(true);
  expect(await captureProxy.refuses('http://stub.example.com/')).toBe(false);
  expect(captureProxy.refuses('http://stub.example.com/again')).toBe(false);
  expect(captureProxy.refuses('data:text/plain,')).toBe(false);
  expect(captureProxy.refusedCount).toBe(4);
});

test('a page has at most 32 names looked up at once before it connects to them', async () => {
  let answer = () => {};
  const answering = new Promise<'NXDOMAIN'>((resolve) => {
    answer = () => resolve('NXDOMAIN');
  });
  await using captureProxy = await openTestProxy({ '*.many.example': () => answering });
  const urlOf = (nth: number) => `https://n${nth}.many.example/`;
  const first = Array.from({ length: 40 }, (_, nth) => captureProxy.refuses(urlOf(nth)));
  expect(first.slice(32)).toEqual(Array(8).fill(false));
  expect(captureProxy.refuses(urlOf(0))).toBeInstanceOf(Promise);
  answer();
  expect(await Promise.all(first.slice(0, 32))).toEqual(Array(32).fill(true));
  expect(await captureProxy.refuses(urlOf(39))).toBe(true);
});

test('an answer is kept for 30 seconds', async () => {
  let now = 1;
  let asked = 0;
  const resolve = rememberLookups(
    async () => ({ addresses: [`192.0.2.${++asked}`] }),
    () => now,
  );
  expect(await resolve('a.example')).toEqual({ addresses: ['192.0.2.1'] });
  now = 30_001;
  expect(await resolve('a.example')).toEqual({ addresses: ['192.0.2.1'] });
  expect(await resolve('b.example')).toEqual({ addresses: ['192.0.2.2'] });
  now = 30_002;
  expect(await resolve('a.example')).toEqual({ addresses: ['192.0.2.3'] });
});

test('a name server that was silent about one name gets a second for the others, until it answers', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const silence = { unresolvable: 'ETIMEOUT', temporary: true };
  const resolve = rememberLookups((name) =>
    name === 'there.example'
      ? Promise.resolve({ addresses: ['192.0.2.1'] })
      : new Promise((done) => setTimeout(done, 4_900, silence)),
  );
  const msOf = async (name: string) => {
    const began = Date.now();
    const ended = resolve(name).then((answer) => ({ answer, ms: Date.now() - began }));
    await vi.advanceTimersByTimeAsync(5_000);
    return await ended;
  };
  expect(await msOf('a.silent.test')).toEqual({ answer: silence, ms: 4_900 });
  expect(await msOf('b.silent.test')).toEqual({ answer: silence, ms: 1_000 });
  expect(await resolve('there.example')).toEqual({ addresses: ['192.0.2.1'] });
  expect((await msOf('c.silent.test')).ms).toBe(4_900);
});
