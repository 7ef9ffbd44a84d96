import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { styleText } from 'node:util';
import type { Command } from 'commander';
import { type CaptureRequest, type Picture, Stillframe, verifyWebhook } from '../client/client.js';
import { type Config, readConfig } from '../config.js';
import { createLog } from '../log.js';
import { type DemoSite, startDemoSite } from './demo-site.js';
import { OperatorError, printLine } from './operator-error.js';
import { addSettings, readSettings } from './settings-flags.js';

const WEBHOOK_SECRET = 'a secret of the demonstration';

/** Adds `stillframe demo`: captures built-in pages through the public API, offline. */
export function addDemoCommand(program: Command): void {
  const demo = program
    .command('demo')
    .description('capture a small built-in site through the API, offline')
    .option('-o, --output <dir>', 'output directory', 'demo-output')
    .addHelpText('after', '\nExample:\n  stillframe demo -o pictures');
  addSettings(demo, ['dataDir', 'chromium', 'browserInstall', 'sandbox']).action(
    async (options: { output: string }, command: Command) => {
      const config = readSettings(command);
      await using site = await startDemoSite();
      const dataDir = await mkdtemp(join(tmpdir(), 'stillframe-demo-'));
      try {
        await run(demoConfig(config, dataDir, site), {
          site,
          outputDir: resolve(options.output),
          browserDir: config.dataDir,
        });
      } finally {
        await rm(dataDir, { recursive: true, force: true });
      }
    },
  );
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
  printLine(bold('1. A server'));
  const { Service } = await import('../service/service.js');
  await using service = await Service.start(config, {
    log: createLog({ level: config.log, format: config.logFormat }),
    print: printLine,
    browserDir,
  });
  await service.ready;
  if (service.firstKey === null) throw new OperatorError('The demo server created no API key.');
  printLine(`   ready on ${service.url}, with a new API key; the site to capture runs on ${site.url}\n`);
  await mkdir(outputDir, { recursive: true });
  const client = new Stillframe({ baseUrl: service.url, apiKey: service.firstKey });
  const files: string[] = [];
  const keep = async (name: string, picture: Picture) => {
    files.push(join(outputDir, name));
    await writeFile(join(outputDir, name), await client.download(picture));
  };
  await takePicturesNow(client, site.url, keep);
  await takePictureLater(client, site, keep);
  printLine(bold('4. The pictures'));
  for (const file of files) process.stdout.write(`${file}\n`);
}

type Keep = (name: string, picture: Picture) => Promise<void>;

async function takePicturesNow(client: Stillframe, site: string, keep: Keep): Promise<void> {
  printLine(bold('2. Synchronous captures (POST /v1/screenshot answers 200)'));
  const article: CaptureRequest = { url: `${site}/article`, format: 'webp' };
  const orders: [string, CaptureRequest][] = [
    ['article.webp', article],
    ['article-phone.png', { ...article, format: 'png', device: 'pixel_8' }],
    ['article-full.png', { ...article, format: 'png', full_page: true, viewport: { deviceScaleFactor: 1 } }],
    ['shop-full.jpeg', { url: `${site}/shop`, format: 'jpeg', full_page: true }],
    ['article.pdf', { ...article, format: 'pdf', full_page: true, full_page_algorithm: 'native' }],
  ];
  for (const [name, request] of orders) {
    const picture = await client.capture(request);
    await keep(name, picture);
    printLine(
      `   ${name.padEnd(20)} ${picture.width}×${picture.height}, ${picture.bytes} bytes, ${picture.duration_ms} ms`,
    );
  }
  const again = await client.capture(article);
  printLine(`   the first one again: cached ${String(again.cached)}, not rendered\n`);
}

async function takePictureLater(client: Stillframe, site: DemoSite, keep: Keep): Promise<void> {
  printLine(bold('3. An asynchronous capture (202) with a signed webhook'));
  const callback = site.nextCallback();
  const webhook = { url: `${site.url}/hook`, secret: WEBHOOK_SECRET };
  const { job_id: jobId, state } = await client.submit({ url: `${site.url}/article?later`, format: 'png', webhook });
  printLine(`   ${jobId} ${state}`);
  const picture = await client.wait(jobId);
  const { event } = await verifyWebhook({ ...(await callback), secret: WEBHOOK_SECRET });
  printLine(`   webhook ${event}, signature verified\n`);
  await keep('article-later.png', picture);
}

function bold(text: string): string {
  return styleText('bold', text, { stream: process.stderr });
}
