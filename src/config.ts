/**
 * Every setting, as one table (operation.md, Settings). A flag beats an environment variable, which beats
 * `stillframe.config.json` in the data directory, which beats the default. The only place that reads process.env.
 */
import { readFileSync } from 'node:fs';
import { isIP, isIPv6 } from 'node:net';
import { availableParallelism, homedir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { TOLERATED_CODES, type ToleratedCode } from './contract/capture-extensions.js';
import { ConfigError } from './contract/config-error.js';
import { nearestName } from './contract/nearest-name.js';
import { parseTracing, type TracingConfig } from './tracing-config.js';

export interface Config {
  host: string;
  /** 0 picks a free one. */
  port: number;
  dataDir: string;
  /** Of PostgreSQL; null: a database in the data directory. */
  databaseUrl: string | null;
  /** Keys of 32 bytes, the first for what is stored from now on; null: a key file in the data directory. */
  secretKey: Buffer[] | null;
  /** A file with the text of `secretKey`, or with one key itself. */
  secretKeyFile: string | null;
  roles: Role[];
  /** Without a trailing slash; null: http://HOST:PORT with the actual port. */
  baseUrl: string | null;
  chromium: string | null;
  browserInstall: boolean;
  /** Whether pages get a clock that can be run ahead. */
  clock: boolean;
  /** `required`: do not start without the sandbox. */
  sandbox: boolean | 'required';
  concurrency: number;
  keepSlots: number;
  browsers: number | null;
  memoryMb: number;
  syncWaitMs: number;
  maxQueue: number;
  allowDestinations: string[];
  denyDestinations: string[];
  webhookAllow: string[];
  dnsServers: string[];
  egressCheckUrl: string;
  egressDatabase: string | null;
  captureMaxMb: number;
  /** Default of `tolerate`. */
  tolerate: ToleratedCode[];
  submitRate: number;
  submitBurst: number;
  linkRate: number;
  linkBurst: number;
  readRate: number;
  readBurst: number;
  webhookAttempts: number;
  webhookBackoffMs: number[];
  webhookTimeoutMs: number;
  artifactTtlH: number;
  jobTtlH: number;
  maxStorageMb: number;
  /** The bucket of the pictures; null, all of them: the data directory. */
  s3Endpoint: string | null;
  s3Bucket: string | null;
  s3Region: string | null;
  s3AccessKeyId: string | null;
  s3SecretAccessKey: string | null;
  /** Ends with a slash. */
  s3Prefix: string;
  s3VirtualHosted: boolean;
  artifactLinks: 'serve' | 'redirect';
  lists: boolean;
  /** URLs that replace those of the default lists, by switch. */
  listUrls: ListUrls | null;
  metricsToken: string | null;
  /** To whom the console is served: to this machine, to whoever can reach the server, or to nobody. */
  console: ConsoleAccess;
  proxyPassword: string | null;
  log: string;
  logFormat: 'json' | 'pretty';
}

/** What a server does, of several that share a database. */
export const ROLES = ['api', 'capture', 'webhook'] as const;
export type Role = (typeof ROLES)[number];

export const CONSOLE_ACCESS = ['loopback', 'on', 'off'] as const;
type ConsoleAccess = (typeof CONSOLE_ACCESS)[number];

const LIST_SWITCHES = ['ads', 'trackers', 'chats', 'cookies'] as const;
type ListUrls = Partial<Record<(typeof LIST_SWITCHES)[number], string[]>>;

interface Setting {
  /** Without the STILLFRAME_ prefix. */
  env: string;
  /** Long flag of `serve`, null for settings that never come from flags (secrets). */
  flag: string | null;
  argument: string;
  help: string;
  default: unknown;
  /** Shown in the help instead of the default. */
  defaultText?: string;
  /** @throws Error whose message says what is allowed */
  parse(text: string): unknown;
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** In the order of `serve --help`. */
export const SETTINGS: { [K in keyof Config]: Setting } = {
  host: { env: 'HOST', flag: '--host', argument: '<address>', help: 'listen address', default: '127.0.0.1', parse: text },
  port: {
    env: 'PORT',
    flag: '--port',
    argument: '<number>',
    help: 'listen port; 0 picks a free one',
    default: 3000,
    parse: whole(0, 65_535),
  },
  dataDir: {
    env: 'DATA_DIR',
    flag: '--data-dir',
    argument: '<dir>',
    help: 'directory of the database, the pictures and the key file',
    default: join(homedir(), '.stillframe'),
    defaultText: '~/.stillframe',
    parse: path,
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    flag: null,
    argument: '',
    help: 'postgres:// URL of a database that several servers share',
    default: null,
    defaultText: 'none: a database in the data directory',
    parse: postgresUrl,
  },
  secretKey: {
    env: 'SECRET_KEY',
    flag: null,
    argument: '',
    help: 'key of 32 bytes that encrypts stored secrets, as base64 or hex; to replace it, the new and the old key separated by a comma',
    default: null,
    defaultText: 'secret.key in the data directory',
    parse: secretKeys,
  },
  secretKeyFile: {
    env: 'SECRET_KEY_FILE',
    flag: '--secret-key-file',
    argument: '<file>',
    help: 'file with the key that encrypts stored secrets',
    default: null,
    defaultText: 'secret.key in the data directory',
    parse: path,
  },
  roles: {
    env: 'ROLES',
    flag: '--roles',
    argument: '<list>',
    help: `comma-separated work of this server, of several that share a database: ${ROLES.join(', ')}`,
    default: [...ROLES],
    parse: roles,
  },
  baseUrl: {
    env: 'BASE_URL',
    flag: '--base-url',
    argument: '<url>',
    help: 'public base URL; cdn_url and docs_url begin with it',
    default: null,
    defaultText: 'http://HOST:PORT',
    parse: webUrl,
  },
  chromium: {
    env: 'CHROMIUM',
    flag: '--chromium',
    argument: '<path>',
    help: 'path of the browser',
    default: null,
    defaultText: 'detected',
    parse: path,
  },
  browserInstall: {
    env: 'BROWSER_INSTALL',
    flag: '--no-browser-install',
    argument: '',
    help: 'do not install a browser if none is found',
    default: true,
    parse: onOff,
  },
  clock: {
    env: 'CLOCK',
    flag: '--no-clock',
    argument: '',
    help: 'leave the clocks of pages alone instead of running them ahead',
    default: true,
    parse: onOff,
  },
  sandbox: {
    env: 'SANDBOX',
    flag: '--no-sandbox',
    argument: '',
    help: 'run the browser without its sandbox; the variable may also be "required": do not start without it',
    default: true,
    parse: (value) => (value === 'required' ? value : onOff(value)),
  },
  concurrency: {
    env: 'CONCURRENCY',
    flag: '--concurrency',
    argument: '<n>',
    help: 'concurrent captures',
    default: 2 * availableParallelism(),
    defaultText: '2 × cores',
    parse: whole(1, 256),
  },
  keepSlots: {
    env: 'KEEP_SLOTS',
    flag: '--keep-slots',
    argument: '<n>',
    help: 'concurrent captures reserved for accounts with nothing running, while more than one account is active',
    default: 0,
    parse: whole(0, 255),
  },
  browsers: {
    env: 'BROWSERS',
    flag: '--browsers',
    argument: '<n>',
    help: 'browser processes',
    default: null,
    defaultText: 'depends on concurrency',
    parse: whole(1, 64),
  },
  memoryMb: {
    env: 'MEMORY_MB',
    flag: '--memory-mb',
    argument: '<n>',
    help: 'MB that the server and its browsers may use: captures wait for memory, and captures of pages that use too much are stopped',
    default: defaultMemoryMb(),
    defaultText: "85 % of the container's limit, or 60 % of the machine's memory",
    parse: whole(256, 10_000_000),
  },
  syncWaitMs: {
    env: 'SYNC_WAIT_MS',
    flag: '--sync-wait-ms',
    argument: '<ms>',
    help: 'ms that a sync submission waits before it returns 202',
    default: 25_000,
    parse: whole(0, 120_000),
  },
  maxQueue: {
    env: 'MAX_QUEUE',
    flag: '--max-queue',
    argument: '<n>',
    help: 'number of waiting jobs at which submissions are rejected with 503',
    default: 1_000,
    parse: whole(1, 1_000_000),
  },
  allowDestinations: {
    env: 'ALLOW_DESTINATIONS',
    flag: '--allow-destinations',
    argument: '<list>',
    help: 'comma-separated CIDR, IP, host or host:port: private or special-purpose addresses that captures may reach',
    default: [],
    parse: list,
  },
  denyDestinations: {
    env: 'DENY_DESTINATIONS',
    flag: '--deny-destinations',
    argument: '<list>',
    help: 'comma-separated CIDR, IP, host or host:port that nothing may reach, even if public or allowed',
    default: [],
    parse: list,
  },
  webhookAllow: {
    env: 'WEBHOOK_ALLOW',
    flag: '--webhook-allow',
    argument: '<list>',
    help: 'comma-separated origins that webhooks may be sent to besides public HTTPS on port 443',
    default: [],
    parse: origins,
  },
  dnsServers: {
    env: 'DNS_SERVERS',
    flag: '--dns-servers',
    argument: '<list>',
    help: 'comma-separated ip[:port] of the DNS servers that resolve all destinations',
    default: [],
    defaultText: 'the system resolver',
    parse: nameServers,
  },
  egressCheckUrl: {
    env: 'EGRESS_CHECK_URL',
    flag: '--egress-check-url',
    argument: '<url>',
    help: 'URL that reports the egress country, as loc=XX lines or as JSON with country',
    default: 'https://www.cloudflare.com/cdn-cgi/trace',
    parse: webUrl,
  },
  egressDatabase: {
    env: 'EGRESS_DATABASE',
    flag: '--egress-database',
    argument: '<file>',
    help: 'local .mmdb file for looking up the egress country',
    default: null,
    parse: path,
  },
  captureMaxMb: {
    env: 'CAPTURE_MAX_MB',
    flag: '--capture-max-mb',
    argument: '<n>',
    help: 'maximum MB that one capture may transfer',
    default: 200,
    parse: whole(1, 100_000),
  },
  tolerate: {
    env: 'TOLERATE',
    flag: '--tolerate',
    argument: '<list>',
    help: `comma-separated codes to tolerate in requests without \`tolerate\`: ${TOLERATED_CODES.join(', ')}`,
    default: [],
    parse: toleratedCodes,
  },
  submitRate: {
    env: 'SUBMIT_RATE',
    flag: '--submit-rate',
    argument: '<n>',
    help: 'submissions per minute and key; 0 for no limit',
    default: 120,
    parse: whole(0, 10_000_000),
  },
  submitBurst: {
    env: 'SUBMIT_BURST',
    flag: '--submit-burst',
    argument: '<n>',
    help: 'submissions per key in one burst',
    default: 30,
    parse: whole(1, 10_000_000),
  },
  linkRate: {
    env: 'LINK_RATE',
    flag: '--link-rate',
    argument: '<n>',
    help: 'renders per minute and key that signed links start; 0 for no limit',
    default: 120,
    parse: whole(0, 10_000_000),
  },
  linkBurst: {
    env: 'LINK_BURST',
    flag: '--link-burst',
    argument: '<n>',
    help: 'renders per key that signed links start in one burst',
    default: 30,
    parse: whole(1, 10_000_000),
  },
  readRate: {
    env: 'READ_RATE',
    flag: '--read-rate',
    argument: '<n>',
    help: 'read requests per minute and key; 0 for no limit',
    default: 600,
    parse: whole(0, 10_000_000),
  },
  readBurst: {
    env: 'READ_BURST',
    flag: '--read-burst',
    argument: '<n>',
    help: 'read requests per key in one burst',
    default: 60,
    parse: whole(1, 10_000_000),
  },
  webhookAttempts: {
    env: 'WEBHOOK_ATTEMPTS',
    flag: '--webhook-attempts',
    argument: '<n>',
    help: 'delivery attempts before a webhook delivery fails',
    default: 5,
    parse: whole(1, 100),
  },
  webhookBackoffMs: {
    env: 'WEBHOOK_BACKOFF_MS',
    flag: '--webhook-backoff-ms',
    argument: '<list>',
    help: 'comma-separated ms between delivery attempts',
    default: [5_000, 30_000, 120_000, 600_000],
    parse: waits,
  },
  webhookTimeoutMs: {
    env: 'WEBHOOK_TIMEOUT_MS',
    flag: '--webhook-timeout-ms',
    argument: '<ms>',
    help: 'time limit of a delivery attempt in ms',
    default: 10_000,
    parse: whole(10, 120_000),
  },
  artifactTtlH: {
    env: 'ARTIFACT_TTL_H',
    flag: '--artifact-ttl-h',
    argument: '<hours>',
    help: 'hours that pictures are kept',
    default: 168,
    parse: hours,
  },
  jobTtlH: {
    env: 'JOB_TTL_H',
    flag: '--job-ttl-h',
    argument: '<hours>',
    help: 'hours that jobs, idempotency and delivery records are kept',
    default: 720,
    parse: hours,
  },
  maxStorageMb: {
    env: 'MAX_STORAGE_MB',
    flag: '--max-storage-mb',
    argument: '<n>',
    help: 'maximum MB of pictures and database; the account that uses the most loses its oldest pictures first',
    default: 10_240,
    parse: whole(1, 1_000_000_000),
  },
  s3Endpoint: {
    env: 'S3_ENDPOINT',
    flag: '--s3-endpoint',
    argument: '<url>',
    help: 'S3-compatible storage that keeps the pictures, instead of the data directory',
    default: null,
    parse: endpoint,
  },
  s3Bucket: { env: 'S3_BUCKET', flag: '--s3-bucket', argument: '<name>', help: 'bucket of the pictures', default: null, parse: bucket },
  s3Region: {
    env: 'S3_REGION',
    flag: '--s3-region',
    argument: '<name>',
    help: 'region of the bucket; us-east-1 for most storages other than AWS',
    default: null,
    parse: text,
  },
  s3AccessKeyId: { env: 'S3_ACCESS_KEY_ID', flag: null, argument: '', help: 'access key of the bucket', default: null, parse: text },
  s3SecretAccessKey: { env: 'S3_SECRET_ACCESS_KEY', flag: null, argument: '', help: 'its secret', default: null, parse: text },
  s3Prefix: {
    env: 'S3_PREFIX',
    flag: '--s3-prefix',
    argument: '<text>',
    help: 'prefix of the object keys of the pictures; give each installation a prefix of its own',
    default: 'stillframe/',
    parse: keyPrefix,
  },
  s3VirtualHosted: {
    env: 'S3_VIRTUAL_HOSTED',
    flag: '--s3-virtual-hosted',
    argument: '',
    help: 'address the bucket as a subdomain of the endpoint, not as its first path segment',
    default: false,
    parse: onOff,
  },
  artifactLinks: {
    env: 'ARTIFACT_LINKS',
    flag: '--artifact-links',
    argument: '<kind>',
    help: 'how cdn_url leads to a picture in a bucket: serve (through this server) or redirect (to a signed link to the bucket)',
    default: 'serve',
    parse: oneOf(['serve', 'redirect']),
  },
  lists: {
    env: 'LISTS',
    flag: '--no-lists',
    argument: '',
    help: 'do not fetch filter lists; use only the built-in rules',
    default: true,
    parse: onOff,
  },
  listUrls: {
    env: 'LIST_URLS',
    flag: '--list-urls',
    argument: '<list>',
    help: 'comma-separated switch=URL that replace the default filter lists; switches: ads, trackers, chats, cookies',
    default: null,
    parse: listUrls,
  },
  metricsToken: {
    env: 'METRICS_TOKEN',
    flag: null,
    argument: '',
    help: 'bearer token for /metrics',
    default: null,
    defaultText: 'none: /metrics is served to loopback only',
    parse: text,
  },
  console: {
    env: 'CONSOLE',
    flag: '--console',
    argument: '<who>',
    help: 'who may open /console with a link of `stillframe console`: loopback (this machine only), on (anyone who has such a link) or off',
    default: 'loopback',
    parse: oneOf(CONSOLE_ACCESS),
  },
  proxyPassword: {
    env: 'PROXY_PASSWORD',
    flag: null,
    argument: '',
    help: 'password for `stillframe capture --proxy-username`; API requests carry their own',
    default: null,
    parse: text,
  },
  log: {
    env: 'LOG',
    flag: '--log',
    argument: '<level>',
    help: `log level: ${LOG_LEVELS.join(', ')}`,
    default: 'info',
    parse: oneOf(LOG_LEVELS),
  },
  logFormat: {
    env: 'LOG_FORMAT',
    flag: '--log-format',
    argument: '<format>',
    help: 'format of the log: pretty or json',
    default: process.stderr.isTTY ? 'pretty' : 'json',
    defaultText: 'pretty on a terminal, else json',
    parse: oneOf(['json', 'pretty']),
  },
};

export const CONFIG_FILE = 'stillframe.config.json';

export type ConfigFlags = Partial<Record<keyof Config, string>>;

/** Where settings come from. */
interface Sources {
  /** Texts of the flags that were given, by setting. */
  flags: ConfigFlags;
  env: NodeJS.ProcessEnv;
  /** How an error names a flag. */
  nameFlag(name: keyof Config): string;
}

/**
 * @param flags texts of the flags that were given, by setting
 * @param nameFlag how an error names one of them. Default: as on the command line
 * @throws ConfigError
 */
export function readConfig(flags: ConfigFlags, env: NodeJS.ProcessEnv = process.env, nameFlag: Sources['nameFlag'] = flagName): Config {
  const sources = { flags, env, nameFlag };
  const dataDir = readSetting('dataDir', sources, {}) as string;
  const file = readConfigFile(join(dataDir, CONFIG_FILE));
  const names = Object.keys(SETTINGS) as (keyof Config)[];
  return Object.fromEntries(names.map((name) => [name, readSetting(name, sources, file)])) as unknown as Config;
}

/** Variables of this name that the documentation uses for callers of the API. */
const CALLERS_VARIABLES = new Set(['STILLFRAME_KEY', 'STILLFRAME_URL']);
const PREFIX = 'STILLFRAME_';
const VARIABLE_MAX_CHARS = 60;

/** A sentence for each variable that looks like a setting and is none, such as a misspelt one. */
export function unknownSettings(env: NodeJS.ProcessEnv = process.env): string[] {
  const known = Object.values(SETTINGS).map((setting) => setting.env);
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !CALLERS_VARIABLES.has(name))
    .map((name) => name.slice(PREFIX.length, PREFIX.length + VARIABLE_MAX_CHARS))
    .filter((name) => !known.includes(name))
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
  return process.platform !== 'linux' || [env.DISPLAY, env.WAYLAND_DISPLAY].some((display) => display !== undefined && display !== '');
}

/** The locale of the person at the terminal, BCP 47; `und` where the environment names none, as on most servers. */
export function ownLocale(env: NodeJS.ProcessEnv = process.env): string {
  const named = [env.LC_ALL, env.LC_PAPER, env.LANG].find((value) => value !== undefined && value !== '');
  const isNone = named === undefined ? process.platform === 'linux' : /^(C|POSIX)(\.|$)/i.test(named);
  if (isNone) return 'und';
  return named === undefined ? Intl.DateTimeFormat().resolvedOptions().locale : named.replace(/[.@].*$/, '').replace('_', '-');
}

/** Whether GitHub runs this program, and reads workflow commands from what it prints. */
export function runsInGitHubAction(env: NodeJS.ProcessEnv = process.env): boolean {
  return env.GITHUB_ACTIONS === 'true';
}

function flagName(name: keyof Config): string {
  return SETTINGS[name].flag ?? `STILLFRAME_${SETTINGS[name].env}`;
}

function readSetting(name: keyof Config, { flags, env, nameFlag }: Sources, file: Record<string, unknown>): unknown {
  const setting = SETTINGS[name];
  const variable = `STILLFRAME_${setting.env}`;
  const given = flags[name];
  if (given !== undefined) return parseAs(setting, given, nameFlag(name));
  const fromEnv = env[variable];
  if (fromEnv !== undefined && fromEnv !== '') return parseAs(setting, fromEnv, variable);
  const fromFile = file[name];
  if (fromFile !== undefined && fromFile !== null) {
    const asText = Array.isArray(fromFile) ? fromFile.join(',') : String(fromFile);
    return parseAs(setting, asText, `${name} in ${CONFIG_FILE}`);
  }
  return setting.default;
}

function parseAs(setting: Setting, value: string, source: string): unknown {
  try {
    return setting.parse(value);
  } catch (error) {
    const given = setting.flag === null ? 'not valid' : `"${value}"`;
    throw new ConfigError(`${source} is ${given}: it must be ${(error as Error).message}.`);
  }
}

function readConfigFile(file: string): Record<string, unknown> {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return {};
    throw new ConfigError(`${file} cannot be read: ${(error as Error).message}`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch (error) {
    throw new ConfigError(`${file} is not valid JSON: ${(error as Error).message}`);
  }
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed))
    throw new ConfigError(`${file} must contain one JSON object.`);
  const unknown = Object.keys(parsed).find((key) => !(key in SETTINGS));
  if (unknown !== undefined)
    throw new ConfigError(`${file} has an unknown setting "${unknown}": it must be one of ${Object.keys(SETTINGS).join(', ')}.`);
  return parsed as Record<string, unknown>;
}

