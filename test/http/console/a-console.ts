import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueConsoleLink } from '../../../src/account/console-access.js';
import type { AppServices } from '../../../src/http/app-services.js';
import { silentLog } from '../../../src/log.js';
import { STORE_FILES } from '../../../src/package-files.js';
import { openStore } from '../../../src/store/sqlite/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { type FakeServices, fakeServices, serveApp } from '../fake-services.js';

export interface Shown {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** A signed-in browser, as far as these tests need one. */
export interface Visitor {
  cookie: string;
  /** The CSRF token of the session's forms. */
  token: string;
  get(path: string): Promise<Shown>;
  post(path: string, fields?: Record<string, string | string[]>, headers?: Record<string, string>): Promise<Shown>;
}

export interface TestConsole extends AsyncDisposable {
  services: FakeServices;
  store: Store;
  url: string;
  /** Milliseconds added to the clock. */
  clock: { ahead: number };
  /** One request, with exactly these headers. */
  ask(method: string, path: string, headers?: Record<string, string>, body?: string): Promise<Shown>;
  newLink(): Promise<string>;
  signIn(): Promise<Visitor>;
}

/** A console over a real socket and a real store; captures are not made. */
export async function aConsole({
  access = 'loopback',
  ...changes
}: Partial<AppServices> & { access?: 'loopback' | 'on' } = {}): Promise<TestConsole> {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-console-'));
  const store = await openStore({ dataDir, ...STORE_FILES, migrates: 'at start', log: silentLog() });
  await store.createAccount('default', Date.now());
  const clock = { ahead: 0 };
  const now = () => Date.now() + clock.ahead;
  const facts = () => ({
    name: 'host-1',
    version: '0',
    roles: ['api'],
    readyBrowsers: 2,
    sandboxed: true,
    running: 1,
    concurrency: 4,
  });
  const startedAt = now();
  const own = {
    loopbackOnly: access === 'loopback',
    maxStorageBytes: 1_000_000,
    thumbnail: async (name: string) => services.files.get(name) ?? null,
    ownNode: () => ({ startedAt, facts: facts() }),
    onQueueChanged: () => undefined,
  };
  const services = fakeServices({ console: own, now, ...changes });
  const { findDelivery, redeliver } = services.store;
  Object.assign(services.store, store, { findDelivery, redeliver });
  const served = await serveApp(services);
  const ask: TestConsole['ask'] = (method, path, headers = {}, body = '') =>
    send(`${served.url}${path}`, { method, headers, body });
  const newLink = async () => (await issueConsoleLink(store, now())).secret;
  return {
    services,
    store,
    clock,
    ask,
    newLink,
    url: served.url,
    async signIn() {
      const entered = await ask('POST', '/console/enter', formHeaders(served.url), `link=${await newLink()}`);
      const cookie = String(entered.headers['set-cookie']).split(';')[0] ?? '';
      const page = await ask('GET', '/console/system', { cookie });
      const token = /name="token" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
      return {
        cookie,
        token,
        get: (path) => ask('GET', path, { cookie }),
        post: (path, fields = {}, headers = {}) =>
          ask('POST', path, { ...formHeaders(served.url), cookie, ...headers }, bodyOf({ token, ...fields })),
      };
    },
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The headers of a form that a page of this origin sends. */
export function formHeaders(origin: string): Record<string, string> {
  return { origin, 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
}

function bodyOf(fields: Record<string, string | string[]>): string {
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  );
  return new URLSearchParams(pairs).toString();
}

/** Unlike fetch, it may set Host and Origin, and follows no redirect. */
function send(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string },
): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}
