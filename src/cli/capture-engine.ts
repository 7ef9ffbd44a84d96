import type { Config } from '../config.js';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { CAPTURE_GRACE_MS } from '../contract/limits.js';
import type { Egress } from '../egress/egress.js';
import { openEgress } from '../egress/open-egress.js';
import type { Log } from '../log.js';
import type { Rendering } from '../render/render.js';
import { Renderer } from '../service/renderer.js';
import { makeDirectory } from '../store/sqlite/make-directory.js';

export interface EngineParts {
  /** Private destinations that captures may reach; `*` for all. */
  allowDestinations: string[];
  log: Log;
  say(line: string): void;
  /** Ends the start, which may include the installation of a browser. */
  signal?: AbortSignal;
}

export interface EngineOrder {
  /** For the log. */
  id: string;
  options: CaptureOptions;
  /** 0–100. */
  onProgress(progress: number): void;
}

/** A browser and a proxy for the captures of a command, without jobs and a store. */
export class CaptureEngine implements AsyncDisposable {
  private constructor(
    readonly egress: Egress,
    private readonly renderer: Renderer,
  ) {}

  /** @throws BrowserError if there is no browser, and none can be installed */
  static async open(config: Config, { allowDestinations, log, say, signal }: EngineParts): Promise<CaptureEngine> {
    makeDirectory(config.dataDir);
    const egress = await openEgress({
      allowDestinations,
      denyDestinations: config.denyDestinations,
      dnsServers: config.dnsServers,
      maxBytesPerCapture: config.captureMaxMb * 1_000_000,
      log,
    });
    try {
      return new CaptureEngine(egress, await Renderer.start(config, { egress, log, say, browserDir: config.dataDir, signal }));
    } catch (error) {
      await egress[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** @throws CaptureError */
  async capture(order: EngineOrder): Promise<Rendering> {
    const { timeout, delay } = order.options;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(overBudget(order.options)), timeout + delay + CAPTURE_GRACE_MS);
    try {
      return await this.renderer.render(order, limit.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.renderer[Symbol.asyncDispose]();
    await this.egress[Symbol.asyncDispose]();
  }
}

function overBudget({ timeout, delay }: CaptureOptions): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `The capture exceeded its time limit (timeout ${timeout} ms, delay ${delay} ms) and was stopped.`,
  });
}