function text(value: string): string {
  return value;
}

/** What a container leaves to its file cache, and a machine to its other programs, is not counted. */
function defaultMemoryMb(): number {
  const machine = totalmem();
  // 0, or more than the machine has, if there is no limit.
  const limit = process.constrainedMemory();
  const bytes = limit > 0 && limit < machine ? 0.85 * limit : 0.6 * machine;
  return Math.max(256, Math.floor(bytes / 1_000_000));
}

function path(value: string): string {
  if (value.trim() === '') throw new Error('a path');
  return resolve(value.startsWith('~/') ? join(homedir(), value.slice(2)) : value);
}

function whole(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value.trim()) || number < min || number > max) throw new Error(`a whole number from ${min} to ${max}`);
    return number;
  };
}

function hours(value: string): number {
  const number = Number(value);
  if (!/^\d+(\.\d+)?$/.test(value.trim()) || number > 1_000_000) throw new Error('a number of hours from 0 to 1000000');
  return number;
}

function onOff(value: string): boolean {
  if (/^(1|true|on|yes)$/i.test(value)) return true;
  if (/^(0|false|off|no)$/i.test(value)) return false;
  throw new Error('true or false');
}

function oneOf(allowed: readonly string[]): (value: string) => string {
  return (value) => {
    if (!allowed.includes(value)) throw new Error(`one of ${allowed.join(', ')}`);
    return value;
  };
}

