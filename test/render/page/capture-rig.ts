import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CaptureError } from '../../../src/contract/capture-error.js';
import { captureRequestSchema, toCaptureOptions } from '../../../src/contract/capture-request.js';
import { hasWebScheme } from '../../../src/contract/read-url.js';
import { openEgress } from '../../../src/egress/open-egress.js';
import { silentLog } from '../../../src/log.js';
import { builtFile } from '../../../src/package-files.js';
import { PdfFiles } from '../../../src/pdf/pdf-files.js';
import { capture, type RenderDeps, type Rendering } from '../../../src/render/capture.js';
import type { Executable } from '../../../src/render/launch/executable.js';
import { EncodeQueue, MemoryBudget } from '../../../src/render/memory.js';
import type { DebugSink } from '../../../src/render/page-session.js';
import { BrowserPool } from '../../../src/render/pool/browser-pool.js';
import { ofFile } from '../../fixtures/of-file.js';
import { document, html } from '../../fixtures/site/answer.js';
import { startSite } from '../../fixtures/site/site.js';
import { ANY_BROWSER } from '../install/any-browser.js';

/** More than tests run at once: none waits for a page (vitest.config.ts, maxConcurrency). */
const PAGES = 3;

/** A request as a client sends it, but for the URL. */
export type Wish = Record<string, unknown>;

export interface CaptureRig extends AsyncDisposable {
  readonly deps: RenderDeps;
  readonly progress: number[];
  /** A real capture, in a real browser, through the real gate; small and unscaled unless asked otherwise. */
  capture(url: string, wish?: Wish, signal?: AbortSignal, debug?: DebugSink): Promise<Rendering>;
  /** As `capture`, with the text that the page has when its pictures have been taken. */
  capturedText(url: string, wish?: Wish, debug?: DebugSink): Promise<Rendering & { text: string }>;
  /** The error that it ends in; throws when it succeeds. */
  failure(url: string, wish?: Wish): Promise<CaptureError>;
}

export interface RigMachine {
  allow?: string[];
  executable?: Executable;
  /** False: pages keep the browser's own clock. */
  clock?: boolean;
  /** False: headless shell draws at its own pace. */
  framesOnDemand?: boolean;
}

/** Captures for tests, on a browser of their own unless given a pool: all real but for blocking, inspection and the observed country. Loopback is allowed as a destination. */
export async function openRig(given: Partial<RenderDeps> & RigMachine = {}): Promise<CaptureRig> {
  const machine = given.pool === undefined ? await startMachine(given) : null;
  const pool = given.pool ?? machine?.pool;
  if (pool === undefined) throw new Error('no pool');
  const noGuard = {
    blockedRequests: 0,
    answerBanners: async () => ({ outcome: 'none', scrollFreed: false }),
    closePopups: async () => 0,
    explain: async () => ({ blocked: [], banner: { outcome: 'none' as const, platform: null }, popups: null }),
    stop: async () => {},
  };
  const deps: RenderDeps = {
    pool,
    blocker: { guard: async () => noGuard },
    memory: new MemoryBudget(Number.POSITIVE_INFINITY),
    countries: { observe: async () => 'US' },
    encodes: new EncodeQueue(builtFile('picture-thread.js')),
    pdfs: new PdfFiles(builtFile('pdf-thread.js')),
    drawing: { thread: builtFile('pdf-pages-thread.js'), wasm: builtFile('pdfium.wasm') },
    animations: new EncodeQueue(builtFile('picture-thread.js')),
    ffmpeg: null,
    inspect: async () => ({ markdown: '', accessibleTree: '' }),
    toMarkdown: async () => null,
    log: silentLog(),
    ...given,
  };
  const progress: number[] = [];
  const captureUrl = (
    url: string,
    wish: Wish = {},
    { signal = new AbortController().signal, debug, on = deps }: CaptureUrl = {},
  ) => {
    const wire = captureRequestSchema.parse({
      url,
      viewport: { width: 800, height: 600, deviceScaleFactor: 1 },
      format: 'png',
      timeout: 30_000,
      ...wish,
    });
    const onProgress = (value: number) => progress.push(value);
    const options = { ...toCaptureOptions(wire), ...(hasWebScheme(url) ? {} : { schemeAdded: true as const }) };
    return capture(on, { options, id: 'job', onProgress, debug }, signal);
  };
  return {
    deps,
    progress,
    capture: (url, wish, signal, debug) => captureUrl(url, wish, { signal, debug }),
    async capturedText(url, wish, debug) {
      const read = readingText(pool);
      const rendering = await captureUrl(url, wish, { debug, on: { ...deps, pool: read.pool } });
      return { ...rendering, text: await read.text };
    },
    async failure(url, wish) {
      try {
        await captureUrl(url, wish);
      } catch (error) {
        if (error instanceof CaptureError) return error;
        throw error;
      }
      throw new Error(`the capture of ${url} succeeded`);
    },
    [Symbol.asyncDispose]: async () => machine?.stop(),
  };
}

