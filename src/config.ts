/**
 * Every setting, as one schema (operation.md, Settings), from which docs/settings.md is written. A flag beats an environment variable, which
 * beats `stillframe.config.json` in the data directory, which beats the default. The only place that reads process.env.
 */

import { readFileSync } from 'node:fs';
import { isIP, isIPv6 } from 'node:net';
import { availableParallelism, homedir, totalmem } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isApiKey } from './contract/api-key.js';
import { COMPATIBLE_APIS } from './contract/compatible-apis.js';
import { ConfigError } from './contract/config-error.js';
import { isObject } from './contract/field-rules.js';
import { nearestName } from './contract/meant-field.js';
import { TOLERATED_CODES } from './contract/request-fields.js';
import { parseTracing, type TracingConfig } from './tracing-config.js';

/** The roles that servers can divide among themselves when they share a database. */
export const ROLES = ['api', 'capture', 'webhook'] as const;
export type Role = (typeof ROLES)[number];

const SECRET_KEY_BYTES = 32;

/** A value that is written as text. `what` ends the sentence "it must be …"; `read` returns undefined for a text that is not valid. */
function written<Value>(expected: string, read: (text: string) => Value | undefined) {
  return z.string().transform((text, context): Value => {
    const value = read(text);
    if (value === undefined) context.addIssue(expected);
    return value ?? z.NEVER;
  });
}

function listOf<Item>(expected: string, readItem: (item: string) => Item | undefined, least = 0) {
  return written(expected, (text) => {
    const items = splitAtCommas(text).map(readItem);
    const valid = items.filter((item) => item !== undefined);
    return valid.length === items.length && valid.length >= least ? valid : undefined;
  });
}

function whole(min: number, max: number) {
  return written(`a whole number from ${min} to ${max}`, (text) => {
    const number = Number(text);
    return /^\d+$/.test(text.trim()) && number >= min && number <= max ? number : undefined;
  });
}

function oneOf<const Value extends string>(values: readonly Value[]) {
  return written(`one of ${values.join(', ')}`, (text) => values.find((value) => value === text));
}