function list(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function waits(value: string): number[] {
  const numbers = list(value).map(Number);
  if (numbers.length === 0 || numbers.some((number) => !Number.isInteger(number) || number < 0)) {
    throw new Error('a comma-separated list of whole milliseconds, such as 5000,30000');
  }
  return numbers;
}

function postgresUrl(value: string): string {
  if (!/^postgres(ql)?:\/\/[^/]/i.test(value) || !URL.canParse(value))
    throw new Error('a URL such as postgres://user:password@host:5432/stillframe');
  return value;
}

const SECRET_KEY_BYTES = 32;

/** Keys as base64 or hex, the newest first. */
export function secretKeys(value: string): Buffer[] {
  const keys = list(value).map((item) => Buffer.from(item, /^[0-9a-f]{64}$/i.test(item) ? 'hex' : 'base64'));
  if (keys.length === 0 || keys.some((key) => key.length !== SECRET_KEY_BYTES)) {
    throw new Error('32 bytes as base64 or hex, such as from: openssl rand -base64 32');
  }
  return keys;
}

function roles(value: string): Role[] {
  const given = list(value).map((item) => {
    const role = ROLES.find((known) => known === item);
    if (role === undefined) throw new Error(`a comma-separated list of ${ROLES.join(', ')}`);
    return role;
  });
  if (given.length === 0) throw new Error(`a comma-separated list of ${ROLES.join(', ')}`);
  return [...new Set(given)];
}

function webUrl(value: string): string {
  if (!/^https?:\/\/[^/]/i.test(value) || !URL.canParse(value)) throw new Error('an http or https URL');
  return value.replace(/\/+$/, '');
}

/** May have a path; credentials are settings of their own. */
function endpoint(value: string): string {
  const url = webUrl(value);
  const { username, password, search, hash } = new URL(url);
  if (`${username}${password}${search}${hash}` !== '') throw new Error('an http or https URL without credentials and query');
  return url;
}

function bucket(value: string): string {
  if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/i.test(value))
    throw new Error('the name of a bucket: 3 to 63 letters, digits, dots and hyphens');
  return value;
}

