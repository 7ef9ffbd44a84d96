import { describe, expect, onTestFinished, test } from 'vitest';
import type { CallerProxy } from '../../src/egress/egress.js';
import { type CallerProxyOptions, type ProxyMood, startCallerProxy } from '../fixtures/caller-proxy.js';
import { getSecurely, sendThrough, tunnelStatus } from './capture-proxy-client.js';
import { hurryTimers } from './hurry-timers.js';
import { ALLOWED, collectedLog, openTestProxy } from './open-test-egress.js';
import { startPlainSite } from './plain-site.js';

const CREDENTIALS = { username: 'us er', password: 'pä:ss-S3CRET' };
const KINDS = ['http', 'https', 'socks5'] as const;

const NO_CREDENTIALS = { bypass: null, username: null, password: null };

/** The proxy of a capture that has begun through the caller's proxy with these fields, until the test ends. */
async function through(
  fields: Partial<CallerProxy> & { server: string },
  ...[zone, options]: Parameters<typeof openTestProxy>
) {
  const captureProxy = await openTestProxy(zone, options, { proxy: { ...NO_CREDENTIALS, ...fields } });
  onTestFinished(() => captureProxy[Symbol.asyncDispose]());
  return captureProxy;
}

/** A site, a caller's proxy, and the proxy of a capture that has begun through it, until the test ends. */
async function aChain(
  options: CallerProxyOptions,
  fields: Partial<CallerProxy> = {},
  ...egress: Parameters<typeof openTestProxy>
) {
  const [site, proxy] = [await startPlainSite(), await startCallerProxy(options)];
  onTestFinished(() => site[Symbol.asyncDispose]());
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const captureProxy = await through({ server: proxy.server, ...fields }, ...egress);
  return { site, proxy, captureProxy, url: `http://stub.example.com:${site.port}/` };
}

