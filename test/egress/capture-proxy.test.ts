import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectThrough, getSecurely, sendThrough, tunnelStatus } from './capture-proxy-client.js';
import { ALLOWED, collectedLog, openTestEgress, openTestProxy } from './open-test-egress.js';
import { type PlainSiteOptions, startPlainSite, startPlainSites, startTcpSite } from './plain-site.js';

/** A site at the allowed address, and the proxy of a capture that has begun, until the test ends. */
async function siteAndProxy(options: PlainSiteOptions = {}, ...egress: Parameters<typeof openTestProxy>) {
  const [site, captureProxy] = [await startPlainSite(options), await openTestProxy(...egress)];
  onTestFinished(() => captureProxy[Symbol.asyncDispose]());
  onTestFinished(() => site[Symbol.asyncDispose]());
  return { site, captureProxy };
}

describe('an open captureProxy', () => {
  test('carries plain http, with the header order and case of the browser and without what is meant for a proxy', async () => {
    const { site, captureProxy } = await siteAndProxy();
    const got = await sendThrough(captureProxy, `http://stub.example.com:${site.port}/a?b=c`, {
      headers: { 'X-One': '1', Te: 'x', 'x-two': '2' },
    });
    expect(got).toMatchObject({ status: 200, body: 'hello' });
    const names = site.requests[0]?.rawHeaders.filter((_name, index) => index % 2 === 0);
    expect(site.requests[0]).toMatchObject({ url: '/a?b=c', headers: { host: `stub.example.com:${site.port}` } });
    expect(names).toEqual(['Host', 'Connection', 'X-One', 'x-two']);
  });

  test('carries a body both ways', async () => {
    const { site, captureProxy } = await siteAndProxy({ answer: (request, response) => void request.pipe(response) });
    const body = 'x'.repeat(300_000);
    const got = await sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`, { method: 'POST', body });
    expect(got.body).toBe(body);
    expect(captureProxy.bytes).toBeGreaterThan(600_000);
    expect(captureProxy.bytes).toBeLessThan(610_000);
  });

  test('carries TLS inside a tunnel, counted', async () => {
    const { site, captureProxy } = await siteAndProxy({
      secure: true,
      answer: (_request, response) => response.end('s'.repeat(100_000)),
    });
    expect(await getSecurely(captureProxy, `https://www.stub.example.com:${site.port}/`)).toHaveLength(100_000);
    expect(captureProxy.bytes).toBeGreaterThan(100_000);
    expect(captureProxy.gate.dns.count('www.stub.example.com', 'A')).toBe(1);
  });

  test('sends a request again when the kept connection turns out to be gone, unless it could count twice', async () => {
    const used = new Set<Socket>();
    const { site, captureProxy } = await siteAndProxy({
      answer: (request, response) => {
        // A keep-alive timeout looks like this to the client: the connection was used before, and is closed now.
        if (used.has(request.socket)) return void request.socket.destroy();
        used.add(request.socket);
        response.end(request.method);
      },
    });
    const agent = new Agent({ keepAlive: true });
    for (let turn = 0; turn < 5; turn++) {
      expect((await sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`, { agent })).body).toBe('GET');
      expect(
        (await sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`, { agent, method: 'POST', body: 'x' })).body,
      ).toBe('POST');
    }
    agent.destroy();
    expect(site.requests.filter((seen) => seen.method === 'POST')).toHaveLength(5);
    expect(site.requests.filter((seen) => seen.method === 'GET').length).toBeGreaterThan(5);
    expect(captureProxy.failures).toEqual([]);
  });

  test('passes the answer on as it was, but for what would ask the browser for a password of the proxy', async () => {
    const { site, captureProxy } = await siteAndProxy({
      answer: (_request, response) => {
        response.writeHead(407, 'Odd', [
          'Set-Cookie',
          'a=1',
          'Set-Cookie',
          'b=2',
          'Proxy-Authenticate',
          'Basic',
          'X-Name',
          'caf\u00e9',
        ]);
        response.end('body');
      },
    });
    const got = await sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`);
    expect(got).toMatchObject({
      status: 407,
      body: 'body',
      headers: { 'set-cookie': ['a=1', 'b=2'], 'x-name': 'caf\u00e9' },
    });
    expect(got.headers['proxy-authenticate']).toBeUndefined();
  });

  test('lets both ends of a tunnel close on their own', async () => {
    await using echo = await startTcpSite(
      (socket) => {
        let heard = '';
        socket.on('data', (chunk) => {
          heard += chunk;
        });
        socket.on('end', () => socket.end(`heard ${heard}`));
      },
      { allowHalfOpen: true },
    );
    await using captureProxy = await openTestProxy();
    const { socket } = await connectThrough(captureProxy, `${ALLOWED}:${echo.port}`);
    socket.end('all of it');
    expect(await text(socket)).toBe('heard all of it');
  });

  test('still carries what the browser sends through a tunnel after the site has ended its side', async () => {
    const heard: Promise<string>[] = [];
    await using site = await startTcpSite((socket) => void heard.push(text(socket.end('said all'))), {
      allowHalfOpen: true,
    });
    await using captureProxy = await openTestProxy();
    const socket = connect({ port: captureProxy.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(`CONNECT ${ALLOWED}:${site.port} HTTP/1.1\r\nHost: x\r\n\r\n`);
    let answer = '';
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) answer += chunk;
    expect(answer).toMatch(/^HTTP\/1.1 200 .*\r\n\r\nsaid all$/s);
    socket.end('and this');
    expect(await heard[0]).toBe('and this');
  });
});

describe('a proxy refuses', () => {
  const forbidden = [
    '127.0.0.1',
    '127.0.0.3',
    '[::1]',
    '0x7f.1',
    '2130706433',
    'localhost',
    'private.example.net',
    'mixed.example.net',
  ];
  const zone = {
    'private.example.net': ['127.0.0.1'],
    'mixed.example.net': [ALLOWED, '127.0.0.1'],
    'nat64.example.net': ['64:ff9b::7f00:1'],
  };

  test.each([...forbidden, 'nat64.example.net', 'nowhere.example.net'])(
    '%s, by request and by tunnel, and dials nobody',
    async (host) => {
      await using sites = await startPlainSites({ address: '127.0.0.1' }, { address: '127.0.0.3' }, {});
      const [canary, other, site] = sites;
      await using captureProxy = await openTestProxy(zone);
      await expect(sendThrough(captureProxy, `http://${host}:${canary.port}/`)).rejects.toThrow();
      expect(await tunnelStatus(captureProxy, `${host}:${canary.port}`)).toBe(502);
      expect(captureProxy.refusedCount).toBe(2);
      expect(captureProxy.refusals).toHaveLength(2);
      expect(canary.connections + other.connections + site.connections).toBe(0);
    },
  );

  test('and logs once why, for whom and how to allow it, also for a refusal at submission', async () => {
    const { log, lines } = collectedLog();
    await using captureProxy = await openTestProxy(zone, { log }, { requester: { job_id: 'job_1', account: 'acme' } });
    for (const path of ['', 'again'])
      await expect(sendThrough(captureProxy, `http://private.example.net:81/${path}`)).rejects.toThrow();
    expect(captureProxy.refusals).toEqual(
      Array(2).fill({ host: 'private.example.net', port: 81, reason: 'blocked_address' }),
    );
    const { egress } = captureProxy.gate;
    expect(egress.refusesLiterally('http://10.1.2.3:8080/', { account: 'acme' })).toBe(true);
    expect(await egress.judgeHost('private.example.net', 443, { account: 'acme' })).toMatchObject({ ok: false });
    expect(lines.join()).toContain('127.0.0.1');
    const tells = (setting: string) => expect.stringContaining(setting);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        account: 'acme',
        job_id: 'job_1',
        allow: tells('private.example.net:81'),
        msg: tells('STILLFRAME_ALLOW_DESTINATIONS'),
      },
      { account: 'acme', allow: '10.1.2.3:8080', msg: tells('STILLFRAME_ALLOW_DESTINATIONS') },
      { account: 'acme', allow: 'https://private.example.net:443', msg: tells('STILLFRAME_WEBHOOK_ALLOW') },
    ]);
  });

  test('a name that the server cannot speak of, for the time being', async () => {
    await using captureProxy = await openTestProxy({ 'servfail.example.net': 'SERVFAIL' });
    await expect(sendThrough(captureProxy, 'http://servfail.example.net/')).rejects.toThrow();
    expect(captureProxy.refusals).toEqual([
      { host: 'servfail.example.net', port: 80, reason: 'unresolvable', temporary: true },
    ]);
  });

  test('everything before its capture begins and after it ended', async () => {
    await using site = await startPlainSite();
    await using gate = await openTestEgress();
    const captureProxy = await gate.egress.openCaptureProxy();
    const { port } = captureProxy;
    await expect(sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`)).rejects.toThrow();
    expect(await tunnelStatus(captureProxy, `${ALLOWED}:${site.port}`)).toBe(502);
    expect(site.connections).toBe(0);
    captureProxy.begin({ proxy: null, target: null });
    expect((await sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`)).body).toBe('hello');
    const { socket } = await connectThrough(captureProxy, `${ALLOWED}:${site.port}`);
    await Promise.all([
      once(socket, 'close'),
      captureProxy[Symbol.asyncDispose](),
      captureProxy[Symbol.asyncDispose](),
    ]);
    await expect(sendThrough({ port }, `http://${ALLOWED}:${site.port}/`)).rejects.toThrow('ECONNREFUSED');
    expect(site.requests).toHaveLength(1);
    expect(captureProxy.refusals).toEqual([]);
  });

  test('what does not speak to it as a browser does to its proxy', async () => {
    const { site, captureProxy } = await siteAndProxy();
    for (const path of [
      '/',
      `https://${ALLOWED}:${site.port}/`,
      `ftp://${ALLOWED}/`,
      `http:///${ALLOWED}:${site.port}/`,
    ]) {
      const asked = request({ host: '127.0.0.1', port: captureProxy.port, path, agent: false });
      asked.end();
      await expect(once(asked, 'response')).rejects.toThrow();
    }
    for (const authority of [`${ALLOWED}:0`, `${ALLOWED}:99999`, ALLOWED, ':80', `[${ALLOWED}]:${site.port}`]) {
      expect(await tunnelStatus(captureProxy, authority), authority).toBe(502);
    }
    expect(site.connections).toBe(0);
  });

  test('another proxy, even where loopback is allowed', async () => {
    await using captureProxy = await openTestProxy({}, { allowDestinations: ['127.0.0.0/8'] });
    await using other = await captureProxy.gate.openCaptureProxy();
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]']) {
      expect(await tunnelStatus(captureProxy, `${host}:${other.port}`), host).toBe(502);
    }
  });

  test('but not a site on another address that happens to have the port of a proxy', async () => {
    await using captureProxy = await openTestProxy();
    await using site = await startPlainSite({ port: captureProxy.port });
    expect((await sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`)).body).toBe('hello');
  });
});

test('a refusal is repeated at once to the same capture, and takes its time again for another name or port', async () => {
  await using captureProxy = await openTestProxy({ 'private.example.net': ['10.0.0.1'] });
  const refusedAfter = async (authority: string) => {
    const since = performance.now();
    expect(await tunnelStatus(captureProxy, authority)).toBe(502);
    return performance.now() - since;
  };
  for (const host of ['missing.example.net', 'private.example.net']) {
    expect(await refusedAfter(`${host}:443`)).toBeGreaterThan(95);
    const since = performance.now();
    for (let nth = 0; nth < 30; nth++) await refusedAfter(`${host}:443`);
    expect(performance.now() - since, host).toBeLessThan(1_500);
    expect(await refusedAfter(`${host}:8443`)).toBeGreaterThan(95);
  }
  expect(captureProxy.refusedCount).toBe(64);
});

test('refusals of a capture’s own URL take as long for a name that is private as for one that was looked for longer and is missing', async () => {
  const slowly = () => new Promise<'NXDOMAIN'>((resolve) => setTimeout(resolve, 80, 'NXDOMAIN'));
  await using gate = await openTestEgress({ 'private.example.net': ['10.1.2.3'], 'missing.example.net': slowly });
  const quickest = async (host: string) => {
    const taken: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      await using captureProxy = await gate.openCaptureProxy(`http://${host}/`);
      const since = performance.now();
      expect(await tunnelStatus(captureProxy, `${host}:80`)).toBe(502);
      taken.push(performance.now() - since);
    }
    return Math.min(...taken);
  };
  for (const host of ['private.example.net', 'missing.example.net']) {
    const ms = await quickest(host);
    expect(ms, host).toBeGreaterThan(95);
    expect(ms, host).toBeLessThan(170);
  }
});

