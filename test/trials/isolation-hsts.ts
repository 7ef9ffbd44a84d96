import { createHash, X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { findChromium } from '../../src/render/install/find-chromium.js';
import { startServer } from '../bench/server.js';
import { startDnsServer } from '../fixtures/dns-server.js';
import { listen } from '../fixtures/listen.js';
import { document, html } from '../fixtures/site/answer.js';
import { TLS_IDENTITY } from '../fixtures/tls-identity.js';
import { SMALL } from './call-api.js';

/** HSTS holds for names only, never for addresses. */
const HOST = 'pledge.stub.example.com';
const TLS_HANDSHAKE = 0x16;
const VIEW = { ...SMALL, timeout: 10_000, wait_for_selector: '#done' };

/**
 * Captures of one host by http, each of which has it pledge Strict-Transport-Security and then sees that it holds: no later capture may
 * come by https of its own accord. The browser is told to trust the fixture's certificate, without which it would not heed the pledge.
 *
 * @param inLanes runs the visits, several at once
 */
export async function visitByHsts(inLanes: (visit: (nth: number) => Promise<void>) => Promise<void>) {
  const problems: string[] = [];
  let visits = 0;
  await using host = await startPledgingHost();
  await using dns = await startDnsServer({ [HOST]: ['127.0.0.2'] });
  using browser = await trustingBrowser();
  const env = { STILLFRAME_CHROMIUM: browser.path, STILLFRAME_DNS_SERVERS: dns.address };
  await using server = await startServer({ ...env, STILLFRAME_CONCURRENCY: '4' });
  await inLanes(async (nth) => {
    const { status, data } = await server.post({ ...VIEW, url: `http://${HOST}:${host.port}/page?visit=${nth}` });
    const came = host.came.get(String(nth)) ?? [];
    if (came.join() !== 'http,https')
      problems.push(`HSTS visit ${nth} came by ${came.join(', then ') || 'nothing'}, not by http, then https`);
    else if (status !== 200) problems.push(`HSTS visit ${nth} ended ${status} ${JSON.stringify(data)}`);
    else visits++;
  });
  return { visits, problems };
}

/** Answers http and https at one port, which is what a browser under a pledge keeps. */
async function startPledgingHost() {
  const came = new Map<string, string[]>();
  const answer = (scheme: string) => (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host');
    const name = searchParams.get('visit') ?? '';
    if (pathname === '/page' || pathname === '/again') came.set(name, [...(came.get(name) ?? []), scheme]);
    if (pathname === '/page')
      html(response, document('Pledge', `<h1>Visit ${name}</h1><script>(${pledge.toString()})()</script>`));
    else
      response
        .writeHead(200, { 'cache-control': 'no-store', 'strict-transport-security': 'max-age=31536000' })
        .end('kept');
  };
  const plain = createPlain(answer('http'));
  const secure = createSecure(TLS_IDENTITY, answer('https'));
  const front = createServer((socket) => {
    socket.once('data', (head: Buffer) => {
      socket.pause();
      socket.unshift(head);
      (head[0] === TLS_HANDSHAKE ? secure : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  return { came, ...(await listen(front, '127.0.0.2')) };
}

async function pledge(): Promise<void> {
  await fetch(`https://${location.host}/pledge`, { mode: 'no-cors' });
  await fetch(`http://${location.host}/again${location.search}`, { mode: 'no-cors' });
  window.document.body.id = 'done';
}

/** The machine's browser, which takes the fixture's certificate for a true one. */
async function trustingBrowser(): Promise<{ path: string } & Disposable> {
  const dir = mkdtempSync(join(tmpdir(), 'isolation-browser-'));
  const found = await findChromium({ chromium: process.env.STILLFRAME_CHROMIUM ?? null, dataDir: dir, sandbox: true });
  if (found === null) throw new Error('there is no browser on this machine');
  const key = new X509Certificate(TLS_IDENTITY.cert).publicKey.export({ type: 'spki', format: 'der' });
  const pin = createHash('sha256').update(key).digest('base64');
  // A launcher named as its program would be taken for the distribution's, and passed by.
  const path = join(dir, `trusting-${basename(found.path)}`);
  const env = Object.entries(found.env ?? {}).map(([name, value]) => `'${name}=${value}' `);
  writeFileSync(
    path,
    `#!/bin/sh\nexec env ${env.join('')}'${found.path}' '--ignore-certificate-errors-spki-list=${pin}' "$@"\n`,
  );
  chmodSync(dir, 0o755);
  chmodSync(path, 0o755);
  return { path, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}
