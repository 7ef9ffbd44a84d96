import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CDPSession } from 'playwright-core';
import sharp from 'sharp';
import { VIEWPORT_HEIGHT_PX, VIEWPORT_WIDTH_PX } from '../../contract/limits.js';
import { ChromiumProcess, withTimeout } from '../launch/chromium-process.js';
import type { Executable } from '../launch/executable.js';
import { type LaunchMode, launchSandboxed, type SandboxSetting } from '../launch/launch-mode.js';
import { profilesRoot, removeUnusedRoot } from '../pool/profile-dir.js';

const CHECK_TIMEOUT_MS = 20_000;
/** The smallest viewport of the API. Full Chromium often hangs with a viewport of one or two pixels. */
const VIEW = { width: VIEWPORT_WIDTH_PX.min, height: VIEWPORT_HEIGHT_PX.min };
const PAGE = `<!doctype html><title>not intercepted</title><style>body{margin:0;background:#0000ff}</style>
<div style="height:${3 * VIEW.height}px"></div><script src="/blocked.js" onerror="document.title='intercepted'"></script>`;
const NEVER = new AbortController().signal;
const URL_OF_PAGE = 'http://proof.invalid/';

export interface BrowserCheckOptions {
  /** The directory where results are stored. */
  dataDir: string;
  /** The sandbox setting of the service: a browser is tested under the restrictions that it will run with. */
  sandbox: SandboxSetting;
  /** Aborts the test, and kills the browser under test. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts the browser and tests what captures need: a page through a proxy, an intercepted request, a picture larger than the viewport, a PDF.
 * A version number or an exit code would prove nothing. BROWSER_CHECK_VERSION grows when this checks more.
 * @returns Chromium's version
 * @throws SandboxMissing if the sandbox is required and the system refuses it; Error with the cause
 */
export async function checkBrowser(executable: Executable, { dataDir, sandbox, signal = NEVER }: BrowserCheckOptions): Promise<string> {
  const profiles = profilesRoot(dataDir);
  try {
    const check = async (mode: LaunchMode) => {
      await using chromium = await ChromiumProcess.launch({ executable, profiles, version: null, signal, ...mode });
      await withTimeout(captureLikeTheService(chromium), CHECK_TIMEOUT_MS, signal);
      return chromium.browser.version();
    };
    return (await launchSandboxed(sandbox, check)).started;
  } finally {
    removeUnusedRoot(profiles);
  }
}

async function captureLikeTheService({ browser }: ChromiumProcess): Promise<void> {
  await using proxy = await pageProxy();
  const server = `http://127.0.0.1:${proxy.port}`;
  const context = await browser.newContext({ viewport: VIEW, proxy: { server, bypass: '<-loopback>' } });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await blockScripts(cdp);
  await page.goto(URL_OF_PAGE);
  if ((await page.title()) !== 'intercepted') throw new Error('it does not let its requests be intercepted');
  await drawBeyondView(cdp);
  await print(cdp);
}

/** A proxy that answers every request with the test page. */
async function pageProxy(): Promise<{ port: number } & AsyncDisposable> {
  const server = createServer((_, response) => void response.setHeader('content-type', 'text/html').end(PAGE));
  await new Promise<void>((resolve, reject) => void server.once('error', reject).listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function blockScripts(cdp: CDPSession): Promise<void> {
  cdp.on('Fetch.requestPaused', ({ requestId, resourceType }) => {
    const answer =
      resourceType === 'Script'
        ? cdp.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
        : cdp.send('Fetch.continueRequest', { requestId });
    answer.catch(() => {});
  });
  await cdp.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
}

async function drawBeyondView(cdp: CDPSession): Promise<void> {
  const clip = { x: 0, y: 0, width: VIEW.width, height: 2 * VIEW.height, scale: 1 };
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip });
  const { data: pixels, info } = await sharp(Buffer.from(data, 'base64')).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const last = pixels.subarray(-3);
  if (info.height !== clip.height || !last.equals(Buffer.from([0, 0, 255]))) throw new Error('it draws nothing beyond the view');
}

async function print(cdp: CDPSession): Promise<void> {
  const { stream = '' } = await cdp.send('Page.printToPDF', { transferMode: 'ReturnAsStream' });
  const { data, base64Encoded } = await cdp.send('IO.read', { handle: stream, size: 1_024 });
  const head = Buffer.from(data, base64Encoded ? 'base64' : 'latin1');
  if (head.subarray(0, 5).toString('latin1') !== '%PDF-') throw new Error('it prints no PDF');
}
