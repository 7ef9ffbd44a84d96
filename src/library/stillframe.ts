/**
 * The library: `import { capture, openStillframe } from 'stillframe'`. Captures in the caller's own process, with the API's fields, limits,
 * destinations and errors. Importing it starts nothing; everything else is loaded when it is opened.
 */
import type { CaptureHtmlRequest, CaptureUrlRequest } from '../client/capture-request.js';
// The client's types of the contract, which are generated from it, since those inferred from its schemas need zod where they are used.
import type { CaptureData } from '../client/wire.js';
import { CaptureError, type ErrorCode, type ErrorDetails } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { ConfigError } from '../contract/config-error.js';
import type { ToleratedCode } from '../contract/request-fields.js';
import type { EngineCapture } from './engine.js';
import type { StillframeOptions } from './library-config.js';

/** The body of `POST /v1/screenshot` but `webhook`, which needs a server. `sync`, `cache_ttl` and `store` have no effect here. */
export type CaptureRequest = Omit<CaptureUrlRequest, 'webhook'> | Omit<CaptureHtmlRequest, 'webhook'>;

/** The API's CaptureData, with the picture itself in `bytes`. */
export interface Picture extends Omit<CaptureData, 'bytes' | 'cdn_url' | 'data_url'> {
  /** The encoded picture or PDF. */
  bytes: Uint8Array;
  /** Its media type, such as `image/webp`. */
  contentType: string;
}

/** How one capture is run. */
export interface CaptureRun {
  /** Ends the capture; its reason is what is thrown. */
  signal?: AbortSignal | undefined;
  /** Told the progress, 0 to 100, by stage. */
  onProgress?: ((progress: number) => void) | undefined;
}

/** A running engine: a browser that stays warm until the end. */
export interface Stillframe extends AsyncDisposable {
  /**
   * Captures one page; captures over `concurrency` wait for their turn.
   *
   * @throws CaptureError with `code`, `message`, `retriable` and `details` as in the API
   */
  capture(request: CaptureRequest, run?: CaptureRun): Promise<Picture>;
  /** Ends running captures, and stops the browser. The same as leaving the block of an `await using`. */
  close(): Promise<void>;
}

export type { ErrorCode, ErrorDetails, StillframeOptions };
export { CaptureError, ConfigError };

/**
 * Finds or installs a browser, and starts it. Close it, or declare it with `await using`.
 *
 * @throws ConfigError for an option, BrowserError if there is no browser
 */
export async function openStillframe(options: StillframeOptions = {}): Promise<Stillframe> {
  const [{ Engine }, { libraryConfig }, { createLog }] = await Promise.all([
    import('./engine.js'),
    import('./library-config.js'),
    import('../log.js'),
  ]);
  const config = libraryConfig(options);
  const log = createLog({ level: config.log, format: config.logFormat });
  const say = (line: string) => log.warn(line);
  const engine = await Engine.open(config, { allowDestinations: config.allowDestinations, log, say });
  const close = () => engine[Symbol.asyncDispose]();
  return {
    capture: async (request, how = {}) => picture(await engine.capture(await understand(request, config.tolerate), how)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * One capture with its own browser, which is stopped afterwards. For more than one, openStillframe is faster.
 *
 * @throws as openStillframe and its `capture`
 */
export async function capture(request: CaptureRequest, options: StillframeOptions & CaptureRun = {}): Promise<Picture> {
  const { signal, onProgress, ...settings } = options;
  signal?.throwIfAborted();
  // Before a browser is started for it.
  await understand(request, []);
  await using stillframe = await openStillframe({ concurrency: 1, ...settings });
  return await stillframe.capture(request, { signal, onProgress });
}

async function understand(request: CaptureRequest, tolerate: readonly ToleratedCode[]): Promise<CaptureOptions> {
  const { readCapture } = await import('./read-capture.js');
  return readCapture(request, tolerate);
}

async function picture({ content, data }: EngineCapture): Promise<Picture> {
  const [{ contentTypeOf }, { toWireCaptureData }] = await Promise.all([
    import('../contract/content-type.js'),
    import('../contract/capture-data.js'),
  ]);
  const { cdn_url: _none, ...facts } = toWireCaptureData({ ...data, artifact: '' }, '');
  return { ...facts, bytes: content, contentType: contentTypeOf(data.format) };
}