describe.each(KINDS)("a caller's %s proxy", (kind) => {
  test('carries plain and secure traffic, and gets names, not addresses', async () => {
    await using secure = await startPlainSite({ secure: true });
    const { site, proxy, captureProxy, url } = await aChain({ kind, credentials: CREDENTIALS }, CREDENTIALS);
    expect((await sendThrough(captureProxy, url)).body).toBe('hello');
    expect(await getSecurely(captureProxy, `https://www.stub.example.com:${secure.port}/`)).toBe('hello');
    const plain =
      kind === 'socks5' ? `SOCKS stub.example.com:${site.port}` : `GET http://stub.example.com:${site.port}/`;
    const verb = kind === 'socks5' ? 'SOCKS' : 'CONNECT';
    expect(proxy.asked).toEqual([plain, `${verb} www.stub.example.com:${secure.port}`]);
    expect(new Set(proxy.credentials)).toEqual(new Set(['us er:pä:ss-S3CRET']));
    expect(JSON.stringify(site.requests)).not.toMatch(/authorization|S3CRET/i);
    expect(captureProxy.proxyFailure).toBeNull();
  });

  test('is found by its name, looked up once and pinned', async () => {
    const { site, proxy, url } = await aChain({ kind });
    const rebinding = { 'proxy.stub.example.com': ({ nth }: { nth: number }) => [nth === 0 ? ALLOWED : '127.0.0.1'] };
    const captureProxy = await through({ server: `${kind}://proxy.stub.example.com:${proxy.port}` }, rebinding);
    for (let turn = 0; turn < 3; turn++) await sendThrough(captureProxy, url, { method: 'POST', body: '' });
    expect(captureProxy.gate.dns.count('proxy.stub.example.com', 'A')).toBe(1);
    expect(site.connections).toBe(3);
  });

  test('leads to no forbidden destination, by literal or by name', async () => {
    await using canary = await startPlainSite({ address: '127.0.0.1' });
    const { proxy, captureProxy } = await aChain({ kind }, {}, { 'private.example.net': ['127.0.0.1'] });
    const hosts = ['127.0.0.1', 'localhost', 'private.example.net', 'nowhere.example.net'];
    for (const host of hosts) {
      await expect(sendThrough(captureProxy, `http://${host}:${canary.port}/`)).rejects.toThrow();
      expect(await tunnelStatus(captureProxy, `${host}:${canary.port}`), host).toBe(502);
    }
    expect(captureProxy.refusedCount).toBe(2 * hosts.length);
    expect(canary.connections + proxy.connections).toBe(0);
    expect(captureProxy.proxyFailure).toBeNull();
  });

  test('is distinguished from the target: one that cannot reach a target has not failed', async () => {
    const { captureProxy } = await aChain({ kind, mood: 'dead targets' });
    await expect(sendThrough(captureProxy, 'http://stub.example.com/')).rejects.toThrow();
    expect(await tunnelStatus(captureProxy, 'stub.example.com:443')).toBe(502);
    expect(captureProxy.proxyFailure).toBeNull();
    expect(captureProxy.failures.map((failure) => failure.code)).toEqual(
      Array(2).fill(kind === 'socks5' ? 'EHOSTUNREACH' : 'PROXY_REFUSED'),
    );
  });

  test.each(['garbage', 'hang up'] as ProxyMood[])(
    'that answers with %s has failed, and nothing went another way',
    async (mood) => {
      const [plain, secure] = [await aChain({ kind, mood }), await aChain({ kind, mood })];
      await expect(sendThrough(plain.captureProxy, plain.url)).rejects.toThrow();
      expect(await tunnelStatus(secure.captureProxy, `stub.example.com:${secure.site.port}`)).toBe(502);
      for (const { captureProxy } of [plain, secure]) expect(captureProxy.proxyFailure).toEqual(expect.any(String));
      expect(plain.site.connections + secure.site.connections).toBe(0);
    },
  );

  test('that refuses the credentials has failed', async () => {
    for (const wrong of [{}, { ...CREDENTIALS, password: 'wrong' }]) {
      const { site, captureProxy, url } = await aChain({ kind, credentials: CREDENTIALS }, wrong);
      await expect(sendThrough(captureProxy, url)).rejects.toThrow();
      expect(captureProxy.proxyFailure).toMatch(/credentials/);
      expect(site.connections).toBe(0);
    }
  });

  test('that nobody serves has failed', async () => {
    const captureProxy = await through({ server: `${kind}://${ALLOWED}:1` });
    await expect(sendThrough(captureProxy, 'http://stub.example.com/')).rejects.toThrow();
    expect(captureProxy.proxyFailure).toMatch(/ECONNREFUSED/);
  });

  test.each([`${kind}://127.0.0.3:1`, `${kind}://private.example.net:1`, `${kind}://nowhere.example.net:1`])(
    'is not used at %s',
    async (server) => {
      const captureProxy = await through({ server }, { 'private.example.net': ['127.0.0.3'] });
      await expect(sendThrough(captureProxy, 'http://stub.example.com/')).rejects.toThrow();
      expect(captureProxy.proxyFailure).toEqual(expect.any(String));
    },
  );

  test('keeps its password out of the log, also after failures', async () => {
    const { log, lines } = collectedLog();
    for (const mood of ['well', 'garbage', 'hang up', 'dead targets'] as const) {
      const others = { username: 'other', password: 'other' };
      const { captureProxy, url } = await aChain({ kind, mood, credentials: others }, CREDENTIALS, {}, { log });
      await sendThrough(captureProxy, url).catch(() => null);
    }
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.join('')).not.toMatch(/S3CRET|us er/);
    expect(lines.join('')).not.toContain(
      Buffer.from(`${CREDENTIALS.username}:${CREDENTIALS.password}`).toString('base64'),
    );
  });
});

test.each(KINDS.flatMap((kind) => (['silence', 'drip'] as const).map((mood) => ({ kind, mood }))))(
  "a caller's $kind proxy without a complete answer ($mood) has failed after ten seconds",
  async ({ kind, mood }) => {
    const { captureProxy } = await aChain({ kind, mood });
    const timers = hurryTimers();
    expect(await tunnelStatus(captureProxy, 'stub.example.com:443')).toBe(502);
    expect(captureProxy.proxyFailure).toEqual(expect.any(String));
    const long = timers.mock.calls.map(([, ms = 0]) => ms).filter((ms) => ms >= 2_000);
    expect(new Set(long)).toEqual(new Set([10_000]));
  },
);

