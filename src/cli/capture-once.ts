import type { Config } from '../config.js';
import { CaptureError } from '../contract/capture-error.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { CAPTURE_GRACE_MS } from '../contract/limits.js';
import { openEgress } from '../egress/open-egress.js';
import type { Log } from '../log.js';
import type { Rendering } from '../render/render.js';
import { Renderer } from '../service/renderer.js';
import { makeDirectory } from '../store/sqlite/make-directory.js';

export interface OnceParts {
  /** Refuse private destinations, as the server does. */
  publicOnly: boolean;
  /** `host:port` of the local page's server, which is always allowed. */
  ownHost?: string;
  log: Log;
  say(line: string): void;
  /** 0–100. */
  onProgress?(progress: number): void;
}

/** Any destination: the capture runs for the machine's own user. */
const EVERYWHERE = ['*'];

/** One capture with its own browser and proxy, which are stopped afterwards. @throws CaptureError */
export async function captureOnce(config: Config, options: CaptureOptions, parts: OnceParts): Promise<Rendering> {
  makeDirectory(config.dataDir);
  const ownHost = parts.ownHost === undefined ? [] : [parts.ownHost];
  await using egress = await openEgress({
    allowDestinations: parts.publicOnly ? [...config.allowDestinations, ...ownHost] : EVERYWHERE,
    denyDestinations: config.denyDestinations,
    dnsServers: config.dnsServers,
    maxBytesPerCapture: config.captureMaxMb * 1_000_000,
    log: parts.log,
  });
  const alone: Config = { ...config, concurrency: 1, browsers: 1 };
  await using renderer = await Renderer.start(alone, { egress, log: parts.log, say: parts.say, browserDir: config.dataDir });
  const order = { id: 'capture', options, onProgress: parts.onProgress ?? (() => undefined) };
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(overBudget(options)), options.timeout + options.delay + CAPTURE_GRACE_MS);
  try {
    return await renderer.render(order, limit.signal);
  } finally {
    clearTimeout(timer);
  }
}

function overBudget({ timeout, delay }: CaptureOptions): CaptureError {
  return new CaptureError({
    code: 'render_timeout',
    message: `The capture exceeded its time limit (timeout ${timeout} ms, delay ${delay} ms) and was stopped.`,
  });
}
