import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server as ProxyServer } from 'proxy-chain';
import { type CaptureOptions, captureRequestSchema, toCaptureOptions } from '../../../src/contract/capture-request.js';
import type { CallerProxy, Door, Egress } from '../../../src/egress/egress.js';
import { silentLog } from '../../../src/log.js';
import { BrowserPool, type PoolOptions } from '../../../src/render/browser/browser-pool.js';
import type { Executable } from '../../../src/render/browser/executable.js';
import { profilesRoot } from '../../../src/render/browser/profile-dir.js';

export const SHELL: Executable = { path: '/usr/lib/chromium/chromium-headless-shell', kind: 'headless-shell', source: 'test' };
export const FULL: Executable = { path: '/usr/lib/chromium/chromium', kind: 'chromium', source: 'test' };

/** An egress that lets everything through: what is under test here is the browser, not the gate. */
export class OpenDoors implements Pick<Egress, 'openDoor'> {
  open = 0;
  readonly begun: { proxy: CallerProxy | null }[] = [];

  async openDoor(): Promise<Door> {
    const server = new ProxyServer({ port: 0, host: '127.0.0.1' });
    await server.listen();
    this.open += 1;
    let shut = false;
    return {
      port: server.port,
      begin: (passage) => void this.begun.push(passage),
      refusals: [],
      refusedCount: 0,
      failures: [],
      bytes: 0,
      proxyFailure: null,
      [Symbol.asyncDispose]: async () => {
        if (shut) return;
        shut = true;
        this.open -= 1;
        await server.close(true);
      },
    };
  }
}

export interface Site extends AsyncDisposable {
  url: string;
  requests: { url: string; headers: IncomingMessage['headers'] }[];
}

/** A site on loopback that remembers what was asked of it. */
export async function aSite(pages: Record<string, string> = {}): Promise<Site> {
  const requests: Site['requests'] = [];
  const server: Server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '/';
    requests.push({ url: path, headers: request.headers });
    response.setHeader('content-type', path.endsWith('.js') ? 'text/javascript' : 'text/html');
    response.end(pages[path] ?? '<!doctype html><title>fixture</title><h1>Hello</h1>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function someOptions(fields: Record<string, unknown> = {}): CaptureOptions {
  return toCaptureOptions(captureRequestSchema.parse({ url: 'http://127.0.0.1/', ...fields }));
}

export interface TestPool extends AsyncDisposable {
  pool: BrowserPool;
  doors: OpenDoors;
  runDir: string;
}

export async function aPool(options: Partial<PoolOptions> = {}): Promise<TestPool> {
  const runDir = options.runDir ?? mkdtempSync(join(tmpdir(), 'stillframe-test-'));
  const doors = new OpenDoors();
  const pool = await BrowserPool.start({
    executable: SHELL,
    egress: doors,
    browsers: 1,
    pagesPerBrowser: 1,
    runDir,
    sandbox: true,
    log: silentLog(),
    ...options,
  });
  return {
    pool,
    doors,
    runDir,
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      rmSync(profilesRoot(runDir), { recursive: true, force: true });
      rmSync(runDir, { recursive: true, force: true });
    },
  };
}

export const NEVER = new AbortController().signal;

/** Waits for something that no event tells. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}
