import type { CDPSession } from 'playwright-core';
import { VIEWPORT_HEIGHT_PX, VIEWPORT_WIDTH_PX } from '../../contract/limits.js';
import { sharp } from '../../sharp.js';
import { answerOf, ChromiumProcess } from '../launch/chromium-process.js';
import type { Executable } from '../launch/executable.js';
import { FrameSource } from '../launch/frame-source.js';
import { type LaunchMode, launchSandboxed, type SandboxSetting } from '../launch/launch-mode.js';
import { profilesRoot, removeUnusedRoot } from '../launch/profile-dir.js';

const CHECK_TIMEOUT_MS = 20_000;
/** The smallest viewport of the API. Full Chromium 156 often hangs with a viewport of one or two pixels. */
const VIEW = { width: VIEWPORT_WIDTH_PX.min, height: VIEWPORT_HEIGHT_PX.min };
const PAGE = `<!doctype html><title>not intercepted</title><style>body{margin:0;background:#0000ff}</style>
<div style="height:${3 * VIEW.height}px"></div><script src="/blocked.js" onerror="document.title='intercepted'"></script>`;
const NEVER = new AbortController().signal;

export interface BrowserCheckOptions {
  /** The directory where results are stored. */
  dataDir: string;
  /** The sandbox setting of the service: a browser is tested under the restrictions that it will run with. */
  sandbox: SandboxSetting;
  /** Aborts the test, and kills the browser under test. */
  signal?: AbortSignal;
}

/**
 * Starts the browser and tests what captures need: a page, an intercepted request, a picture larger than the viewport, a PDF.
 * A version number or an exit code would prove nothing. BROWSER_CHECK_VERSION grows when this checks more.
 * @returns Chromium's version, and whether it can draw only when it is told to
 * @throws SandboxMissing if the sandbox is required and the system refuses it; Error with the cause
 */
export async function checkBrowser(executable: Executable, { dataDir, sandbox, signal = NEVER }: BrowserCheckOptions) {
  const profiles = profilesRoot(dataDir);
  const checkWith = async (drawsOnDemand: boolean, mode: LaunchMode) => {
    await using chromium = await ChromiumProcess.launch({
      executable,
      profiles,
      version: null,
      drawsOnDemand,
      signal,
      ...mode,
    });
    await answerOf(captureLikeTheService(chromium, drawsOnDemand), CHECK_TIMEOUT_MS, signal);
    return { version: chromium.browser.version(), drawsOnDemand };
  };
  try {
    const { started, mode } = await launchSandboxed(sandbox, (tried) => checkWith(false, tried));
    if (executable.kind !== 'headless-shell') return started;
    return await checkWith(true, mode).catch(() => {
      signal.throwIfAborted();
      return started;
    });
  } finally {
    removeUnusedRoot(profiles);
  }
}

async function captureLikeTheService({ browser }: ChromiumProcess, drawsOnDemand: boolean): Promise<void> {
  const page = await browser.newPage({ viewport: VIEW });
  await page.route('**', (route, request) =>
    request.resourceType() === 'script' ? route.abort() : route.fulfill({ contentType: 'text/html', body: PAGE }),
  );
  await page.goto('http://proof.invalid/');
  const cdp = await page.context().newCDPSession(page);
  // biome-ignore lint/plugin: the page is our own
  const { result } = await cdp.send('Runtime.evaluate', { expression: 'document.title' });
  if (result.value !== 'intercepted') throw new Error('it does not let its requests be intercepted');
  // Browsers without this command would wait for ever.
  if (drawsOnDemand) await cdp.send('HeadlessExperimental.beginFrame');
  await drawBeyondView(drawsOnDemand ? new FrameSource(cdp).session : cdp);
  await print(cdp);
}

async function drawBeyondView(cdp: Pick<CDPSession, 'send'>): Promise<void> {
  const clip = { x: 0, y: 0, width: VIEW.width, height: 2 * VIEW.height, scale: 1 };
  const { data } = await cdp.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip });
  const { data: pixels, info } = await sharp(Buffer.from(data, 'base64'))
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const last = pixels.subarray(-3);
  if (info.height !== clip.height || !last.equals(Buffer.from([0, 0, 255])))
    throw new Error('it draws nothing beyond the view');
}

async function print(cdp: CDPSession): Promise<void> {
  const { stream = '' } = await cdp.send('Page.printToPDF', { transferMode: 'ReturnAsStream' });
  const { data, base64Encoded } = await cdp.send('IO.read', { handle: stream, size: 1_024 });
  const head = Buffer.from(data, base64Encoded ? 'base64' : 'latin1');
  if (head.subarray(0, 5).toString('latin1') !== '%PDF-') throw new Error('it prints no PDF');
}
