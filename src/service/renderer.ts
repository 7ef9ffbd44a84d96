/** Creates and connects everything that rendering needs: browsers, blocker, Markdown, countries. The service and single captures use it. */
import { availableParallelism } from 'node:os';
import type { Config } from '../config.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import type { Egress } from '../egress/egress.js';
import { CountryObserver } from '../egress/observe-country.js';
import type { Log } from '../log.js';
import { builtFile } from '../package-files.js';
import { PdfFiles } from '../pdf/pdf-files.js';
import type { RenderDeps } from '../render/capture.js';
import type { Blocker } from '../render/guard/blocker.js';
import { inspect, MarkdownWorker } from '../render/inspect/inspect.js';
import { findChromium } from '../render/install/find-chromium.js';
import { fontsDirOf } from '../render/launch/font-folder.js';
import { EncodeQueue, MemoryBudget } from '../render/memory.js';

import { BrowserPool } from '../render/pool/browser-pool.js';

export interface RendererDeps {
  egress: Egress;
  log: Log;
  print(line: string): void;
  /** The directory in which a browser is searched for and installed. */
  browserDir: string;
  /** Cancels the start. */
  signal?: AbortSignal;
  /** The only capture that will be made. Default: there are more. */
  only?: CaptureOptions | undefined;
}

/** With frames on demand, each concurrent capture has a Chromium process of its own, if there are not more than this per core. */
const OWN_BROWSERS_PER_CORE_MAX = 4;
/** Concurrent captures per Chromium process that draws by itself; more would wait for each other inside it. */
const PAGES_PER_BROWSER = 2;

/** Memory that the server and each of its browsers use without captures. */
const SERVER_BYTES = 250_000_000;
const BROWSER_BYTES = 150_000_000;
const ONE_PAGE_BROWSER_BYTES = 100_000_000;

export class Renderer implements AsyncDisposable {
  private constructor(
    private readonly parts: { pool: BrowserPool; blocker: Blocker; markdown: MarkdownWorker },
    /** For `capture` of render/capture.ts, which is loaded while the browser starts. */
    readonly deps: RenderDeps,
  ) {}

  /** Finds or installs a browser, and starts it. @throws BrowserError if none is available */
  static async start(config: Config, parts: RendererDeps): Promise<Renderer> {
    const { egress, log } = parts;
    const executable = await provideChromium(config, parts);
    const mayOwnBrowser = config.concurrency <= OWN_BROWSERS_PER_CORE_MAX * availableParallelism();
    const framesOnDemand = config.frames && config.clock && executable.drawsOnDemand === true && mayOwnBrowser;
    const shared = Math.min(Math.ceil(config.concurrency / PAGES_PER_BROWSER), 2 * availableParallelism());
    const browsers = framesOnDemand ? config.concurrency : shared;
    const memoryBytes = config.memoryMb * 1_000_000;
    const [pool, blocker] = await Promise.all([
      BrowserPool.start({
        executable,
        egress,
        browsers,
        pagesPerBrowser: Math.ceil(config.concurrency / browsers),
        runDir: config.dataDir,
        fontsDir: fontsDirOf(config.dataDir),
        sandbox: config.sandbox,
        clock: config.clock,
        framesOnDemand,
        memoryBytes,
        only: parts.only,
        log,
        signal: parts.signal,
      }),
      startBlocker(config, egress, log),
      import('../render/capture.js'),
    ]);
    const countries = new CountryObserver({ egress, url: config.egressCheckUrl, log });
    const markdown = new MarkdownWorker({ thread: builtFile('markdown-thread.js') });
    const deps: RenderDeps = {
      pool,
      blocker,
      countries,
      memory: new MemoryBudget(
        memoryBytes - SERVER_BYTES - browsers * (framesOnDemand ? ONE_PAGE_BROWSER_BYTES : BROWSER_BYTES),
      ),
      encodes: new EncodeQueue(builtFile('picture-thread.js')),
      pdfs: new PdfFiles(builtFile('pdf-thread.js')),
      drawing: { thread: builtFile('pdf-pages-thread.js'), wasm: builtFile('pdfium.wasm') },
      animations: new EncodeQueue(builtFile('picture-thread.js')),
      ffmpeg: config.ffmpeg,
      inspect: (session, options) => inspect(session, { ...options, worker: markdown }),
      toMarkdown: (source, timeoutMs) => markdown.convert(source, timeoutMs),
      log,
    };
    return new Renderer({ pool, blocker, markdown }, deps);
  }

  /** Waits for a share of the memory of captures, which is returned on disposal. @param signal ends the wait with its reason */
  reserveMemory(bytes: number, signal: AbortSignal): Promise<Disposable> {
    return this.deps.memory.reserve(bytes, signal);
  }

  /** Number of browsers that have responded within the last 30 s. */
  readyBrowsers(): number {
    return this.parts.pool.readyBrowsers();
  }

  /** Whether renderers run in Chromium's sandbox, as reported by the kernel. */
  get sandboxed(): boolean {
    return this.parts.pool.sandboxed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pool, blocker, markdown } = this.parts;
    await Promise.allSettled([
      pool[Symbol.asyncDispose](),
      blocker[Symbol.asyncDispose](),
      markdown[Symbol.asyncDispose](),
    ]);
  }
}

/** The blocker by itself, also for the `lists` command. */
export async function startBlocker(config: Config, egress: Egress, log: Log): Promise<Blocker> {
  const { Blocker } = await import('../render/guard/blocker.js');
  const { dataDir, lists: enabled } = config;
  return await Blocker.start({ dataDir, built: builtFile('block/'), lists: { enabled }, egress, log });
}

async function provideChromium(config: Config, parts: RendererDeps) {
  const proof = { dataDir: parts.browserDir, sandbox: config.sandbox, signal: parts.signal };
  const found = await findChromium({ ...proof, chromium: config.chromium });
  if (found !== null) return found;
  if (!config.browserInstall) {
    throw new BrowserMissing(
      'No Chromium was found, and --no-browser-install prevents its installation. Install it with: stillframe browser install',
    );
  }
  const { installChromium } = await import('../render/install/install-chromium.js');
  return await installChromium({ ...proof, print: parts.print });
}

/** No browser was found, and the settings forbid its installation. */
class BrowserMissing extends Error {
  override readonly name = 'BrowserError';
}