const text = z.string();
const perMinute = whole(0, 10_000_000);
const burst = whole(1, 10_000_000);
const path = written('a path', (text) =>
  text.trim() === '' ? undefined : resolve(text.startsWith('~/') ? join(homedir(), text.slice(2)) : text),
);
const hours = written('a number of hours from 0 to 1000000', (text) =>
  /^\d+(\.\d+)?$/.test(text.trim()) && Number(text) <= 1_000_000 ? Number(text) : undefined,
);
const onOff = written('true or false', readOnOff);
const webUrl = written('an http or https URL', readWebUrl);
const destinations = listOf('a comma-separated list', (item) => item);
/** The default port of the scheme may be written. */
const origins = listOf('a comma-separated list of origins, such as http://127.0.0.1:4000', (item) =>
  /^https?:\/\/[^/?#@\\]+\/?$/i.test(item) && URL.canParse(item) ? new URL(item).origin : undefined,
);
/** Without a port: whichever it is, the name is the same. */
const hostNames = listOf(
  'a comma-separated list of host names without scheme and port, such as stillframe,shots.internal',
  (item) => (/^[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9])?$/i.test(item) ? item.toLowerCase() : undefined),
);
const nameServers = listOf('a comma-separated list of ip[:port], such as 127.0.0.1:5353', (item) => {
  const [, host = item, port = '53'] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(item) ?? [];
  const isAddress = host.startsWith('[') ? isIPv6(host.slice(1, -1)) : isIP(host) !== 0;
  return isAddress && Number(port) >= 1 && Number(port) <= 65_535 ? item : undefined;
});
const milliseconds = listOf(
  'a comma-separated list of whole milliseconds, such as 5000,30000',
  (item) => (/^\d+$/.test(item) ? Number(item) : undefined),
  1,
);
const roles = listOf(`a comma-separated list of ${ROLES.join(', ')}`, (item) => ROLES.find((role) => role === item), 1);
const toleratedCodes = listOf(`a comma-separated list of ${TOLERATED_CODES.join(', ')}`, (item) =>
  TOLERATED_CODES.find((code) => code === item),
);
const compatibleApis = listOf(`a comma-separated list of ${COMPATIBLE_APIS.join(', ')}`, (item) =>
  COMPATIBLE_APIS.find((name) => name === item),
);
const smtpUrl = written('a URL such as smtps://user:password@smtp.example.com', (text) =>
  /^smtps?:\/\/[^/]/i.test(text) && URL.canParse(text) ? text : undefined,
);
const mailAddress = written('an e-mail address, alone or as Name <address>', (text) => {
  const [, address = text] = /^[^<>\r\n"]{0,100}<([^<>]{1,254})>$/.exec(text.trim()) ?? [];
  return z.email().safeParse(address.trim()).success ? text.trim() : undefined;
});
const apiKey = written('an API key, as `stillframe keys create` prints it', (text) =>
  isApiKey(text) ? text : undefined,
);
const postgresUrl = written('a URL such as postgres://user:password@host:5432/stillframe', (text) =>
  /^postgres(ql)?:\/\/[^/]/i.test(text) && URL.canParse(text) ? text : undefined,
);
/** Keys as base64 or hex, the newest first. */
export const secretKeys = listOf(
  '32 bytes as base64 or hex, such as from: openssl rand -base64 32',
  (item) => {
    const key = Buffer.from(item, /^[0-9a-f]{64}$/i.test(item) ? 'hex' : 'base64');
    return key.length === SECRET_KEY_BYTES ? key : undefined;
  },
  1,
);
/** May have a path; credentials are settings of their own. */
const endpoint = webUrl.refine(
  (url) => !/[?#]|^[^/]*\/\/[^/]*@/.test(url),
  'an http or https URL without credentials and query',
);
const bucket = z
  .string()
  .max(264)
  .regex(
    /^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9](\/[\w.-]+)*\/?$/i,
    'the name of a bucket, 3 to 63 letters, digits, dots and hyphens, alone or with a path, such as pictures/stillframe',
  );
function optional<Type extends z.ZodType>(type: Type) {
  return type.nullable().default(null);
}

const LOOPBACK_NOTE = 'Loopback means a request from this machine with a loopback `Host`, and not through a proxy.';

const SERVER = {
  host: text.default('127.0.0.1').meta({ argument: '<address>', help: 'listen address' }),
  port: whole(0, 65_535)
    .default(3000)
    .meta({ argument: '<number>', help: 'listen port; 0 picks a free one, which the ready line shows' }),
  dataDir: path.default(join(homedir(), '.stillframe')).meta({
    argument: '<dir>',
    help: 'directory of the database, the pictures and the key file',
    note: 'Its mode is 0700.',
    defaultText: '~/.stillframe',
  }),
  baseUrl: optional(webUrl).meta({
    argument: '<url>',
    help: 'public base URL; cdn_url and docs_url begin with it',
    defaultText: 'http://HOST:PORT',
  }),
  allowedHosts: hostNames.default([]).meta({
    argument: '<list>',
    help: 'comma-separated names by which clients reach this server, besides localhost, IP addresses and the host of the base URL, such as the name of its service in a compose file',
    note: 'Requests without a key of their own (`STILLFRAME_COMPATIBLE_APIS_KEY`) and those to the console are refused under any other name, which a visited page could have had resolved to this server.',
  }),
  console: oneOf(['loopback', 'on', 'off']).default('loopback').meta({
    argument: '<who>',
    help: 'who may open /console with a link of `stillframe console`: loopback (this machine only), on (anyone who has such a link) or off',
    note: LOOPBACK_NOTE,
  }),
  metricsToken: optional(text).meta({
    help: 'bearer token for /metrics',
    note: LOOPBACK_NOTE,
    defaultText: 'none: /metrics is served to loopback only',
  }),
};

const BROWSER = {
  chromium: optional(path).meta({ argument: '<path>', help: 'path of the browser', defaultText: 'detected' }),
  browserInstall: onOff.default(true).meta({ help: 'do not install a browser if none is found' }),
  sandbox: written('true, false or required', (text) => (text === 'required' ? ('required' as const) : readOnOff(text)))
    .default(true)
    .meta({
      help: 'run the browser without its sandbox; the variable may also be "required": do not start without it',
    }),
  clock: onOff.default(true).meta({
    help: 'leave the clocks of pages alone instead of running them ahead',
    note: 'The field `real_time` does the same for one capture.',
  }),
  frames: onOff.default(true).meta({
    help: 'let headless shell draw at its own pace instead of only when a frame is needed',
    note: 'Two concurrent captures then share a browser process, which takes less memory and more time. Full Chromium always does so.',
  }),
  ffmpeg: optional(path).meta({
    argument: '<path>',
    help: 'path of the ffmpeg that makes mp4 files for `animate`',
    defaultText: 'none: mp4 is refused',
  }),
  concurrency: whole(1, 256)
    .default(2 * availableParallelism())
    .meta({ argument: '<n>', help: 'concurrent captures', defaultText: '2 × cores' }),
  memoryMb: whole(256, 10_000_000).default(defaultMemoryMb()).meta({
    argument: '<n>',
    help: 'MB that the server and its browsers may use: captures wait for memory, and captures of pages that use too much are stopped',
    defaultText: "85 % of the container's limit, or 60 % of the machine's memory",
  }),
};

const CAPTURES = {
  keepSlots: whole(0, 255).default(0).meta({
    argument: '<n>',
    help: 'concurrent captures reserved for accounts with nothing running, while more than one account is active',
    note: 'An account is active for an hour after it has submitted.',
  }),
  syncWaitMs: whole(0, 120_000)
    .default(25_000)
    .meta({ argument: '<ms>', help: 'ms that a sync submission waits before it returns 202' }),
  maxQueue: whole(1, 1_000_000)
    .default(1_000)
    .meta({ argument: '<n>', help: 'number of waiting jobs at which submissions are rejected with 503' }),
  tolerate: toleratedCodes.default([]).meta({
    argument: '<list>',
    help: `comma-separated codes to tolerate in requests without \`tolerate\`: ${TOLERATED_CODES.join(', ')}`,
  }),
  proxyPassword: optional(text).meta({
    help: 'password for `stillframe capture` or `compare` with --proxy-username; API requests carry their own',
  }),
};

const DESTINATIONS = {
  allowDestinations: destinations.default([]).meta({
    argument: '<list>',
    help: 'comma-separated CIDR, IP, host or host:port: private or special-purpose addresses that captures may reach',
    note: 'Only captures whose own URL is one of them may reach them; proxies of captures may be among them.',
  }),
  allowInsecureTls: onOff.default(false).meta({
    help: 'let captures accept invalid TLS certificates with `ignore_https_errors`',
    note: 'Whoever is between the server and a page can then read and change what such a capture sends and gets.',
  }),
  denyDestinations: destinations.default([]).meta({
    argument: '<list>',
    help: 'comma-separated CIDR, IP, host or host:port that nothing may reach, even if public or allowed',
  }),
  dnsServers: nameServers.default([]).meta({
    argument: '<list>',
    help: 'comma-separated ip[:port] of the DNS servers that resolve all destinations',
    defaultText: 'the system resolver',
  }),
  egressCheckUrl: webUrl.default('https://www.cloudflare.com/cdn-cgi/trace').meta({
    argument: '<url>',
    help: 'URL that reports the egress country, as loc=XX lines or as JSON with country',
  }),
};

const WEBHOOKS = {
  webhookAllow: origins.default([]).meta({
    argument: '<list>',
    help: 'comma-separated origins that webhooks and uploads may be sent to besides public HTTPS on port 443',
  }),
  webhookAttempts: whole(1, 100)
    .default(5)
    .meta({ argument: '<n>', help: 'delivery attempts before a webhook delivery fails' }),
  webhookBackoffMs: milliseconds
    .default([5_000, 30_000, 120_000, 600_000])
    .meta({ argument: '<list>', help: 'comma-separated ms between delivery attempts' }),
  webhookTimeoutMs: whole(10, 120_000)
    .default(10_000)
    .meta({ argument: '<ms>', help: 'time limit of a delivery attempt in ms' }),
};

const WATCHES = {
  watchMinInterval: whole(60, 31_536_000)
    .default(60)
    .meta({ argument: '<s>', help: 'shortest time between two runs of a watch, in seconds' }),
  watchesMax: whole(0, 1_000_000).default(500).meta({ argument: '<n>', help: 'watches per account' }),
  smtpUrl: optional(smtpUrl).meta({
    help: 'SMTP server that sends the mail of watches, such as smtps://user:password@smtp.example.com',
    note: '`smtps:` is TLS from the start; with `smtp:`, TLS is used if the server offers it, and `?requireTLS=true` insists on it.',
    defaultText: 'none: watches send no mail',
  }),
  mailFrom: optional(mailAddress).meta({
    argument: '<address>',
    help: 'sender of this mail, such as "Watches <watches@example.com>"',
    defaultText: 'none: watches send no mail',
  }),
};

const RATE_LIMITS = {
  submitRate: perMinute.default(120).meta({ argument: '<n>', help: 'submissions per minute and key; 0 for no limit' }),
  submitBurst: burst.default(30).meta({ argument: '<n>', help: 'submissions per key in one burst' }),
  readRate: perMinute.default(600).meta({ argument: '<n>', help: 'read requests per minute and key; 0 for no limit' }),
  readBurst: burst.default(60).meta({ argument: '<n>', help: 'read requests per key in one burst' }),
};

const RETENTION = {
  artifactTtlH: hours.default(168).meta({ argument: '<hours>', help: 'hours that pictures are kept' }),
  jobTtlH: hours
    .default(720)
    .meta({ argument: '<hours>', help: 'hours that jobs, idempotency and delivery records are kept' }),
  maxStorageMb: whole(1, 1_000_000_000).default(10_240).meta({
    argument: '<n>',
    help: 'maximum MB of pictures and database; the account that uses the most loses its oldest pictures first',
  }),
};

const SEVERAL_SERVERS = {
  databaseUrl: optional(postgresUrl).meta({
    help: 'postgres:// URL of a database that several servers share',
    defaultText: 'none: a database in the data directory',
  }),
  secretKey: optional(secretKeys).meta({
    help: 'key of 32 bytes that encrypts stored secrets, as base64 or hex; to replace it, the new and the old key separated by a comma',
    defaultText: 'secret.key in the data directory',
  }),
  secretKeyFile: optional(path).meta({
    argument: '<file>',
    help: 'file with the key that encrypts stored secrets',
    defaultText: 'secret.key in the data directory',
  }),
  roles: roles
    .transform((items) => [...new Set(items)])
    .default([...ROLES])
    .meta({
      argument: '<list>',
      help: `comma-separated work of this server, of several that share a database: ${ROLES.join(', ')}`,
    }),
};

const BUCKET = {
  s3Endpoint: optional(endpoint).meta({
    argument: '<url>',
    help: 'S3-compatible storage that keeps the pictures, instead of the data directory',
    note: 'Endpoint, bucket, region, access key and secret are set together.',
  }),
  s3Bucket: optional(bucket).meta({
    argument: '<name>',
    help: 'bucket of the pictures, with the path that their keys begin with, such as pictures/stillframe',
    note: 'Give each installation a path of its own; without one, it is stillframe.',
  }),
  s3Region: optional(text).meta({
    argument: '<name>',
    help: 'region of the bucket; us-east-1 for most storages other than AWS',
  }),
  s3AccessKeyId: optional(text).meta({ help: 'access key of the bucket' }),
  s3SecretAccessKey: optional(text).meta({ help: 'its secret' }),
  s3VirtualHosted: onOff
    .default(false)
    .meta({ help: 'address the bucket as a subdomain of the endpoint, not as its first path segment' }),
  artifactLinks: oneOf(['serve', 'redirect']).default('serve').meta({
    argument: '<kind>',
    help: 'how cdn_url leads to a picture in a bucket: serve (through this server) or redirect (to a signed link to the bucket)',
    note: 'A signed link is valid for 5 minutes.',
  }),
};

const COMPATIBLE = {
  compatibleApis: compatibleApis
    .transform((items) => [...new Set(items)])
    .default([])
    .meta({
      argument: '<list>',
      help: `comma-separated services whose HTTP interface is served, too: ${COMPATIBLE_APIS.join(', ')}`,
      note: 'See the page "Coming from another tool". `STILLFRAME_DOORS` is its former name.',
    }),
  compatibleApisKey: optional(apiKey).meta({
    help: 'API key of the requests to these interfaces that have none',
    note: 'Whoever reaches the server can then capture with this key: its rate and the credits of its account are the limit. `STILLFRAME_DOOR_KEY` is its former name.',
    defaultText: 'none: such requests are refused',
  }),
  gotenbergUpstream: optional(webUrl).meta({
    argument: '<url>',
    help: 'URL of a Gotenberg to which its interface passes on what is not captured here, such as the conversion of office documents',
    note: 'Each such request that succeeds costs 3 credits.',
    defaultText: 'none: such requests are refused',
  }),
};

const FILTER_LISTS = {
  lists: onOff.default(true).meta({ help: 'do not fetch filter lists; use only the built-in rules' }),
};

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const LOGGING = {
  log: oneOf(LOG_LEVELS)
    .default('info')
    .meta({ argument: '<level>', help: `log level: ${LOG_LEVELS.join(', ')}` }),
  logFormat: oneOf(['json', 'pretty'])
    .default(process.stderr.isTTY ? 'pretty' : 'json')
    .meta({
      argument: '<format>',
      help: 'format of the log: pretty or json',
      defaultText: 'pretty on a terminal, else json',
    }),
};

/** Headings of `serve --help` and of docs/settings.md. */
const GROUPS = {
  Server: SERVER,
  Browser: BROWSER,
  Captures: CAPTURES,
  Destinations: DESTINATIONS,
  Webhooks: WEBHOOKS,
  Watches: WATCHES,
  'Rate limits': RATE_LIMITS,
  Retention: RETENTION,
  'Several servers': SEVERAL_SERVERS,
  'Pictures in a bucket': BUCKET,
  'Interfaces of other services': COMPATIBLE,
  'Filter lists': FILTER_LISTS,
  Logging: LOGGING,
};

const schema = z.object({
  ...SERVER,
  ...BROWSER,
  ...CAPTURES,
  ...DESTINATIONS,
  ...WEBHOOKS,
  ...WATCHES,
  ...RATE_LIMITS,
  ...RETENTION,
  ...SEVERAL_SERVERS,
  ...BUCKET,
  ...COMPATIBLE,
  ...FILTER_LISTS,
  ...LOGGING,
});

export type Config = z.output<typeof schema>;

export interface Setting {
  group: string;
  /** Without the STILLFRAME_ prefix. */
  env: string;
  /** Long flag of `serve`, null for settings that never come from flags (secrets). */
  flag: string | null;
  /** Empty for a switch. */
  argument: string;
  help: string;
  /** Whole sentences for docs/settings.md only; empty for most. */
  note: string;
  default: unknown;
  /** Shown instead of the default. */
  defaultText?: string;
}

/** In the order of `serve --help`. */
export const SETTINGS = Object.fromEntries(
  Object.entries(GROUPS).flatMap(([group, shape]) =>
    Object.entries(shape).map(([name, type]) => [name, settingOf(group, name, type)]),
  ),
) as Record<keyof Config, Setting>;

function settingOf(group: string, name: string, type: z.ZodDefault): Setting {
  const { argument = null, help, note = '', defaultText } = type.meta() as Partial<Setting> & { help: string };
  const { defaultValue } = type.def;
  const words = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const isSwitch = typeof defaultValue === 'boolean';
  return {
    group,
    env: words.replaceAll('-', '_').toUpperCase(),
    flag: argument === null && !isSwitch ? null : `--${defaultValue === true ? 'no-' : ''}${words}`,
    argument: argument ?? '',
    help,
    note,
    default: defaultValue,
    ...(defaultText === undefined ? {} : { defaultText }),
  };
}

export const CONFIG_FILE = 'stillframe.config.json';

export type ConfigFlags = Partial<Record<keyof Config, string>>;

/** The sources of settings. */
interface Sources {
  /** Texts of the flags that were given, by setting. */
  flags: ConfigFlags;
  env: NodeJS.ProcessEnv;
  /** The name of a flag in an error. */
  nameFlag(name: keyof Config): string;
}

/**
 * @param flags texts of the flags that were given, by setting
 * @param nameFlag how an error names one of them. Default: as on the command line
 * @throws ConfigError
 */
export function readConfig(
  flags: ConfigFlags,
  env: NodeJS.ProcessEnv = process.env,
  nameFlag: Sources['nameFlag'] = flagName,
): Config {
  const sources = { flags, env, nameFlag };
  const dataDir = readSetting('dataDir', sources, {}) as string;
  const file = readConfigFile(join(dataDir, CONFIG_FILE));
  const names = Object.keys(SETTINGS) as (keyof Config)[];
  return Object.fromEntries(names.map((name) => [name, readSetting(name, sources, file)])) as unknown as Config;
}

/** Variables of this name that the documentation uses for callers of the API. */
const CALLERS_VARIABLES = new Set(['STILLFRAME_KEY', 'STILLFRAME_URL']);
const PREFIX = 'STILLFRAME_';

/** The API key with which commands call a server; null if there is none. */
export function callersKey(env: NodeJS.ProcessEnv = process.env): string | null {
  return env.STILLFRAME_KEY || null;
}

const VARIABLE_MAX_CHARS = 60;

/** A sentence for each variable that looks like a setting and is none, such as a misspelt one. */
export function unknownSettings(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = Object.values(SETTINGS).map((setting) => setting.env);
  const former = Object.values(FORMER_NAMES);
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !CALLERS_VARIABLES.has(name))
    .map((name) => name.slice(PREFIX.length, PREFIX.length + VARIABLE_MAX_CHARS))
    .filter((name) => !known.includes(name) && !former.includes(name))
    .map((name) => {
      const near = nearestName(name, known);
      return `${PREFIX}${name} is not a setting, and has no effect.${near === null ? '' : ` Did you mean ${PREFIX}${near}?`}`;
    });
}

