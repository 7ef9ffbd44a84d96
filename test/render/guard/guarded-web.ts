import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FiltersEngine } from '@ghostery/adblocker';
import type { Browser, Page } from 'playwright-core';
import { afterAll } from 'vitest';
import { type CaptureOptions, captureRequestSchema, toCaptureOptions } from '../../../src/contract/capture-request.js';
import { silentLog } from '../../../src/log.js';
import { guardPage, type PageGuardDeps } from '../../../src/render/guard/guard-page.js';
import {
  builtInEngines,
  type Category,
  ENGINE_OPTIONS,
  type Engines,
  engineSet,
  readBuiltInRules,
} from '../../../src/render/lists/engines.js';
import { commonSyntax } from '../../../src/render/lists/list-syntax.js';
import type { PageSession } from '../../../src/render/page-session.js';
import { ofFile } from '../../fixtures/of-file.js';
import { launchAnyBrowser, QUIET_FLAGS } from '../install/any-browser.js';
import { builtForTests } from '../lists/built.js';
import { closedProxy, sessionOfPage } from '../picture/a-page-session.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A web of its own on one loopback port: every host name leads here, so real vendors' names stay on this machine. */
async function openWeb() {
  const seen: { url: string; headers: IncomingMessage['headers'] }[] = [];
  const answers = new Map<string, Answer>();
  const server = createServer((request, response) => {
    const url = `http://${request.headers.host}${request.url}`;
    seen.push({ url, headers: request.headers });
    const answer = answers.get(url.split('?', 1)[0] ?? '');
    if (answer !== undefined) return answer(request, response);
    const [type, body] = byKind(request);
    return response.writeHead(200, { 'content-type': type, 'access-control-allow-origin': '*' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  /** @param url without its query */
  const on = (url: string, answer: Answer) => void answers.set(url, answer);
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    urls: () => seen.map(({ url }) => url),
    on,
    /** Serves the content of a document. */
    page(url: string, html: string, headers: Record<string, string> = {}) {
      const type = { 'content-type': 'text/html; charset=utf-8' };
      on(url, (_, response) => response.writeHead(200, { ...type, ...headers }).end(`<!doctype html>${html}`));
    },
    redirect: (url: string, location: string) => on(url, (_, response) => response.writeHead(302, { location }).end()),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function byKind(request: IncomingMessage): [string, string] {
  const to = request.headers['sec-fetch-dest'];
  if (to === 'script' || to === 'worker') return ['text/javascript', ''];
  if (to === 'style') return ['text/css', ''];
  if (to === 'image') return ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"/>'];
  return ['text/html', '<!doctype html><title>frame</title>'];
}

export type Lists = Partial<Record<Category, string>>;

interface VisitParts {
  browser?: Browser;
  /** Lists that hold instead of the built-in rules. */
  lists?: Lists;
  /** Whether the capture's proxy refuses a URL. */
  refuses?: PageSession['captureProxy']['refuses'];
  /** Called before the navigation. */
  prepare?: (page: Page) => void;
  waitUntil?: 'load' | 'commit';
}

/** A web, and a browser that reaches nothing else, for all tests of a file; closed after the last. */
export async function guardedWeb() {
  const built = await builtForTests();
  const parts: PageGuardDeps = {
    engines: builtInEngines(await readBuiltInRules(built)),
    listsOf: async (refusals) => refusals.map(() => 'built-in'),
    consentBundle: await readFile(new URL('consent-page.js', built), 'utf8'),
    log: silentLog(),
  };
  const web = await ofFile(openWeb());
  const launch = async (...args: string[]) => {
    const flags = [...QUIET_FLAGS, `--host-resolver-rules=MAP * 127.0.0.1:${web.port}`, ...args];
    const launched = await launchAnyBrowser({ args: flags });
    afterAll(() => launched.close());
    return launched;
  };
  const usual = await launch();
  /** Opens a page under a guard. */
  const visit = async (url: string, wire: Record<string, unknown>, more: VisitParts = {}) => {
    const { browser = usual, lists, refuses, prepare, waitUntil = 'load' } = more;
    const session = await aPageSession(browser, refuses);
    const engines = lists === undefined ? parts.engines : enginesOf(lists);
    const guard = await guardPage({ ...parts, engines }, session, someOptions(url, wire));
    prepare?.(session.page);
    await session.page.goto(url, { waitUntil });
    return { session, guard, page: session.page, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
  };
  return { web, parts, launch, browser: usual, visit };
}

/** Engines of these lists alone. */
function enginesOf(lists: Lists): Engines {
  return engineSet(
    (category) => FiltersEngine.parse(commonSyntax(lists[category] ?? ''), ENGINE_OPTIONS),
    () => new Set(),
  );
}

/** A page as the pool hands it out, without the pool. */
export async function aPageSession(
  browser: Browser,
  refuses: PageSession['captureProxy']['refuses'] = () => false,
): Promise<PageSession & AsyncDisposable> {
  const page = await (await browser.newContext()).newPage();
  return await sessionOfPage(page, { clockEvent: null, captureProxy: { ...closedProxy(), refuses } });
}

/** All options off, except the given ones. */
export function someOptions(url: string, wire: Record<string, unknown> = {}): CaptureOptions {
  const off = { block_ads: false, block_trackers: false, block_chats: false, block_cookie_banners: false };
  return toCaptureOptions(captureRequestSchema.parse({ url, ...off, ...wire }));
}