describe("a caller's http proxy", () => {
  test.each(['well', 'no tunnels', 'deaf to CONNECT'] as ProxyMood[])(
    'that does %s gets plain http in absolute form',
    async (mood) => {
      const zone = { 'private.example.net': ['127.0.0.3'] };
      const { site, proxy, captureProxy } = await aChain(
        { kind: 'http', mood, credentials: CREDENTIALS },
        CREDENTIALS,
        zone,
      );
      const url = `http://stub.example.com:${site.port}/x?y`;
      for (let turn = 0; turn < 3; turn++) expect((await sendThrough(captureProxy, url)).body).toBe('hello');
      expect((await sendThrough(captureProxy, url, { method: 'POST', body: 'z' })).body).toBe('hello');
      await expect(sendThrough(captureProxy, `http://private.example.net:${site.port}/`)).rejects.toThrow();
      expect(proxy.asked).toEqual([...Array(3).fill(`GET ${url}`), `POST ${url}`]);
      expect(site.requests.at(-1)?.body).toBe('z');
      expect(captureProxy.proxyFailure).toBeNull();
    },
  );

  test('that makes no tunnel has refused that destination alone', async () => {
    const { captureProxy, url } = await aChain({ kind: 'http', mood: 'no tunnels' });
    expect(await tunnelStatus(captureProxy, 'www.stub.example.com:443')).toBe(502);
    expect(captureProxy.failures).toEqual([{ host: 'www.stub.example.com', port: 443, code: 'PROXY_REFUSED' }]);
    expect(captureProxy.proxyFailure).toBeNull();
    expect((await sendThrough(captureProxy, url)).body).toBe('hello');
  });

  test.each(['silence', 'drip'] as const)(
    'that gives plain http no complete answer (%s) is suspected until it does',
    async (mood) => {
      const { captureProxy } = await aChain({ kind: 'http', mood });
      sendThrough(captureProxy, 'http://stub.example.com/').catch(() => null);
      await expect.poll(() => captureProxy.proxyFailure).toBe('it has not answered');
    },
  );

  test('that redirects instead of connecting has failed', async () => {
    const { captureProxy } = await aChain({ kind: 'http', mood: '302' });
    expect(await tunnelStatus(captureProxy, 'stub.example.com:443')).toBe(502);
    expect(captureProxy.proxyFailure).toMatch(/302/);
  });

  test('over TLS must have a certificate for its name', async () => {
    const { proxy } = await aChain({ kind: 'https' });
    const captureProxy = await through(
      { server: `https://proxy.example.net:${proxy.port}` },
      { 'proxy.example.net': [ALLOWED] },
    );
    await expect(sendThrough(captureProxy, 'http://stub.example.com/')).rejects.toThrow();
    expect(captureProxy.proxyFailure).toMatch(/ERR_TLS_CERT_ALTNAME_INVALID/);
    expect(proxy.asked).toEqual([]);
  });
});

describe('bypass', () => {
  test('goes direct, by our own judgement', async () => {
    await using canary = await startPlainSite({ address: '127.0.0.1' });
    const { site, proxy, url } = await aChain({ kind: 'http' });
    for (const bypass of ['*', '<-loopback>', 'private.example.net,localhost,127.0.0.0/8']) {
      const captureProxy = await through({ server: proxy.server, bypass }, { 'private.example.net': ['127.0.0.1'] });
      for (const host of ['127.0.0.1', 'localhost', 'private.example.net']) {
        await expect(sendThrough(captureProxy, `http://${host}:${canary.port}/`)).rejects.toThrow();
      }
    }
    expect(canary.connections + proxy.connections).toBe(0);
    const captureProxy = await through({ server: proxy.server, bypass: '.example.org, *.stub.example.com' });
    expect((await sendThrough(captureProxy, `http://www.stub.example.com:${site.port}/`)).body).toBe('hello');
    expect(proxy.asked).toEqual([]);
    expect((await sendThrough(captureProxy, url)).body).toBe('hello');
    expect(proxy.asked).toHaveLength(1);
  });
});
