import { createHmac, timingSafeEqual } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { styleText } from 'node:util';
import type { Command } from 'commander';
import { type Config, readConfig } from '../config.js';
import { createLog } from '../log.js';
import { DEMO_PAGES, type DemoSite, startDemoSite } from './demo-site.js';
import { OperatorError } from './operator-error.js';
import { addSettings, readSettings } from './settings-flags.js';

const WEBHOOK_SECRET = 'a secret of the demonstration';

interface Api {
  url: string;
  key: string;
  outputDir: string;
}

interface Answer {
  status: number;
  data: Record<string, unknown>;
}

/** Adds `stillframe demo`: captures built-in pages through the public API, offline. */
export function addDemoCommand(program: Command): void {
  const demo = program
    .command('demo')
    .description('capture a small built-in site through the API, offline')
    .option('-o, --output <dir>', 'output directory', 'demo-output')
    .addHelpText('after', '\nExample:\n  stillframe demo -o pictures');
  addSettings(demo, ['dataDir', 'chromium', 'browserInstall', 'sandbox']).action(async (options: { output: string }, command: Command) => {
    const config = readSettings(command);
    await using site = await startDemoSite();
    const dataDir = await mkdtemp(join(tmpdir(), 'stillframe-demo-'));
    try {
      await run(demoConfig(config, dataDir, site), { site, outputDir: resolve(options.output), browserDir: config.dataDir });
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
}

/** Returns the user's settings, with a temporary data directory and permission to reach the demo's site. */
function demoConfig(config: Config, dataDir: string, site: DemoSite): Config {
  return {
    ...readConfig({}, {}),
    chromium: config.chromium,
    browserInstall: config.browserInstall,
    sandbox: config.sandbox,
    dataDir,
    port: 0,
    allowDestinations: [new URL(site.url).host],
    webhookAllow: [site.url],
    lists: false,
    log: 'warn',
    logFormat: config.logFormat,
  };
}

async function run(config: Config, places: { site: DemoSite; outputDir: string; browserDir: string }): Promise<void> {
  const { site, outputDir, browserDir } = places;
  say(bold('1. A server'));
  const { Service } = await import('../service/service.js');
  await using service = await Service.start(config, {
    log: createLog({ level: config.log, format: config.logFormat }),
    say,
    browserDir,
  });
  await service.ready;
  if (service.firstKey === null) throw new OperatorError('The demo server created no API key.');
  say(`   ready on ${service.url}, with a new API key; the site to capture runs on ${site.url}\n`);
  await mkdir(outputDir, { recursive: true });
  const api: Api = { url: service.url, key: service.firstKey, outputDir };
  const files = [...(await takePicturesNow(api, site)), await takePictureLater(api, site)];
  say(bold('4. The pictures'));
  for (const file of files) process.stdout.write(`${file}\n`);
}

async function takePicturesNow(api: Api, site: DemoSite): Promise<string[]> {
  say(bold('2. Synchronous captures (POST /v1/screenshot answers 200)'));
  const orders: [string, Record<string, unknown>][] = [
    ['article.webp', { url: site.url + DEMO_PAGES[0], format: 'webp' }],
    ['article-phone.png', { url: site.url + DEMO_PAGES[0], format: 'png', device: 'pixel_8' }],
    ['article-full.png', { url: site.url + DEMO_PAGES[0], format: 'png', full_page: true, viewport: { deviceScaleFactor: 1 } }],
    ['shop-full.jpeg', { url: site.url + DEMO_PAGES[1], format: 'jpeg', full_page: true }],
    ['app.png', { url: site.url + DEMO_PAGES[2], format: 'png', wait_for_content: true, full_page: true }],
    ['article.pdf', { url: site.url + DEMO_PAGES[0], format: 'pdf', full_page: true, full_page_algorithm: 'native' }],
  ];
  const files: string[] = [];
  for (const [name, body] of orders) {
    const { status, data } = await call(api, 'POST', '/v1/screenshot', body);
    if (status !== 200) throw new OperatorError(`${name}: the server answered ${status}: ${JSON.stringify(data)}`);
    files.push(await download(api, name, data));
    say(`   ${name.padEnd(20)} ${data.width}×${data.height}, ${data.bytes} bytes, ${data.duration_ms} ms`);
  }
  const again = await call(api, 'POST', '/v1/screenshot', orders[0]?.[1]);
  say(`   the first one again: cached ${String(again.data.cached)}, not rendered\n`);
  return files;
}

async function takePictureLater(api: Api, site: DemoSite): Promise<string> {
  say(bold('3. An asynchronous capture (202) with a signed webhook'));
  const callback = site.nextCallback();
  const body = {
    url: `${site.url + DEMO_PAGES[0]}?later`,
    format: 'png',
    sync: false,
    webhook: { url: `${site.url}/hook`, secret: WEBHOOK_SECRET },
  };
  const { status, data } = await call(api, 'POST', '/v1/screenshot', body);
  say(`   ${status} ${data.job_id} ${data.state}`);
  const job = await follow(api, String(data.poll_url), String(data.state));
  const { headers, body: payload } = await callback;
  const genuine = isGenuine(String(headers['x-service-signature']), payload);
  const event = (JSON.parse(payload) as { event: string }).event;
  say(`   webhook ${event}, signature ${genuine ? 'verified' : 'WRONG'}\n`);
  if (!genuine) throw new OperatorError('The signature of the webhook is wrong.');
  return await download(api, 'article-later.png', (job.result as { data: Record<string, unknown> }).data);
}

/** Polls a job until it ends, and prints each new state. */
async function follow(api: Api, pollUrl: string, first: string): Promise<Record<string, unknown>> {
  let shown = first;
  for (;;) {
    const { data } = await call(api, 'GET', pollUrl);
    if (data.state !== shown) {
      shown = String(data.state);
      say(`   … ${shown}`);
    }
    if (shown === 'completed') return data;
    if (shown === 'failed') throw new OperatorError(`The job failed: ${JSON.stringify(data.result)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Verifies a callback as a receiver should before parsing it (interface.md, Events). */
function isGenuine(signature: string, payload: string): boolean {
  const [, time = '', digest = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) return false;
  const expected = createHmac('sha256', WEBHOOK_SECRET).update(`${time}.${payload}`).digest();
  const given = Buffer.from(digest, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

async function call(api: Api, method: string, path: string, body?: Record<string, unknown>): Promise<Answer> {
  const response = await fetch(api.url + path, {
    method,
    headers: { authorization: `Bearer ${api.key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const envelope = (await response.json()) as { data?: Record<string, unknown>; error?: Record<string, unknown> };
  return { status: response.status, data: envelope.data ?? envelope.error ?? {} };
}

async function download(api: Api, name: string, data: Record<string, unknown>): Promise<string> {
  const response = await fetch(String(data.cdn_url));
  if (!response.ok) throw new OperatorError(`${name}: its cdn_url answered ${response.status}.`);
  const file = join(api.outputDir, name);
  await writeFile(file, Buffer.from(await response.arrayBuffer()));
  return file;
}

function bold(text: string): string {
  return styleText('bold', text, { stream: process.stderr });
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
