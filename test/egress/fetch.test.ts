import { once } from 'node:events';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { EgressRefused, type PublicFetch } from '../../src/egress/egress.js';
import { ALLOWED, openTestEgress, openTestProxy } from './open-test-egress.js';
import { type PlainSiteOptions, startPlainSite, startTcpSite } from './plain-site.js';

function aFetch(url: string, more: Partial<PublicFetch> = {}): PublicFetch {
  const limits = { timeoutMs: 10_000, maxBytes: 65_536, signal: null };
  return {
    url,
    method: 'GET',
    headers: {},
    body: null,
    via: null,
    allowedOrigins: [new URL(url).origin],
    ...limits,
    ...more,
  };
}

async function siteAndGate(options: PlainSiteOptions = {}) {
  const site = await startPlainSite(options);
  const gate = await openTestEgress();
  const scheme = options.secure ? 'https' : 'http';
  return {
    site,
    dns: gate.dns,
    fetch: (more: Partial<PublicFetch> = {}) =>
      gate.egress.fetch(aFetch(`${scheme}://hook.stub.example.com:${site.port}/hook?a=b#c`, more)),
    async [Symbol.asyncDispose]() {
      await gate[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    },
  };
}

describe("the server's own request", () => {
  test.each([false, true])('arrives as it was meant (secure: %s)', async (secure) => {
    await using world = await siteAndGate({
      secure,
      answer: (_request, response) => response.writeHead(201, { 'x-a': 'b', 'set-cookie': ['a=1', 'b=2'] }).end('done'),
    });
    const headers = { 'Content-Type': 'application/json', 'X-Sig': 's' };
    const answer = await world.fetch({ method: 'POST', headers, body: '{"ä":1}' });
    expect(answer).toMatchObject({ status: 201, truncated: false });
    expect(answer.headers.get('x-a')).toBe('b');
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(Buffer.from(answer.body).toString()).toBe('done');
    expect(world.site.requests[0]).toMatchObject({ method: 'POST', url: '/hook?a=b', body: '{"ä":1}' });
    expect(world.site.requests[0]?.headers).toMatchObject({
      'x-sig': 's',
      'content-length': '8',
      'accept-encoding': 'identity',
    });
    expect(world.dns.count('hook.stub.example.com', 'A')).toBe(1);
  });

  test('follows no redirect', async () => {
    await using world = await siteAndGate({
      answer: (_request, response) => response.writeHead(307, { location: '/other' }).end(),
    });
    expect((await world.fetch()).status).toBe(307);
    expect(world.site.requests).toHaveLength(1);
  });

  test('reads no more than its limit, and inflates nothing', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    await using world = await siteAndGate({
      answer: (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    });
    const whole = await world.fetch();
    expect(Buffer.from(whole.body).equals(bomb.subarray(0, 65_536))).toBe(true);
    const some = await world.fetch({ maxBytes: 100 });
    expect(some.body).toHaveLength(100);
    expect(some.truncated).toBe(true);
  });

  test('gives up over headers without end', async () => {
    await using world = await siteAndGate({
      answer: (_request, response) => response.writeHead(200, { 'x-big': 'x'.repeat(40_000) }).end(),
    });
    await expect(world.fetch()).rejects.toThrow(/overflow/i);
  });

  test('gives up over informational answers without end, and takes a few of them', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
    let few = true;
    await using chatty = await startTcpSite((socket) => {
      const more = () => void (socket.destroyed || socket.write(hints.repeat(100), more));
      socket.resume();
      if (few) socket.end(`${hints.repeat(20)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`);
      else more();
    });
    await using gate = await openTestEgress();
    const url = `http://hook.stub.example.com:${chatty.port}/`;
    expect((await gate.egress.fetch(aFetch(url))).status).toBe(200);
    few = false;
    await expect(gate.egress.fetch(aFetch(url))).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_OVERFLOW' });
  });

  test('leaves a TLS handshake when nobody waits for it any more', async () => {
    const nobodyWaits = new AbortController();
    await using mute = await startTcpSite(
      (socket) => void socket.once('data', () => nobodyWaits.abort(new Error('enough'))),
    );
    await using gate = await openTestEgress();
    const url = `https://hook.stub.example.com:${mute.port}/`;
    const left = once(mute.server, 'connection').then(([socket]) => once(socket as Socket, 'close'));
    const began = performance.now();
    await expect(gate.egress.fetch(aFetch(url, { timeoutMs: 60_000, signal: nobodyWaits.signal }))).rejects.toThrow(
      'enough',
    );
    await left;
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test.each(['connect', 'headers', 'body', 'resolve'])(
    'takes no longer than it may, whoever is slow (%s)',
    async (slow) => {
      await using mute = await startTcpSite(() => {});
      await using world = await siteAndGate({
        answer: (_request, response) => void (slow === 'body' && response.write('x')),
      });
      world.dns.set('silent.stub.example.com', 'SILENCE');
      const urls: Record<string, string> = {
        connect: `https://hook.stub.example.com:${mute.port}/`,
        resolve: `http://silent.stub.example.com:${mute.port}/`,
      };
      const started = performance.now();
      const url = urls[slow] === undefined ? {} : { url: urls[slow], allowedOrigins: [new URL(urls[slow]).origin] };
      await expect(world.fetch({ ...url, timeoutMs: 300 })).rejects.toMatchObject({ name: 'TimeoutError' });
      expect(performance.now() - started).toBeLessThan(3_000);
    },
  );
});

describe('a forbidden destination', () => {
  const hosts = [
    '127.0.0.1',
    '[::1]',
    '2130706433',
    'localhost',
    'db.internal',
    'private.example.net',
    'nowhere.example.net',
  ];

  test.each([...hosts, ALLOWED])('%s gets no request', async (host) => {
    await using canary = await startPlainSite({ address: '127.0.0.1' });
    await using gate = await openTestEgress({ 'private.example.net': ['127.0.0.1'] });
    const asked = gate.egress.fetch(aFetch(`http://${host}:${canary.port}/`, { allowedOrigins: [] }));
    await expect(asked).rejects.toThrow(EgressRefused);
    expect(canary.connections).toBe(0);
  });

  test('gets requests only if its very origin is allowed', async () => {
    await using canary = await startPlainSite({ address: '127.0.0.1' });
    await using gate = await openTestEgress();
    const origin = `http://127.0.0.1:${canary.port}`;
    expect((await gate.egress.fetch(aFetch(`${origin}/x`, { allowedOrigins: [origin] }))).status).toBe(200);
    await expect(
      gate.egress.fetch(aFetch(`http://localhost:${canary.port}/x`, { allowedOrigins: [origin] })),
    ).rejects.toThrow(EgressRefused);
    await expect(gate.egress.fetch(aFetch('file:///etc/passwd', { allowedOrigins: ['null'] }))).rejects.toThrow(
      EgressRefused,
    );
  });

  test('of captures may be another one: what pictures may show is not where webhooks may go', async () => {
    await using gate = await openTestEgress();
    expect(await gate.egress.judgeHost('stub.example.com', 443)).toMatchObject({
      ok: false,
      reason: 'blocked_address',
    });
    expect(gate.egress.refusesLiterally(`http://${ALLOWED}/`)).toBe(false);
  });

  test('that could not be looked up is no refusal but an error to try again', async () => {
    await using gate = await openTestEgress({ 'servfail.example.net': 'SERVFAIL' });
    const asked = gate.egress.fetch(aFetch('http://servfail.example.net/', { allowedOrigins: [] }));
    await expect(asked).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });
});

describe('through a proxy', () => {
  test('the request is judged as its capture, and counted', async () => {
    await using site = await startPlainSite();
    await using canary = await startPlainSite({ address: '127.0.0.1' });
    await using captureProxy = await openTestProxy();
    const ask = (url: string, allowedOrigins: string[] = []) =>
      captureProxy.gate.egress.fetch(aFetch(url, { via: captureProxy, allowedOrigins }));
    expect((await ask(`http://stub.example.com:${site.port}/`)).status).toBe(200);
    expect(captureProxy.bytes).toBeGreaterThan(100);
    const forbidden = `http://127.0.0.1:${canary.port}`;
    await expect(ask(forbidden)).rejects.toThrow(EgressRefused);
    expect(canary.connections).toBe(0);
    expect((await ask(forbidden, [forbidden])).status).toBe(200);
  });
});
