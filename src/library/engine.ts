/**
 * Captures without a server: a browser that stays warm, the egress policy and the rules of the API, in the caller's process. The library
 * and the commands `capture` and `multi` use it. Knows no store, accounts or HTTP.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { forcedEnd, RETRY_DELAY_MS, shouldRetry, toCaptureData } from '../capture/attempt.js';
import { refuseBlockedDestinations } from '../capture/check-destinations.js';
import type { Config } from '../config.js';
import type { CaptureData } from '../contract/capture-data.js';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { ATTEMPT_BUDGET } from '../contract/limits.js';
import type { Egress, LocalPageRules } from '../egress/egress.js';
import { openEgress } from '../egress/open-egress.js';
import type { Log } from '../log.js';
import type { Rendering } from '../render/capture.js';
import type { DebugSink } from '../render/page-session.js';
import { Renderer } from '../service/renderer.js';
import { makeDirectory } from '../store/sqlite/data-directory.js';
import { Slots } from '../work/loop.js';

export interface EngineDeps {
  /** Private destinations that captures may reach, as in STILLFRAME_ALLOW_DESTINATIONS; `*` for all. */
  allowDestinations: string[];
  log: Log;
  /** Prints the progress of a browser's installation. */
  print(line: string): void;
  /** Cancels the start. */
  signal?: AbortSignal;
  /** The only capture that will be made, for which the browser is made ready. Default: there are more. */
  only?: CaptureOptions;
}

export interface RunOptions {
  /** Ends the capture, or its wait for a free slot; the call rejects with its reason. */
  signal?: AbortSignal | undefined;
  /** Called with the progress, 0–100, by stage. */
  onProgress?: ((progress: number) => void) | undefined;
  /** Access to a page of the machine's own user. */
  local?: LocalPageRules | undefined;
  /** Receives a record of each step. */
  debug?: DebugSink | undefined;
}

export interface EngineCapture {
  content: Uint8Array;
  /** The pictures of `data.captures`, in their order; none if the request asks for one. */
  contents: Uint8Array[];
  /** The document's HTML; null without `save_html`. */
  html: Uint8Array | null;
  data: Omit<CaptureData, 'artifact'>;
}

export class Engine implements AsyncDisposable {
  readonly #egress: Egress;
  readonly #renderer: Renderer;
  readonly #slots: Slots;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;
  #captures = 0;

  private constructor(egress: Egress, renderer: Renderer, concurrency: number) {
    this.#egress = egress;
    this.#renderer = renderer;
    this.#slots = new Slots(concurrency);
  }

  /**
   * Finds or installs a browser, and starts it.
   * @throws ConfigError for a setting, BrowserError if there is no browser
   */
  static async open(config: Config, { allowDestinations, log, print, signal, only }: EngineDeps): Promise<Engine> {
    // This validates settings, so that an invalid one stops the start before anything is created.
    const egress = await openEgress({ ...config, allowDestinations, log });
    try {
      makeDirectory(config.dataDir);
      const parts = {
        egress,
        log,
        print,
        browserDir: config.dataDir,
        only,
        ...(signal === undefined ? {} : { signal }),
      };
      return new Engine(egress, await Renderer.start(config, parts), config.concurrency);
    } catch (error) {
      await egress[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Makes one capture when there is a free slot, with a second attempt where the server makes one.
   * @throws CaptureError with any code of a capture; `internal_error` (503) after the end
   */
  async capture(
    options: CaptureOptions,
    { signal, onProgress, local, debug }: RunOptions = {},
  ): Promise<EngineCapture> {
    // Each capture has its own signal, since many listeners on one signal would be reported as a leak.
    const ends = AbortSignal.any([this.#closing.signal, ...(signal === undefined ? [] : [signal])]);
    ends.throwIfAborted();
    refuseBlockedDestinations(this.#egress, options, {});
    const task = {
      id: `capture-${++this.#captures}`,
      options,
      local,
      debug,
      onProgress: onProgress ?? (() => undefined),
    };
    return await this.#slots.run(() => this.#attempts(task, ends), ends);
  }

  /** Ends running captures, and stops the browser. May be called twice. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #attempts(task: EngineTask, ends: AbortSignal): Promise<EngineCapture> {
    const began = performance.now();
    for (let attempt = 1; ; attempt++) {
      const leftMs = attempt === 1 ? task.options.timeout : leftOf(task.options, began);
      try {
        const rendering = await this.#render({ ...task, options: { ...task.options, timeout: leftMs } }, ends);
        const { artifact: _none, ...data } = toCaptureData(rendering, {
          options: task.options,
          artifact: '',
          durationMs: Math.round(performance.now() - began),
        });
        const { content, captures, html = null } = rendering;
        return { content, contents: (captures ?? []).map((one) => one.content), html, data };
      } catch (error) {
        const next = leftOf(task.options, began) - RETRY_DELAY_MS;
        if (ends.aborted || attempt >= ATTEMPT_BUDGET || !shouldRetry(error, next)) throw error;
        await pause(RETRY_DELAY_MS, undefined, { signal: ends }).catch(() => ends.throwIfAborted());
      }
    }
  }

  async #render(task: EngineTask, ends: AbortSignal): Promise<Rendering> {
    using limit = forcedEnd(task.options);
    const { capture } = await import('../render/capture.js');
    const signal = AbortSignal.any([limit.signal, ends]);
    return await capture(this.#renderer.deps, { ...task, onBegin: limit.begin }, signal);
  }

  async #close(): Promise<void> {
    this.#closing.abort(
      new CaptureError({ code: 'internal_error', status: 503, message: 'stillframe has been closed.' }),
    );
    await this.#renderer[Symbol.asyncDispose]();
    await this.#egress[Symbol.asyncDispose]();
  }
}

interface EngineTask {
  id: string;
  options: CaptureOptions;
  local: LocalPageRules | undefined;
  debug: DebugSink | undefined;
  onProgress(progress: number): void;
}

/** Returns the part of the timeout that is left for a second attempt, in whole ms. */
function leftOf({ timeout }: CaptureOptions, began: number): number {
  return Math.floor(timeout - (performance.now() - began));
}
