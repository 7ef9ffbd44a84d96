import { constants, existsSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { availableParallelism, freemem } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { BucketOptions } from '../artifacts/bucket.js';
import { BucketError } from '../artifacts/bucket-error.js';
import { artifactsDirOf, UNFINISHED } from '../artifacts/directory.js';
import { ROOM_BYTES } from '../artifacts/disk-room.js';
import { type Config, readTracing } from '../config.js';
import { ConfigError } from '../contract/config-error.js';
import { CLOCK_ADVICE, describeLead, GAP_MS, type KeptClock } from '../contract/kept-clock.js';
import { silentLog } from '../log.js';
import { missingScripts } from '../render/fonts/missing-scripts.js';
import type { Executable } from '../render/launch/executable.js';
import { type Unprivileged, unprivilegedUser } from '../render/launch/launch-mode.js';
import { bucketOf } from '../service/artifact-storage.js';
import { openConfiguredStore } from '../service/open-configured-store.js';
import { makeDirectory } from '../store/sqlite/data-directory.js';
import { DriverMissing } from '../store/sqlite/driver.js';
import { StoreError } from '../store/store-error.js';
import { checkCollector } from '../tracing/open-traces.js';
import { fontAdvice } from './font-advice.js';
import { OperatorError } from './operator-error.js';
import { addSettings, BUCKET_SETTINGS, readSettings } from './settings-flags.js';
import { print, refuseWithoutDatabase } from './with-store.js';

const NO_BROWSER_USER =
  'The browser has no user of its own to restrict: only a server that is started as root runs it as another user. ' +
  'Start the server as root, and run: sudo stillframe doctor --egress-lock';

/** Advice by the error code of S3 or of the network. */
const ADVICE: Record<string, string> = {
  NoSuchBucket: 'Create the bucket, or correct STILLFRAME_S3_BUCKET.',
  AccessDenied: 'Allow the access key s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket on the bucket.',
  InvalidAccessKeyId: 'Correct STILLFRAME_S3_ACCESS_KEY_ID.',
  SignatureDoesNotMatch: 'Correct STILLFRAME_S3_SECRET_ACCESS_KEY.',
  RequestTimeTooSkewed: 'Set the clock of this machine (timedatectl).',
  AuthorizationHeaderMalformed: 'Correct STILLFRAME_S3_REGION.',
  PermanentRedirect: 'Correct STILLFRAME_S3_ENDPOINT and STILLFRAME_S3_REGION: the bucket is in another region.',
};
const DEFAULT_ADVICE = 'Check that STILLFRAME_S3_ENDPOINT can be reached from this machine, and the other STILLFRAME_S3_ settings.';
const PROBE = Buffer.from('written by stillframe doctor');

interface Finding {
  check: string;
  state: 'ok' | 'warn' | 'fail';
  found: string;
  /** Advice on the problem; empty if nothing needs to be done. */
  advice: string;
}

interface DoctorOptions {
  egressLock?: boolean;
  json?: boolean;
}

const MARKS = { ok: ['green', 'ok  '], warn: ['yellow', 'warn'], fail: ['red', 'FAIL'] } as const;
const NODE_FLOOR = [20, 19] as const;
const LOW_DISK_BYTES = 1_000_000_000;
const RESTORE_ADVICE = 'If it is damaged, stop the server and restore a backup (docs/production.md, Backups).';
const CLOCK_SLACK_MS = 60_000;
const LOW_MEMORY_BYTES = 700_000_000;
const CHECKED_SETTINGS = ['dataDir', 'chromium', 'sandbox', ...BUCKET_SETTINGS] as const;

/** Adds `stillframe doctor`: checks whether the service can run on this machine, with advice on each problem. */
export function addDoctorCommand(program: Command): void {
  const doctor = program
    .command('doctor')
    .description('check Node, Chromium, sandbox, fonts, data directory and disk, and say what to do about each problem')
    .option('--egress-lock', 'print nftables rules that keep the browser on loopback; for a server that is started as root')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe doctor\n  sudo stillframe doctor --egress-lock | sudo nft -f -');
  addSettings(doctor, CHECKED_SETTINGS).action(async (options: DoctorOptions, command: Command) => {
    if (options.egressLock === true) {
      const ruleset = egressLock(unprivilegedUser());
      return print(options.json, { ruleset }, () => ruleset);
    }
    const config = readSettings(command);
    const findings = [
      checkNode(),
      ...(await checkBrowser(config)),
      await checkFonts(),
      await checkDataDir(config),
      ...(await checkDatabase(config)),
      await checkDisk(config),
      await checkTemporary(),
      ...(await checkStorage(config)),
      ...(await checkTraces()),
      checkMachine(config),
    ];
    print(options.json, findings, () => findings.map(describeFinding).join('\n'));
    if (findings.some((finding) => finding.state === 'fail')) process.exitCode = 1;
  });
}

function describeFinding({ check, state, found, advice }: Finding): string {
  const [colour, mark] = MARKS[state];
  return `${styleText(colour, mark, { stream: process.stdout })}  ${check.padEnd(15)} ${found}${advice === '' ? '' : `\n                      → ${advice}`}`;
}

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const good = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
  return {
    check: 'Node',
    state: good ? 'ok' : 'fail',
    found: process.versions.node,
    advice: good ? '' : `Install Node ${NODE_FLOOR.join('.')} or newer.`,
  };
}

