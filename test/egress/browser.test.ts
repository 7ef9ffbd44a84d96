import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { Executable } from '../../src/render/browser/executable.js';
import { ANY_BROWSER, EACH_KIND } from '../render/browser/any-browser.js';
import { aPool, NEVER, someOptions } from '../render/browser/fixture.js';
import { remoteEndsOfBrowsers } from './browser-sockets.js';
import { channelsPage, WORKER_SCRIPTS } from './channels-page.js';
import { ALLOWED, openTestEgress } from './open-test-egress.js';
import { startPlainSite } from './plain-site.js';

/** A browser behind a gate, as captures have it. */
async function openBrowser(gate: Awaited<ReturnType<typeof openTestEgress>>, executable: Executable = ANY_BROWSER) {
  const pool = await aPool({ executable, egress: gate.egress });
  return {
    /** One capture's page; its door knows what was refused. */
    async visit<Seen>(look: (page: Awaited<ReturnType<typeof pool.pool.acquire>>['stage']) => Promise<Seen>): Promise<Seen> {
      const lease = await pool.pool.acquire(someOptions(), NEVER);
      try {
        return await look(lease.stage);
      } finally {
        await lease.release();
      }
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

describe.each(EACH_KIND)('$kind', (executable) => {
  test('finds no way out but its door, through any channel', async () => {
    await using canary = await startPlainSite({ address: '127.0.0.3' });
    await using other = await startPlainSite({ address: '127.0.0.1', port: canary.port });
    const udp = createSocket('udp4');
    let datagrams = 0;
    udp.on('message', () => datagrams++);
    udp.bind(0, '127.0.0.3');
    await once(udp, 'listening');
    const places = [
      '127.0.0.3',
      '0x7f000003',
      '2130706435',
      '127.3',
      '[::ffff:127.0.0.3]',
      '127.0.0.1',
      '[::1]',
      'localhost',
      'canary.example.net',
      'x.localhost',
    ];
    const target = { places: places.map((place) => `${place}:${canary.port}`), udpPort: udp.address().port };
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const url = request.url ?? '/';
      if (url === '/redirect') return void response.writeHead(302, { location: `http://${target.places[0]}/redirected` }).end();
      const script = WORKER_SCRIPTS[url];
      response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
      response.end(script?.(target.places[0] ?? '') ?? channelsPage(target));
    };
    // By the name localhost, which makes it a secure context: service workers and WebTransport exist in no other.
    await using site = await startPlainSite({ address: '127.0.0.1', answer });
    await using gate = await openTestEgress({ 'canary.example.net': ['127.0.0.3'] }, { allowDestinations: [`localhost:${site.port}`] });
    await using browser = await openBrowser(gate, executable);
    const ends = new Set<string>();
    const watch = setInterval(() => {
      for (const end of remoteEndsOfBrowsers()) ends.add(end);
    }, 25);
    const { tried, refused, door } = await browser.visit(async ({ page, door }) => {
      await page.goto(`http://localhost:${site.port}/`, { waitUntil: 'load' });
      await page.waitForFunction(() => document.title === 'done', undefined, { timeout: 60_000 });
      const seen = await page.evaluate(() => (window as unknown as { tried: string[] }).tried);
      return { tried: seen, refused: door.refusedCount, door: door.port };
    });
    clearInterval(watch);
    udp.close();
    expect(tried).toEqual(expect.arrayContaining(['fetch', 'wss', 'worker', 'service worker', 'webtransport', 'rtc', 'candidates 0']));
    expect(refused).toBeGreaterThan(25);
    expect({ connections: canary.connections + other.connections, datagrams }).toEqual({ connections: 0, datagrams: 0 });
    expect(ends).toContain(`tcp 127.0.0.1:${door}`);
    // Doors of pages that were opened ahead may be among them; anything but loopback TCP may not.
    expect([...ends].filter((end) => !end.startsWith('tcp 127.0.0.1:'))).toEqual([]);
  });
});

describe('a redirect into a forbidden place', () => {
  const places = [
    '127.0.0.1',
    '127.0.0.3',
    '[::1]',
    '2852039166',
    '10.0.0.1',
    'localhost',
    'canary.example.net',
    '[fd00::1]',
    '100.64.0.1',
  ];
  const kinds = ['301', '302', '303', '307', '308', 'refresh', 'meta', 'script', 'form'];

  test.each(kinds)('by %s is never dialled, after any number of hops', async (kind) => {
    await using canary = await startPlainSite({ address: '127.0.0.1' });
    await using other = await startPlainSite({ address: '127.0.0.3', port: canary.port });
    await using site = await startPlainSite({ answer: (request, response) => redirect(kind, request.url ?? '/', response) });
    await using gate = await openTestEgress({ 'canary.example.net': ['127.0.0.3'] });
    await using browser = await openBrowser(gate);
    for (const [index, place] of places.entries()) {
      const hops = /^\d+$/.test(kind) ? 1 + ((index * 5) % 19) : 1 + (index % 3);
      const end = encodeURIComponent(`http://${place}:${canary.port}/end`);
      const refusals = await browser.visit(async ({ page, door }) => {
        await page.goto(`http://stub.example.com:${site.port}/${hops}?to=${end}`).catch(() => null);
        while (door.refusedCount === 0) await page.waitForTimeout(10);
        return door.refusals;
      });
      expect(refusals).toEqual([expect.objectContaining({ port: canary.port })]);
    }
    expect(canary.connections + other.connections).toBe(0);
  });
});

function redirect(kind: string, url: string, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, 'http://x');
  const hops = Number(pathname.slice(1));
  const end = searchParams.get('to') ?? '';
  const location = hops > 1 ? `/${hops - 1}?to=${encodeURIComponent(end)}` : end;
  response.setHeader('content-type', 'text/html');
  if (/^\d+$/.test(kind)) return void response.writeHead(Number(kind), { location }).end();
  if (kind === 'refresh') return void response.writeHead(200, { refresh: `0;url=${location}` }).end('x');
  const pages: Record<string, string> = {
    meta: `<meta http-equiv="refresh" content="0;url=${location}">`,
    script: `<script>location.href=${JSON.stringify(location)}</script>`,
    form: `<form method="post" action="${location}"></form><script>document.forms[0].submit()</script>`,
  };
  response.end(pages[kind] ?? '');
}

test('fail closed: a door that dies under a capture leaves no other way', async () => {
  await using canary = await startPlainSite({ address: '127.0.0.1' });
  let door: { [Symbol.asyncDispose](): PromiseLike<void> } | null = null;
  let connectionsAtDeath = 0;
  await using site = await startPlainSite({
    answer: (request, response) => {
      response.setHeader('content-type', 'text/html');
      if (request.url !== '/') return void response.end();
      const more = Array.from(
        { length: 30 },
        (_, index) => `<img src="http://stub.example.com:${site.port}/${index}"><img src="http://127.0.0.1:${canary.port}/${index}">`,
      );
      response.write(`<title>half</title>${more.slice(0, 10).join('')}`);
      void door?.[Symbol.asyncDispose]().then(() => {
        connectionsAtDeath = site.connections;
        response.end(more.slice(10).join(''));
      });
    },
  });
  await using gate = await openTestEgress();
  await using browser = await openBrowser(gate);
  for (let turn = 0; turn < 10; turn++) {
    await browser.visit(async ({ page, door: own }) => {
      door = own;
      await page.goto(`http://${ALLOWED}:${site.port}/`, { timeout: 5_000 }).catch(() => null);
      const again = await page
        .evaluate(
          (url) =>
            fetch(url, { mode: 'no-cors' }).then(
              () => 'reached',
              () => 'failed',
            ),
          `http://${ALLOWED}:${site.port}/x`,
        )
        .catch(() => 'failed');
      expect(again).toBe('failed');
      await expect(page.goto(`http://${ALLOWED}:${site.port}/y`)).rejects.toThrow('ERR_PROXY_CONNECTION_FAILED');
    });
    expect(site.connections).toBe(connectionsAtDeath);
  }
  expect(canary.connections).toBe(0);
});
