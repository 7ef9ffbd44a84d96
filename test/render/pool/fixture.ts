import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server as ProxyServer } from 'proxy-chain';
import { type CaptureOptions, captureRequestSchema, toCaptureOptions } from '../../../src/contract/capture-request.js';
import type { CallerProxy, CaptureProxy, Egress } from '../../../src/egress/egress.js';
import { silentLog } from '../../../src/log.js';
import { processesNaming } from '../../../src/render/launch/process-table.js';
import { profilesRoot, sweepProfiles } from '../../../src/render/launch/profile-dir.js';
import { BrowserPool, type PoolOptions } from '../../../src/render/pool/browser-pool.js';
import { buildProgram } from '../../fixtures/build-program.js';
import { ANY_BROWSER } from '../install/any-browser.js';
import { closedProxy } from '../picture/a-page-session.js';

/** An egress that lets everything through: the browser is under test here, not the egress checks. */
export class OpenProxies implements Pick<Egress, 'openCaptureProxy'> {
  open = 0;
  readonly begun: { proxy: CallerProxy | null }[] = [];

  async openCaptureProxy(): Promise<CaptureProxy> {
    const server = new ProxyServer({ port: 0, host: '127.0.0.1' });
    await server.listen();
    this.open += 1;
    let shut = false;
    return {
      ...closedProxy(),
      port: server.port,
      begin: (passage) => void this.begun.push(passage),
      [Symbol.asyncDispose]: async () => {
        if (shut) return;
        shut = true;
        this.open -= 1;
        await server.close(true);
      },
    };
  }
}

export type TestPool = Awaited<ReturnType<typeof aPool>>;

/** A site on loopback that remembers what was asked of it. */
export async function aSite(pages: Record<string, string> = {}) {
  const requests: { url: string; headers: IncomingMessage['headers'] }[] = [];
  const server: Server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '/';
    requests.push({ url: path, headers: request.headers });
    response.setHeader('content-type', path.endsWith('.js') ? 'text/javascript' : 'text/html');
    const viewport = path === '/mobile' ? '<meta name=viewport content="width=device-width">' : '';
    response.end(pages[path] ?? `<!doctype html>${viewport}<title>fixture</title><h1>Hello</h1>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The same site under another name: of another origin and site. */
    elsewhere: `http://localhost:${(server.address() as AddressInfo).port}`,
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

export async function aPool(options: Partial<PoolOptions> = {}) {
  const runDir = options.runDir ?? mkdtempSync(join(tmpdir(), 'stillframe-test-'));
  const proxies = new OpenProxies();
  const pool = await BrowserPool.start({
    executable: ANY_BROWSER,
    egress: proxies,
    browsers: 1,
    pagesPerBrowser: 1,
    runDir,
    sandbox: true,
    log: silentLog(),
    ...options,
  }).catch((error: unknown) => {
    rmSync(runDir, { recursive: true, force: true });
    throw error;
  });
  const acquire = pool.acquire.bind(pool);
  pool.acquire = async (...given) => {
    const lease = await acquire(...given);
    await lease.session.allowEvaluation();
    return lease;
  };
  return {
    pool,
    proxies,
    runDir,
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      rmSync(profilesRoot(runDir), { recursive: true, force: true });
      rmSync(runDir, { recursive: true, force: true });
    },
  };
}

export const NEVER = new AbortController().signal;

/** Opens a page for these fields of a request, at the URL if there is one; its block releases it. */
export async function visit(
  { pool }: Pick<TestPool, 'pool'>,
  url: string | null,
  fields: Record<string, unknown> = {},
) {
  const lease = await pool.acquire(someOptions(fields), AbortSignal.timeout(HOLDS_MAX_MS));
  const { page } = lease.session;
  if (url !== null) await page.goto(url);
  return Object.assign(lease, { page, [Symbol.asyncDispose]: () => lease.release() });
}

/** For a machine that is busy with other tests. */
const HOLDS_MAX_MS = 60_000;

/** Waits for something that no event tells. @throws Error with the condition when it does not hold in time */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + HOLDS_MAX_MS;
  while (!(await holds())) {
    if (performance.now() > endsAt) throw new Error(`this did not hold within ${HOLDS_MAX_MS} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Pids of the browsers that a pool of this run directory has started. */
export function browserPids(runDir: string): number[] {
  return processesNaming(`--user-data-dir=${profilesRoot(runDir)}/`)
    .filter(({ pid, group }) => pid === group)
    .map(({ pid }) => pid);
}

/** A process of its own that holds a pool with one browser, to be killed. */
export async function serverProgram() {
  const runDir = mkdtempSync(join(tmpdir(), 'stillframe-test-'));
  const program = await buildProgram(new URL('./pool-program.ts', import.meta.url));
  const child = fork(program.file, [runDir], { execArgv: [] });
  await once(child, 'message');
  return {
    child,
    runDir,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await program[Symbol.asyncDispose]();
      await sweepProfiles(profilesRoot(runDir));
      rmSync(profilesRoot(runDir), { recursive: true, force: true });
      rmSync(runDir, { recursive: true, force: true });
    },
  };
}