describe('a capture over its limit', () => {
  test('is cut, and reaches nothing more', async () => {
    const { site, captureProxy } = await siteAndProxy(
      { answer: (_request, response) => response.end(Buffer.alloc(3_000_000)) },
      {},
      { maxBytesPerCapture: 1_000_000 },
    );
    await expect(sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`)).rejects.toThrow();
    await expect(sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/again`)).rejects.toThrow();
    expect(captureProxy.bytes).toBeLessThan(1_500_000);
    expect(captureProxy.refusals.map((refusal) => refusal.reason)).toEqual(['over_limit', 'over_limit']);
    expect(site.requests).toHaveLength(1);
  });

  test('is cut while it sends through a tunnel', async () => {
    await using sink = await startTcpSite((socket) => socket.resume());
    await using captureProxy = await openTestProxy({}, { maxBytesPerCapture: 1_000_000 });
    const { socket } = await connectThrough(captureProxy, `${ALLOWED}:${sink.port}`);
    const send = () => void socket.write(Buffer.alloc(200_000), (error) => error == null && send());
    send();
    await new Promise((resolve) => socket.once('close', resolve));
    expect(captureProxy.refusals.map((refusal) => refusal.reason)).toEqual(['over_limit']);
  });
});

describe('a destination that cannot be reached', () => {
  test('is reported by its cause, and shown as no page', async () => {
    const { site, captureProxy } = await siteAndProxy({ answer: (request) => request.socket.end() });
    const closed = site.port;
    await expect(sendThrough(captureProxy, `http://${ALLOWED}:${closed}/`)).rejects.toThrow();
    await site[Symbol.asyncDispose]();
    await expect(sendThrough(captureProxy, `http://${ALLOWED}:${closed}/`)).rejects.toThrow();
    expect(await tunnelStatus(captureProxy, `${ALLOWED}:${closed}`)).toBe(502);
    expect(captureProxy.failures).toEqual([
      { host: ALLOWED, port: closed, code: 'EMPTY_RESPONSE' },
      { host: ALLOWED, port: closed, code: 'ECONNREFUSED' },
      { host: ALLOWED, port: closed, code: 'ECONNREFUSED' },
    ]);
    expect(captureProxy.refusedCount).toBe(0);
  });

  test('breaks an answer off where it broke off', async () => {
    const { site, captureProxy } = await siteAndProxy({
      answer: (_request, response) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('half', () => response.destroy());
      },
    });
    await expect(sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`)).rejects.toThrow();
  });

  test('is tried at every judged address', async () => {
    const { site, captureProxy } = await siteAndProxy(
      {},
      { 'several.example.net': ['127.0.0.4', '::1', ALLOWED] },
      { allowDestinations: ['several.example.net'] },
    );
    expect((await sendThrough(captureProxy, `http://several.example.net:${site.port}/`)).body).toBe('hello');
  });

  test('does not keep a proxy from closing', async () => {
    const captureProxy = await openTestProxy({ 'silent.example.net': 'SILENCE' });
    const socket = connect(captureProxy.port, '127.0.0.1');
    socket.write('CONNECT silent.example.net:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    while (captureProxy.gate.dns.queries.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([once(socket, 'close'), captureProxy[Symbol.asyncDispose]()]);
    expect(captureProxy.refusals).toEqual([]);
  });
});

test('rebinding: of 200 connections by a name that changes its answer from capture to capture none reaches the forbidden address', async () => {
  await using sites = await startPlainSites({ address: '127.0.0.1' }, {});
  const [canary, site] = sites;
  const flip = { 'rebind.example.net': ({ nth }: { nth: number }) => [nth % 2 === 0 ? ALLOWED : '127.0.0.1'] };
  await using gate = await openTestEgress(flip);
  let [reached, refused] = [0, 0];
  for (let capture = 0; capture < 20; capture++) {
    await using captureProxy = await gate.openCaptureProxy();
    const turns = Array.from({ length: 10 }, () =>
      sendThrough(captureProxy, `http://rebind.example.net:${canary.port}/`).then(
        () => reached++,
        () => 0,
      ),
    );
    await Promise.all(turns);
    expect([0, 10]).toContain(captureProxy.refusedCount);
    refused += captureProxy.refusedCount;
  }
  expect(canary.connections).toBe(0);
  expect([reached, refused, site.requests.length]).toEqual([100, 100, 100]);
  expect(gate.dns.count('rebind.example.net', 'A')).toBe(20);
});

describe('what the operator allows', () => {
  const zone = {
    'public.example.net': ['93.184.216.34'],
    'both.example.net': ['93.184.216.34', ALLOWED],
    'wiki.corp': [ALLOWED],
  };

  test.each([
    ['http://stub.example.com/', true],
    ['https://www.stub.example.com:8443/x', true],
    [`http://${ALLOWED}:1/`, true],
    ['http://wiki.corp/', true],
    [null, true],
    ['http://public.example.net/', false],
    ['http://both.example.net/', false],
    ['http://93.184.216.34/', false],
    ['http://nowhere.example.net/', false],
  ])('is open to a capture of %s: %s', async (target, open) => {
    const { site, captureProxy } = await siteAndProxy({}, zone, { allowDestinations: [`${ALLOWED}/32`] }, { target });
    for (const host of ['stub.example.com', 'other.stub.example.com', ALLOWED, 'wiki.corp']) {
      const got = await sendThrough(captureProxy, `http://${host}:${site.port}/`).catch(() => null);
      expect([host, got?.body]).toEqual([host, open ? 'hello' : undefined]);
    }
    expect(site.requests).toHaveLength(open ? 4 : 0);
    expect(captureProxy.refusedCount).toBe(open ? 0 : 4);
  });

  test('stays shut for a public page whose name leads there later', async () => {
    const { site, captureProxy } = await siteAndProxy(
      {},
      { 'turns.example.net': ({ nth }) => (nth === 0 ? ['93.184.216.34'] : [ALLOWED]) },
      {},
      { target: 'http://turns.example.net/' },
    );
    await expect(sendThrough(captureProxy, `http://${ALLOWED}:${site.port}/`)).rejects.toThrow();
    await expect(sendThrough(captureProxy, `http://stub.example.com:${site.port}/`)).rejects.toThrow();
    expect(site.connections).toBe(0);
  });
});
