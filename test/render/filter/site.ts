import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import type { Browser } from 'playwright-core';
import type { CaptureOptions } from '../../../src/contract/capture-request.js';
import { captureRequestSchema, toCaptureOptions } from '../../../src/contract/capture-request.js';
import { type PageSession, World } from '../../../src/render/page-session.js';
import { launchAnyBrowser, QUIET_FLAGS } from '../install/any-browser.js';

export interface Seen {
  url: string;
  headers: IncomingMessage['headers'];
}

/** A web of its own on one loopback port: every host name leads here, so real vendors' names stay on this machine. */
export class FixtureWeb implements AsyncDisposable {
  readonly seen: Seen[] = [];
  private readonly answers = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async open(): Promise<FixtureWeb> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const web = new FixtureWeb(server, (server.address() as AddressInfo).port);
    server.on('request', (request, response) => web.answer(request, response));
    return web;
  }

  /** @param url without its query */
  page(url: string, html: string, headers: Record<string, string> = {}): void {
    this.on(url, (_, response) => response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(html));
  }

  on(url: string, answer: (request: IncomingMessage, response: ServerResponse) => void): void {
    this.answers.set(url, answer);
  }

  urls(): string[] {
    return this.seen.map(({ url }) => url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = `http://${request.headers.host}${request.url}`;
    this.seen.push({ url, headers: request.headers });
    const answer = this.answers.get(url.split('?', 1)[0] ?? '');
    if (answer !== undefined) {
      answer(request, response);
      return;
    }
    const [type, body] = byKind(request);
    response.writeHead(200, { 'content-type': type, 'access-control-allow-origin': '*' }).end(body);
  }
}

function byKind(request: IncomingMessage): [string, string] {
  const to = request.headers['sec-fetch-dest'];
  if (to === 'script' || to === 'worker') return ['text/javascript', ''];
  if (to === 'style') return ['text/css', ''];
  if (to === 'image') return ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"/>'];
  return ['text/html', '<!doctype html><title>frame</title>'];
}

export function launchOnto(web: FixtureWeb, { args = [] }: { args?: string[] } = {}): Promise<Browser> {
  return launchAnyBrowser({
    args: [...QUIET_FLAGS, `--host-resolver-rules=MAP * 127.0.0.1:${web.port}`, ...args],
  });
}

/**
 * A page as the pool hands it out, without the pool.
 *
 * @param refuses what the capture's proxy says of a URL
 */
export async function aPageSession(
  browser: Browser,
  refuses: PageSession['captureProxy']['refuses'] = () => false,
): Promise<PageSession & AsyncDisposable> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  const [{ frameTree }] = await Promise.all([cdp.send('Page.getFrameTree'), cdp.send('Network.enable')]);
  return {
    context,
    page,
    cdp,
    mainFrameId: frameTree.frame.id,
    world: new World(cdp),
    clockEvent: null,
    busyMs: async () => null,
    captureProxy: { refuses } as PageSession['captureProxy'],
    chromiumVersion: browser.version(),
    temporaryDir: tmpdir(),
    lost: new AbortController().signal,
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** All options off, except the given ones. */
export function someOptions(url: string, wire: Record<string, unknown> = {}): CaptureOptions {
  const off = { block_ads: false, block_trackers: false, block_chats: false, block_cookie_banners: false };
  return toCaptureOptions(captureRequestSchema.parse({ url, ...off, ...wire }));
}
