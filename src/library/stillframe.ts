/**
 * The library: `import { capture, openStillframe } from 'stillframe'`. It captures in the caller's own process, with the API's fields,
 * limits, destinations and errors. Importing it starts nothing; everything else is loaded when it is opened.
 */
import type { CaptureHtmlRequest, CaptureUrlRequest } from '../client/call-options.js';
// The client's types are used here, since those inferred from the contract's schemas need zod where they are used.
import type { CaptureData } from '../client/wire.js';
import type { Config } from '../config.js';
import { CaptureError, type ErrorCode, type ErrorDetails } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { ConfigError } from '../contract/config-error.js';
import type { EngineCapture } from './engine.js';
import type { StillframeOptions } from './library-config.js';

/** The body of `POST /v1/screenshot` without `webhook` and `upload`, which need a server. `sync`, `cache_ttl` and `store` have no effect here. */
export type CaptureRequest =
  | Omit<CaptureUrlRequest, 'webhook' | 'upload'>
  | Omit<CaptureHtmlRequest, 'webhook' | 'upload'>;

/** The API's CaptureData, with the picture itself in `bytes`. */
export interface Picture extends Omit<CaptureData, 'bytes' | 'cdn_url' | 'data_url' | 'html_url' | 'captures'> {
  /** The encoded picture or PDF. */
  bytes: Uint8Array;
  /** Its media type, such as `image/webp`. */
  contentType: string;
  /** All pictures, the first included, if the request has `captures`, `viewports` or `color_schemes`. */
  captures?: NamedPicture[];
  /** The HTML of the document, as UTF-8, with `save_html`. */
  html?: Uint8Array;
}

/** One of several pictures of a capture. */
export interface NamedPicture extends Omit<NonNullable<CaptureData['captures']>[number], 'bytes' | 'cdn_url'> {
  /** The encoded picture or PDF. */
  bytes: Uint8Array;
  /** Its media type. */
  contentType: string;
}

/** Options for the run of one capture. */
export interface CaptureRun {
  /** Ends the capture, which rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called with the progress, 0 to 100, by stage. */
  onProgress?: ((progress: number) => void) | undefined;
}

/** A running engine: a browser that stays warm until it is closed. */
export interface Stillframe extends AsyncDisposable {
  /**
   * Captures one page; captures over `concurrency` wait for their turn.
   * @throws CaptureError with `code`, `message`, `retriable` and `details` as in the API
   */
  capture(request: CaptureRequest, run?: CaptureRun): Promise<Picture>;
  /** Ends running captures, and stops the browser, as leaving the block of an `await using` does. */
  close(): Promise<void>;
}

export type { ErrorCode, ErrorDetails, StillframeOptions };
export { CaptureError, ConfigError };

/**
 * Finds or installs a browser, and starts it. Close it, or declare it with `await using`.
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
  const print = (line: string) => log.warn(line);
  const engine = await Engine.open(config, { allowDestinations: config.allowDestinations, log, print });
  const close = () => engine[Symbol.asyncDispose]();
  return {
    capture: async (request, run = {}) => picture(await engine.capture(await readOptions(request, config), run)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Makes one capture with its own browser, which is stopped afterwards. For more than one, openStillframe is faster.
 * @throws as openStillframe and its `capture`
 */
export async function capture(request: CaptureRequest, options: StillframeOptions & CaptureRun = {}): Promise<Picture> {
  const { signal, onProgress, ...settings } = options;
  signal?.throwIfAborted();
  // This rejects an invalid request before a browser is started for it.
  await readOptions(request, { tolerate: [], allowInsecureTls: true });
  await using stillframe = await openStillframe({ concurrency: 1, ...settings });
  return await stillframe.capture(request, { signal, onProgress });
}

async function readOptions(
  request: CaptureRequest,
  config: Pick<Config, 'tolerate' | 'allowInsecureTls'>,
): Promise<CaptureOptions> {
  const { readCapture } = await import('./read-capture.js');
  return readCapture(request, { tolerate: config.tolerate, allowInsecureTls: config.allowInsecureTls });
}

async function picture({ content, contents, html, data }: EngineCapture): Promise<Picture> {
  const [{ contentTypeOf }, { toWireCaptureData }] = await Promise.all([
    import('../contract/capture-data.js'),
    import('../contract/capture-data.js'),
  ]);
  const { cdn_url: _none, html_url: _nowhere, captures, ...facts } = toWireCaptureData({ ...data, artifact: '' }, '');
  const named = captures?.map((one, index) => ({
    ...one,
    bytes: contents[index] ?? content,
    contentType: contentTypeOf(one.format),
  }));
  return {
    ...facts,
    bytes: content,
    contentType: contentTypeOf(data.format),
    ...(named === undefined ? {} : { captures: named }),
    ...(html === null ? {} : { html }),
  };
}
