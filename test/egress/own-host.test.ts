import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { OwnHost } from '../../src/egress/egress.js';
import { sendThrough, tunnelStatus } from './capture-proxy-client.js';
import { ALLOWED, openTestProxy } from './open-test-egress.js';
import { startPlainSite } from './plain-site.js';

const HOST = 'own.example.com';

/** The name would lead to a site that is allowed, if it were looked up. */
const aProxy = (own: Omit<OwnHost, 'host'>, maxBytesPerCapture = 1e9) =>
  openTestProxy({ [HOST]: [ALLOWED] }, { maxBytesPerCapture }, { own: { host: HOST, ...own } });

test('a host of the capture is answered by the proxy itself, and never looked up or connected to', async () => {
  const asked: unknown[] = [];
  await using site = await startPlainSite();
  await using proxy = await aProxy({
    answer: async (request) => {
      asked.push(request);
      return { status: 200, headers: { 'content-type': 'text/css' }, body: Readable.from([Buffer.from('p{}')]) };
    },
  });
  const got = await sendThrough(proxy, `http://${HOST}/a%20b.css?v=1`, { headers: { range: 'bytes=0-2' } });
  expect(got).toMatchObject({ status: 200, body: 'p{}', headers: { 'content-type': 'text/css' } });
  expect(asked).toEqual([{ method: 'GET', path: '/a%20b.css?v=1', range: 'bytes=0-2' }]);
  expect(await proxy.refuses(`http://${HOST}/`)).toBe(false);

  // Other ports and tunnels, as for https and sockets, are refused.
  expect(await proxy.refuses(`http://${HOST}:${site.port}/`)).toBe(true);
  expect((await sendThrough(proxy, `http://${HOST}:${site.port}/`).catch(() => null))?.status ?? 502).toBe(502);
  for (const port of [443, 80, site.port]) expect(await tunnelStatus(proxy, `${HOST}:${port}`)).toBe(502);
  expect([site.connections, proxy.gate.dns.count(HOST, 'A'), asked.length]).toEqual([0, 0, 1]);
});

test('what a host of the capture sends counts towards the limit of its traffic', async () => {
  const answer = async () => ({ status: 200, headers: {}, body: Readable.from([Buffer.alloc(400_000)]) });
  await using proxy = await aProxy({ answer }, 1_000_000);
  const got = [];
  for (let turn = 0; turn < 4; turn++)
    got.push((await sendThrough(proxy, `http://${HOST}/`).catch(() => null))?.body.length);
  expect(got).toEqual([400_000, 400_000, undefined, undefined]);
  expect(proxy.refusals).toContainEqual({ host: HOST, port: 80, reason: 'over_limit' });
});
