import { LRUCache } from 'lru-cache';
import { CaptureError } from '../contract/capture-error.js';
import { isObject } from '../contract/field-rules.js';
import type { Log } from '../log.js';
import type { CallerProxy, CaptureProxy, Egress } from './egress.js';

/** decisions.md, Capture semantics, region: cached for 10 minutes per route. */
const KEPT_MS = 10 * 60_000;
const KEPT_WAYS = 1_000;
const TIMEOUT_MS = 10_000;
const ANSWER_LIMIT_BYTES = 64 * 1024;

export interface CountryObserverOptions {
  egress: Pick<Egress, 'fetch'>;
  /** Returns `loc=XX` lines, or JSON with `country`. */
  url: string;
  log: Log;
  now?: () => number;
}

export interface Observation {
  captureProxy: CaptureProxy;
  /** The same as for the proxy's `begin`. */
  proxy: CallerProxy | null;
  /** The caller's time limit; the check has its own in addition. */
  timeoutMs: number;
  signal: AbortSignal | null;
}

/** Determines the egress country of a capture, by a request through its proxy. */
export class CountryObserver {
  readonly #options: CountryObserverOptions;
  /** Countries by route. */
  readonly #known: LRUCache<string, string>;

  constructor(options: CountryObserverOptions) {
    this.#options = options;
    const { now = Date.now } = options;
    this.#known = new LRUCache({ max: KEPT_WAYS, ttl: KEPT_MS, ttlResolution: 0, perf: { now } });
  }

  /**
   * @returns two upper-case letters (ISO 3166-1)
   * @throws CaptureError `egress_unavailable`; the signal's reason
   */
  async observe({ captureProxy, proxy, timeoutMs, signal }: Observation): Promise<string> {
    const way = wayOf(proxy);
    const known = this.#known.get(way);
    if (known !== undefined) return known;
    try {
      const country = await this.#ask({ captureProxy, timeoutMs, signal });
      this.#known.set(way, country);
      return country;
    } catch (error) {
      signal?.throwIfAborted();
      this.#options.log.warn(
        { err: error, proxy: proxy?.server ?? null },
        'the egress country could not be determined',
      );
      throw new CaptureError({
        code: 'egress_unavailable',
        message:
          captureProxy.proxyFailure === null
            ? 'The egress country could not be determined. Try again, or send `verify_egress: false`.'
            : 'The proxy could not be used. Check `proxy.server`, `proxy.username` and `proxy.password`.',
        cause: error,
      });
    }
  }

  async #ask({ captureProxy, timeoutMs, signal }: Omit<Observation, 'proxy'>): Promise<string> {
    const { egress, url } = this.#options;
    const answer = await egress.fetch({
      url,
      method: 'GET',
      headers: { accept: 'application/json, text/plain;q=0.9, */*;q=0.1' },
      body: null,
      timeoutMs: Math.min(timeoutMs, TIMEOUT_MS),
      maxBytes: ANSWER_LIMIT_BYTES,
      via: captureProxy,
      allowedOrigins: [new URL(url).origin],
      signal,
    });
    if (answer.status !== 200) throw new Error(`the egress check answered ${answer.status}`);
    const country = readCountry(Buffer.from(answer.body).toString('utf8').trim());
    if (country === null) throw new Error('the egress check returned no country');
    return country;
  }
}

/** The cache key of a route. Proxy providers choose the exit by user name, and bypassed hosts take another route. */
function wayOf(proxy: CallerProxy | null): string {
  return proxy === null ? 'direct' : JSON.stringify([proxy.server, proxy.username, proxy.bypass]);
}

function readCountry(text: string): string | null {
  if (!text.startsWith('{')) return toCountry(/^loc=(\S+)\s*$/m.exec(text)?.[1]);
  const { country, country_code, countryCode, loc } = JSON.parse(text) as Record<string, unknown>;
  const nested = isObject(country) ? country : {};
  const codes = [country, nested.iso_code, nested.code, country_code, countryCode, loc].map(toCountry);
  return codes.find((code) => code !== null) ?? null;
}

/** `XX` means unknown. */
function toCountry(value: unknown): string | null {
  if (typeof value !== 'string' || !/^[a-z]{2}$/i.test(value) || /^xx$/i.test(value)) return null;
  return value.toUpperCase();
}