async function checkBrowser(config: Config): Promise<Finding[]> {
  const check = 'Chromium';
  try {
    const { findChromium } = await import('../render/install/find-chromium.js');
    const executable = await findChromium(config);
    if (executable !== null) return await tryBrowser(config, executable);
    return [{ check, state: 'fail', found: 'no working browser was found', advice: 'Run: stillframe browser install' }];
  } catch (error) {
    const advice = 'Run: stillframe browser install   (or name another with STILLFRAME_CHROMIUM)';
    return [{ check, state: 'fail', found: (error as Error).message, advice }];
  }
}

/** Starts the browser as the server would. */
async function tryBrowser(config: Config, executable: Executable): Promise<Finding[]> {
  const log = silentLog();
  const { openEgress } = await import('../egress/open-egress.js');
  const { BrowserPool } = await import('../render/pool/browser-pool.js');
  await using egress = await openEgress({ allowDestinations: [], dnsServers: [], log });
  const runDir = join(config.dataDir, 'doctor');
  await using pool = await BrowserPool.start({ executable, egress, browsers: 1, pagesPerBrowser: 1, runDir, sandbox: config.sandbox, log });
  const { describeAge } = await import('../render/install/find-chromium.js');
  const age = describeAge(pool.version);
  const slow = executable.kind === 'chromium';
  return [
    {
      check: 'Chromium',
      state: slow || age !== null ? 'warn' : 'ok',
      found: `${pool.version} at ${executable.path} (${executable.source})${age === null ? '' : `: ${age}`}`,
      advice:
        age !== null
          ? 'Update it with the package manager it came from, or run: stillframe browser install --playwright'
          : slow
            ? 'A headless shell captures about twice as fast: on Debian, apt-get install chromium-headless-shell'
            : '',
    },
    {
      check: 'Sandbox',
      state: pool.sandboxed ? 'ok' : 'warn',
      found: pool.sandboxed
        ? 'on: renderers are confined'
        : config.sandbox
          ? 'off: this system does not allow it'
          : 'off: disabled by a setting',
      advice: pool.sandboxed
        ? ''
        : 'Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1), or use a kernel that has them. With STILLFRAME_SANDBOX=required, the server does not start without it.',
    },
  ];
}

async function checkFonts(): Promise<Finding> {
  const check = 'Fonts';
  try {
    const missing = await missingScripts();
    if (missing.length === 0) return { check, state: 'ok', found: 'all common scripts and emoji are covered', advice: '' };
    return { check, state: 'warn', found: `none for ${missing.join(', ')}: such text is rendered as boxes`, advice: fontAdvice() };
  } catch (error) {
    return { check, state: 'warn', found: `could not be listed: ${(error as Error).message}`, advice: 'Check fontconfig: run fc-list.' };
  }
}