function keyPrefix(value: string): string {
  if (!/^[\w.-]+(\/[\w.-]+)*\/?$/.test(value) || value.length > 200)
    throw new Error('a path of letters, digits, dots, hyphens and underscores, such as stillframe/');
  return value.endsWith('/') ? value : `${value}/`;
}

/** The default port of the scheme may be given explicitly. */
function origins(value: string): string[] {
  return list(value).map((item) => {
    const isOrigin = /^https?:\/\/[^/?#@\\]+\/?$/i.test(item) && URL.canParse(item);
    if (!isOrigin) throw new Error('a comma-separated list of origins, such as http://127.0.0.1:4000');
    return new URL(item).origin;
  });
}

function toleratedCodes(value: string): ToleratedCode[] {
  return list(value).map((item) => {
    const code = TOLERATED_CODES.find((known) => known === item);
    if (code === undefined) throw new Error(`a comma-separated list of ${TOLERATED_CODES.join(', ')}`);
    return code;
  });
}

/** A switch may be named several times; `ads=` without a URL leaves only its built-in rules. */
function listUrls(value: string): ListUrls {
  const urls: ListUrls = {};
  for (const item of list(value)) {
    const [, name, url = ''] = /^(\w+)=(.*)$/.exec(item) ?? [];
    const category = LIST_SWITCHES.find((known) => known === name);
    if (category === undefined || (url !== '' && !isListUrl(url))) {
      throw new Error(
        'a comma-separated list such as ads=https://lists.example.com/ads.txt (http on loopback only); switches are ads, trackers, chats, cookies',
      );
    }
    urls[category] = [...(urls[category] ?? []), ...(url === '' ? [] : [url])];
  }
  return urls;
}

/** A list decides what a page shows, so it must come over https, or from loopback. */
function isListUrl(text: string): boolean {
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

function nameServers(value: string): string[] {
  return list(value).map((item) => {
    const [, host = item, port = '53'] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(item) ?? [];
    const isAddress = host.startsWith('[') ? isIPv6(host.slice(1, -1)) : isIP(host) !== 0;
    if (!isAddress || Number(port) < 1 || Number(port) > 65_535)
      throw new Error('a comma-separated list of ip[:port], such as 127.0.0.1:5353');
    return item;
  });
}