/** A fixture site, and captures of it by a browser that has started, for all tests of a file; both are closed after the last. */
export async function siteAndRig(parts: Partial<RenderDeps> = {}) {
  const [site, rig] = await Promise.all([ofFile(startSite()), ofFile(openRig(parts))]);
  const options = toCaptureOptions(captureRequestSchema.parse({ url: site.url('/static') }));
  const lease = await rig.deps.pool.acquire(options, AbortSignal.timeout(120_000), {});
  await lease.release();
  let served = 0;
  /** Serves a page at a path of its own, since tests run concurrently. @returns its URL */
  const serve = (body: string, head = '', headers: Record<string, string> = {}): string => {
    const path = `/page/${++served}`;
    site.route(path, (_request, response) => html(response, document('Page', body, head), { headers }));
    return site.url(path);
  };
  return { site, rig, serve };
}

interface CaptureUrl {
  signal?: AbortSignal | undefined;
  debug?: DebugSink | undefined;
  on?: RenderDeps;
}

/** A pool for one capture, and the text of its page when the capture gives the page back, stopped as it was for its picture. */
function readingText(pool: RenderDeps['pool']) {
  let read = (_text: Promise<string>) => {};
  const text = new Promise<string>((resolve) => {
    read = resolve;
  });
  const acquire: RenderDeps['pool']['acquire'] = async (...given) => {
    const lease = await pool.acquire(...given);
    const release = async () => {
      const expression = 'document.documentElement.innerText';
      const asked = lease.session.cdp
        .send('Runtime.evaluate', { expression })
        .then(({ result }) => String(result.value));
      read(asked);
      await asked.catch(() => undefined);
      await lease.release();
    };
    return { ...lease, release };
  };
  return { pool: { acquire, acquireAlone: pool.acquireAlone.bind(pool) }, text };
}

async function startMachine({
  allow = ['127.0.0.1', '127.0.0.2'],
  executable = ANY_BROWSER,
  clock = true,
  framesOnDemand = false,
}: RigMachine) {
  const log = silentLog();
  const runDir = await mkdtemp(join(tmpdir(), 'capture-rig-'));
  const egress = await openEgress({
    allowDestinations: allow,
    dnsServers: ['127.0.0.1:1'],
    maxBytesPerCapture: 50_000_000,
    log,
  });
  const pool = await BrowserPool.start({
    executable,
    clock,
    egress,
    ...(framesOnDemand && executable.drawsOnDemand === true
      ? { browsers: PAGES, pagesPerBrowser: 1 }
      : { browsers: 1, pagesPerBrowser: PAGES }),
    framesOnDemand,
    runDir,
    sandbox: true,
    log,
  });
  return {
    pool,
    async stop() {
      await pool[Symbol.asyncDispose]();
      await egress[Symbol.asyncDispose]();
      await rm(runDir, { recursive: true, force: true });
    },
  };
}