async function checkDataDir(config: Config): Promise<Finding> {
  const check = 'Data directory';
  try {
    makeDirectory(config.dataDir);
    const pictures = artifactsDirOf(config.dataDir);
    const dirs = [config.dataDir, pictures, join(pictures, UNFINISHED)].filter((dir) => existsSync(dir));
    for (const dir of dirs) await access(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    return { check, state: 'ok', found: config.dataDir, advice: '' };
  } catch (error) {
    const advice = 'Make the directory and its contents writable for this user, or choose another with --data-dir or STILLFRAME_DATA_DIR.';
    return { check, state: 'fail', found: `${config.dataDir}: ${(error as Error).message}`, advice };
  }
}

async function checkDatabase(config: Config): Promise<Finding[]> {
  const check = 'Database';
  try {
    await refuseWithoutDatabase(config);
    await using store = await openConfiguredStore(config, { migrates: 'no', facts: null, log: silentLog() });
    const damage = await store.findDamage();
    if (damage !== null) return [{ check, state: 'fail', found: `damaged: ${damage}`, advice: RESTORE_ADVICE }];
    await store.ping();
    const queue = await store.queueStatus();
    const waiting = queue.waiting + queue.prioritized + queue.delayed;
    const servers = (await store.nodes()).length;
    const place = store.shared ? `PostgreSQL, shared by ${servers} running ${servers === 1 ? 'server' : 'servers'}, ` : '';
    const found = `${place}readable and writable; ${waiting} jobs waiting, ${queue.completed} completed, ${queue.failed} failed${queue.paused ? '; the queue is paused' : ''}`;
    const advice = queue.paused ? 'Run: stillframe queue resume' : '';
    const finding: Finding = { check, state: queue.paused ? 'warn' : 'ok', found, advice };
    // Times in a shared database are those of its own clock.
    return store.shared ? [finding] : [finding, checkClock(new Date(store.now()), await store.newestJobAt(), await store.keptClock())];
  } catch (error) {
    if (error instanceof DriverMissing) return [{ check: 'SQLite driver', state: 'fail', found: error.found, advice: error.advice }];
    // The message about a database that cannot be opened already ends with advice.
    const advice = error instanceof StoreError ? '' : `If the database is locked, stop the process that locks it. ${RESTORE_ADVICE}`;
    return [{ check, state: 'fail', found: (error as Error).message, advice }];
  }
}

/** @param newestJobAt Unix ms; null if there are no jobs */
function checkClock(now: Date, newestJobAt: number | null, kept: KeptClock | null): Finding {
  const check = 'Clock';
  const aheadMs = kept === null ? 0 : now.getTime() - kept.trusted;
  if (Math.abs(aheadMs) > GAP_MS) {
    return { check, state: 'warn', found: `${now.toISOString()}: ${describeLead(aheadMs)}`, advice: CLOCK_ADVICE };
  }
  const behindMs = (newestJobAt ?? 0) - now.getTime();
  if (behindMs < CLOCK_SLACK_MS) return { check, state: 'ok', found: now.toISOString(), advice: '' };
  return {
    check,
    state: 'warn',
    found: `${now.toISOString()}, ${Math.round(behindMs / 60_000)} minutes before the newest job`,
    advice:
      'The clock was set back, or was wrong before: check it (timedatectl). Nothing is lost, but caching and retention are off by this time.',
  };
}

async function checkDisk(config: Config): Promise<Finding> {
  const place = existsSync(config.dataDir) ? config.dataDir : join(config.dataDir, '..');
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const low = free < LOW_DISK_BYTES;
  return {
    check: 'Disk',
    state: free < ROOM_BYTES ? 'fail' : low ? 'warn' : 'ok',
    found: `${(free / 1e9).toFixed(1)} GB free; pictures may use up to ${(config.maxStorageMb / 1000).toFixed(1)} GB`,
    advice: low ? 'Free some space, or lower STILLFRAME_MAX_STORAGE_MB. On a full disk, submissions are rejected with 503.' : '',
  };
}

/** Checks the directory of the browsers' own files. */
async function checkTemporary(): Promise<Finding> {
  const check = 'Temporary files';
  const { BROWSER_ROOM_BYTES, temporaryRoot } = await import('../render/pool/profile-dir.js');
  const place = temporaryRoot();
  try {
    await access(place, constants.W_OK);
    const { bavail, bsize } = await statfs(place);
    const full = bavail * bsize < BROWSER_ROOM_BYTES;
    const advice = full
      ? 'Free some space there, or set TMPDIR to another directory with a short path. Browsers need at least 16 MB there.'
      : '';
    return { check, state: full ? 'fail' : 'ok', found: `${((bavail * bsize) / 1e9).toFixed(1)} GB free in ${place}`, advice };
  } catch (error) {
    const advice = 'Create the directory, or set TMPDIR to one that exists and can be written to.';
    return { check, state: 'fail', found: (error as Error).message, advice };
  }
}

/** Checks the bucket. Returns nothing if the pictures are in the data directory, which has checks of its own. */
async function checkStorage(config: Config): Promise<Finding[]> {
  const check = 'Bucket';
  try {
    const bucket = bucketOf(config);
    if (bucket === null) return [];
    const found = `${bucket.bucket} at ${bucket.endpoint}`;
    const failure = await checkBucket(bucket);
    if (failure === null) return [{ check, state: 'ok', found: `${found}: an object was written, read and removed`, advice: '' }];
    return [{ check, state: 'fail', found: `${found}: ${failure.problem}`, advice: failure.advice }];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [{ check, state: 'fail', found: error.message, advice: 'The server does not start without it.' }];
  }
}

/** Checks the collector. Returns nothing if captures are not traced. An unavailable collector keeps no server from starting. */
async function checkTraces(): Promise<Finding[]> {
  const check = 'Traces';
  try {
    const tracing = readTracing();
    if (tracing === null) return [];
    const { host } = new URL(tracing.endpoint);
    const problem = await checkCollector(tracing);
    if (problem === null) return [{ check, state: 'ok', found: `${host} takes them`, advice: '' }];
    const advice = `Check that the collector takes OTLP by ${tracing.protocol} there (port 4318 as a rule; 4317 is for gRPC), and OTEL_EXPORTER_OTLP_HEADERS.`;
    return [{ check, state: 'warn', found: `${host} does not take them: ${problem}`, advice }];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [{ check, state: 'fail', found: error.message, advice: 'The server does not start with it.' }];
  }
}

function checkMachine(config: Config): Finding {
  const free = freemem();
  const low = free < LOW_MEMORY_BYTES;
  return {
    check: 'Machine',
    state: low ? 'warn' : 'ok',
    found: `${availableParallelism()} cores, ${(free / 1e9).toFixed(1)} GB of memory free, ${config.concurrency} captures at once`,
    advice: low ? 'Lower STILLFRAME_CONCURRENCY: a capture needs about 150 MB.' : '',
  };
}

/**
 * Checks whether pictures can be stored in a bucket, by storing a probe and removing it.
 * @returns the failed step with advice; null if all succeeded
 */
async function checkBucket(options: BucketOptions): Promise<{ problem: string; advice: string } | null> {
  const { openS3 } = await import('../artifacts/s3.js');
  await using artifacts = openS3({ ...options, links: false, log: silentLog() });
  try {
    const { name } = await artifacts.put(PROBE, 'png');
    const content = await (await artifacts.open(name))?.read();
    const isSame = content !== undefined && Buffer.concat(await content.toArray()).equals(PROBE);
    await artifacts.remove(name);
    for await (const _names of artifacts.list(0)) break;
    return isSame ? null : { problem: 'an object that was written was read with other content', advice: DEFAULT_ADVICE };
  } catch (error) {
    const { cause } = error as Error;
    if (!(cause instanceof BucketError)) throw error;
    return { problem: cause.message, advice: ADVICE[cause.code] ?? DEFAULT_ADVICE };
  }
}

/**
 * Builds an nftables ruleset that restricts the browser's user to 127.0.0.1, where the server's proxy listens. Loading it again replaces
 * it.
 * @param user that the browser runs as; null if it is the one that starts the server
 * @throws OperatorError if there is no such user, since a rule for the server's own user would disconnect the server
 */
export function egressLock(user: Unprivileged | null): string {
  if (user === null) throw new OperatorError(NO_BROWSER_USER);
  // Packets without a socket, such as the kernel's own replies, match no skuid, so each rule names the user.
  return `# The user that stillframe's browser runs as (uid ${user.uid}) reaches the server's proxy on 127.0.0.1 and nothing else.
# It applies to a server that is started as root. Load: nft -f FILE. Remove: nft delete table inet stillframe
table inet stillframe
delete table inet stillframe
table inet stillframe {
	chain browser {
		type filter hook output priority 0; policy accept;
		meta skuid ${user.uid} ip daddr 127.0.0.1 meta l4proto tcp accept
		meta skuid ${user.uid} counter reject
	}
}`;
}
