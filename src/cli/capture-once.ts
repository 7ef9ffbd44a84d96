import type { Config } from '../config.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import type { Log } from '../log.js';
import type { Rendering } from '../render/render.js';
import { CaptureEngine } from './capture-engine.js';

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
  const ownHost = parts.ownHost === undefined ? [] : [parts.ownHost];
  const alone: Config = { ...config, concurrency: 1, browsers: 1 };
  const allowDestinations = parts.publicOnly ? [...config.allowDestinations, ...ownHost] : EVERYWHERE;
  await using engine = await CaptureEngine.open(alone, { allowDestinations, log: parts.log, say: parts.say });
  return await engine.capture({ id: 'capture', options, onProgress: parts.onProgress ?? (() => undefined) });
}
