import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { REGIONS } from '../../contract/regions.js';
import type { CaptureProxy } from '../../egress/egress.js';
import type { CountryObserver } from '../../egress/observe-country.js';
import type { Deadlines } from './deadline.js';

/** The part of the budget left when the check times out, so that the capture fails with its own error. */
const SPARE_MS = 200;

/** Determines the egress country of a proxy (implemented in egress/). */
export type EgressCountries = Pick<CountryObserver, 'observe'>;

/**
 * Checks, before any request to the target, that the egress country is that of the region (decisions.md, Capture semantics).
 * @returns the observed country; null if no check was requested
 * @throws CaptureError egress_mismatch, egress_unavailable
 */
export async function verifyEgress(
  countries: EgressCountries,
  {
    captureProxy,
    options,
    deadlines,
  }: { captureProxy: CaptureProxy; options: Pick<CaptureOptions, 'region' | 'verifyEgress' | 'proxy'>; deadlines: Deadlines },
): Promise<string | null> {
  if (options.region === null || !options.verifyEgress) return null;
  const expected = REGIONS[options.region].country;
  const timeoutMs = Math.max(1, deadlines.leftMs() - SPARE_MS);
  const observed = await countries.observe({ captureProxy, proxy: options.proxy, timeoutMs, signal: deadlines.signal });
  if (observed === expected) return observed;
  throw new CaptureError({
    code: 'egress_mismatch',
    message: `\`region: ${options.region}\` expects an egress address in ${expected}, but it is in ${observed}. Use a \`proxy\` in that country, or \`verify_egress: false\`.`,
    details: { expected, observed },
  });
}
