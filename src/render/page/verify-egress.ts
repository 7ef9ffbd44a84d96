import { CaptureError } from '../../contract/capture-error.js';
import type { CaptureOptions } from '../../contract/capture-request.js';
import { REGIONS } from '../../contract/regions.js';
import type { CaptureProxy } from '../../egress/egress.js';
import type { CountryObserver } from '../../egress/observe-country.js';
import type { Deadlines } from './deadline.js';

/** Left of the budget when the check is given up: the capture then ends for what kept it waiting. */
const SPARE_MS = 200;

/** Tells the country that a way out leads to: the observer of egress/. */
export type EgressCountries = Pick<CountryObserver, 'observe'>;

/**
 * Checks that the capture leaves from the region's country (decisions.md, Capture semantics), before the target is asked for anything.
 *
 * @returns the country observed, null when none was asked for
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