/** OpenTelemetry's own variables, which have neither flags nor entries in the file. null: no traces. @throws ConfigError */
export function readTracing(env: NodeJS.ProcessEnv = process.env): TracingConfig | null {
  return parseTracing(env);
}

/** Whether a program that is started here can open a window: always outside Linux, which has variables for it. */
export function hasDisplay(env: NodeJS.ProcessEnv = process.env): boolean {
  return (
    process.platform !== 'linux' ||
    [env.DISPLAY, env.WAYLAND_DISPLAY].some((display) => display !== undefined && display !== '')
  );
}

/** The way in which npm has started this process, or a process before it. */
export interface NpmStart {
  /** The command line that npm has given to its shell. */
  script: string;
  /** The package that `npx --package=` names. */
  package: string | null;
}

/** Returns null if npm has started no process before this one. */
export function npmStart(env: NodeJS.ProcessEnv = process.env): NpmStart | null {
  if (env.npm_lifecycle_script === undefined) return null;
  return { script: env.npm_lifecycle_script, package: env.npm_config_package || null };
}

/** The folders in which a shell looks for commands. */
export function searchPath(env: NodeJS.ProcessEnv = process.env): string[] {
  return (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
}

/** Whether GitHub runs this program, and reads workflow commands from what it prints. */
export function runsInGitHubAction(env: NodeJS.ProcessEnv = process.env): boolean {
  return env.GITHUB_ACTIONS === 'true';
}

/** Settings under the names that they had before. Both may be set if they agree. */
const FORMER_NAMES: Partial<Record<keyof Config, string>> = { compatibleApis: 'DOORS', compatibleApisKey: 'DOOR_KEY' };

/** Empty if the setting never had another name. */
function formerVariable(name: keyof Config): string {
  return name in FORMER_NAMES ? `${PREFIX}${FORMER_NAMES[name]}` : '';
}

function flagName(name: keyof Config): string {
  return SETTINGS[name].flag ?? `STILLFRAME_${SETTINGS[name].env}`;
}

function readSetting(name: keyof Config, { flags, env, nameFlag }: Sources, file: Record<string, unknown>): unknown {
  const setting = SETTINGS[name];
  const variable = `STILLFRAME_${setting.env}`;
  const flag = flags[name];
  if (flag !== undefined) return parseAs(name, flag, nameFlag(name));
  const fromEnv = [variable, formerVariable(name)].flatMap((one) =>
    env[one] ? [{ one, value: parseAs(name, env[one], one) }] : [],
  );
  const [first, second] = fromEnv;
  if (first !== undefined && second !== undefined && !isDeepStrictEqual(first.value, second.value)) {
    throw new ConfigError(`${second.one} is the former name of ${first.one}, and they differ: set ${first.one} only.`);
  }
  if (first !== undefined) return first.value;
  const fromFile = file[name];
  if (fromFile !== undefined && fromFile !== null) {
    const asText = Array.isArray(fromFile) ? fromFile.join(',') : String(fromFile);
    return parseAs(name, asText, `${name} in ${CONFIG_FILE}`);
  }
  return setting.default;
}

function parseAs(name: keyof Config, value: string, source: string): unknown {
  const { data, error } = schema.shape[name].safeParse(value);
  if (error === undefined) return data;
  const subject = SETTINGS[name].flag === null ? 'not valid' : `"${value}"`;
  throw new ConfigError(`${source} is ${subject}: it must be ${error.issues[0]?.message}.`);
}

function readConfigFile(file: string): Record<string, unknown> {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR')
      return {};
    throw new ConfigError(`${file} cannot be read: ${(error as Error).message}`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (error) {
    throw new ConfigError(`${file} is not valid JSON: ${(error as Error).message}`);
  }
  if (!isObject(parsed)) throw new ConfigError(`${file} must contain one JSON object.`);
  // `watches` is read by `stillframe watch apply`.
  const unknown = Object.keys(parsed).find((key) => !(key in SETTINGS) && key !== 'watches');
  if (unknown !== undefined)
    throw new ConfigError(
      `${file} has an unknown setting "${unknown}": it must be one of ${Object.keys(SETTINGS).join(', ')}.`,
    );
  return parsed;
}

/** The part that a container leaves to its file cache, and a machine to its other programs, is not counted. */
function defaultMemoryMb(): number {
  const machine = totalmem();
  // 0, or more than the machine has, if there is no limit.
  const limit = process.constrainedMemory();
  const bytes = limit > 0 && limit < machine ? 0.85 * limit : 0.6 * machine;
  return Math.max(256, Math.floor(bytes / 1_000_000));
}

function readOnOff(text: string): boolean | undefined {
  if (/^(1|true|on|yes)$/i.test(text)) return true;
  return /^(0|false|off|no)$/i.test(text) ? false : undefined;
}

function readWebUrl(text: string): string | undefined {
  return /^https?:\/\/[^/]/i.test(text) && URL.canParse(text) ? text.replace(/(?<!\/)\/+$/, '') : undefined;
}

function splitAtCommas(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
