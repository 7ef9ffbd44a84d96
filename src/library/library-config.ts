import { type Config, type ConfigFlags, readConfig } from '../config.js';
import { ConfigError } from '../contract/config-error.js';
import type { ToleratedCode } from '../contract/request-fields.js';

/**
 * Settings of the library. Those left out are read as by the command: STILLFRAME_* variables, then `stillframe.config.json`, then defaults.
 */
export interface StillframeOptions {
  /** Directory of downloaded browsers and filter lists. Default: `~/.stillframe`. */
  dataDir?: string | undefined;
  /** Path of the browser. Default: the best one that is found. */
  chromium?: string | undefined;
  /** Whether to install a browser if none is found. Default: true. */
  browserInstall?: boolean | undefined;
  /** Whether to run the browser in its sandbox; with `required`, it does not start without it. Default: true. */
  sandbox?: boolean | 'required' | undefined;
  /** Number of concurrent captures; more wait for their turn. Default: 2 × cores. */
  concurrency?: number | undefined;
  /** Private destinations that captures may reach, each a CIDR, IP, host or host:port. Default: none, as on a server. */
  allowDestinations?: readonly string[] | undefined;
  /** Destinations that nothing may reach, even if public or allowed, in the same form. */
  denyDestinations?: readonly string[] | undefined;
  /** Whether captures may use `ignore_https_errors`. Default: false. */
  allowInsecureTls?: boolean | undefined;
  /** DNS servers, each `ip[:port]`. Default: the system's resolver. */
  dnsServers?: readonly string[] | undefined;
  /** URL that reports the egress country, for `region`. */
  egressCheckUrl?: string | undefined;
  /** Default of `tolerate` in requests. */
  tolerate?: readonly ToleratedCode[] | undefined;
  /** Whether to fetch the full filter lists in the background. Default: true. */
  lists?: boolean | undefined;
  /** Level of the log on stderr, in JSON lines; `silent` for none. Default: `warn`. */
  log?: string | undefined;
}

const NAMES = [
  'dataDir',
  'chromium',
  'browserInstall',
  'sandbox',
  'concurrency',
  'allowDestinations',
  'denyDestinations',
  'allowInsecureTls',
  'dnsServers',
  'egressCheckUrl',
  'tolerate',
  'lists',
  'log',
] as const satisfies readonly (keyof Config & keyof StillframeOptions)[];

/**
 * Reads the options.
 * @throws ConfigError that names the option and its valid values
 */
export function libraryConfig(options: StillframeOptions): Config {
  const flags: ConfigFlags = {};
  for (const [name, value] of Object.entries(options)) {
    const known = NAMES.find((each) => each === name);
    if (known === undefined)
      throw new ConfigError(`openStillframe has no option "${name}": its options are ${NAMES.join(', ')}.`);
    if (value !== undefined) flags[known] = asText(known, value);
  }
  return readConfig({ log: 'warn', logFormat: 'json', ...flags }, undefined, (name) => `the option ${name}`);
}

/** Converts an option to the text that settings are read from, where a list has commas. */
function asText(name: string, value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' && !item.includes(',')))
    return value.join(',');
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new ConfigError(`the option ${name} must be a text, a number, true or false, or an array of texts.`);
}
