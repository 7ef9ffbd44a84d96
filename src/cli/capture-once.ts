import type { Config } from '../config.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import { CAPTURE_GRACE_MS } from '../contract/limits.js';
import { openEgress } from '../egress/open-egress.js';
import type { Log } from '../log.js';
import type { Rendering } from '../render/render.js';
import { Renderer } from '../renderer.js';
import { makeDirectory } from '../store/sqlite/make-directory.js';

export interface OnceParts {
  /** Refuse private destinations, as the server does. */
  publicOnly: boolean;
  log: Log;
  say(line: string): void;
}

/** All that a machine can reach, by any name: its owner asked. */
const EVERYWHERE = ['*'];

/** One capture with parts of its own, which end with it. @throws CaptureError */
export async function captureOnce(config: Config, options: CaptureOptions, parts: OnceParts): Promise<Rendering> {
  makeDirectory(config.dataDir);
  await using egress = await openEgress({
    allowDestinations: parts.publicOnly ? config.allowDestinations : EVERYWHERE,
    dnsServers: config.dnsServers,
    maxBytesPerCapture: config.captureMaxMb * 1_000_000,
    log: parts.log,
  });
  const alone: Config = { ...config, concurrency: 1, browsers: 1 };
  await using renderer = await Renderer.start(alone, { egress, log: parts.log, say: parts.say, browserDir: config.dataDir });
  const order = { id: 'capture', options, onProgress: () => undefined };
  return await renderer.render(order, AbortSignal.timeout(options.timeout + options.delay + CAPTURE_GRACE_MS));
}
