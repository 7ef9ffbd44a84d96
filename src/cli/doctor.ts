import { constants, existsSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { availableParallelism, freemem } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Command } from 'commander';
import type { BucketOptions } from '../artifacts/bucket.js';
import { BucketError } from '../artifacts/bucket-error.js';
import { artifactsDirOf, isFull, UNFINISHED } from '../artifacts/directory.js';
import { type Config, readTracing } from '../config.js';
import { ConfigError } from '../contract/config-error.js';
import { CLOCK_ADVICE, describeLead, GAP_MS, type KeptClock } from '../contract/kept-clock.js';
import { silentLog } from '../log.js';
import { missingScripts } from '../render/install/missing-scripts.js';
import type { Executable } from '../render/launch/executable.js';
import { fontsDirOf } from '../render/launch/font-folder.js';
import { type Unprivileged, unprivilegedUser } from '../render/launch/launch-mode.js';
import { bucketOf } from '../service/artifact-storage.js';
import { openConfiguredStore } from '../service/open-configured-store.js';
import { makeDirectory } from '../store/sqlite/data-directory.js';
import { DriverMissing } from '../store/sqlite/driver.js';
import { StoreError } from '../store/store-error.js';
import { checkCollector } from '../tracing/open-traces.js';
import { fontAdvice } from './font-advice.js';
import { OperatorError } from './operator-error.js';
import { withOwnCommand } from './own-command.js';
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
const DEFAULT_ADVICE =
  'Check that STILLFRAME_S3_ENDPOINT can be reached from this machine, and the other STILLFRAME_S3_ settings.';
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
    .option(
      '--egress-lock',
      'print nftables rules that keep the browser on loopback; for a server that is started as root',
    )
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
      await checkFonts(config),
      await checkDataDir(config),
      ...(await checkDatabase(config)),
      await checkDisk(config),
      await checkTemporary(),
      ...(await checkStorage(config)),
      ...(await checkTraces()),
      ...(await checkMailServer(config)),
      checkMachine(config),
    ];
    print(options.json, findings, () => withOwnCommand(findings.map(describeFinding).join('\n')));
    if (findings.some(({ state }) => state === 'fail')) process.exitCode = 1;
  });
}

function describeFinding({ check, state, found, advice }: Finding): string {
  const [color, mark] = MARKS[state];
  return `${styleText(color, mark, { stream: process.stdout })}  ${check.padEnd(15)} ${found}${advice === '' ? '' : `\n                      → ${advice}`}`;
}

const finding =
  (state: Finding['state']) =>
  (check: string, found: string, advice = ''): Finding => ({ check, state, found, advice });
const [ok, warn, fail] = [finding('ok'), finding('warn'), finding('fail')];

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isGood = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
  if (isGood) return ok('Node', process.versions.node);
  return fail('Node', process.versions.node, `Install Node ${NODE_FLOOR.join('.')} or newer.`);
}

async function checkBrowser(config: Config): Promise<Finding[]> {
  try {
    const { findChromium } = await import('../render/install/find-chromium.js');
    const executable = await findChromium(config);
    if (executable !== null) return await tryBrowser(config, executable);
    return [fail('Chromium', 'no working browser was found', 'Run: stillframe browser install')];
  } catch (error) {
    const advice = 'Run: stillframe browser install   (or name another with STILLFRAME_CHROMIUM)';
    return [fail('Chromium', (error as Error).message, advice)];
  }
}

/** Starts the browser as the server would. */
async function tryBrowser(config: Config, executable: Executable): Promise<Finding[]> {
  const log = silentLog();
  const { openEgress } = await import('../egress/open-egress.js');
  const { BrowserPool } = await import('../render/pool/browser-pool.js');
  await using egress = await openEgress({ allowDestinations: [], dnsServers: [], log });
  const runDir = join(config.dataDir, 'doctor');
  await using pool = await BrowserPool.start({
    executable,
    egress,
    browsers: 1,
    pagesPerBrowser: 1,
    framesOnDemand: config.frames,
    runDir,
    sandbox: config.sandbox,
    log,
  });
  const { describeAge } = await import('../render/install/find-chromium.js');
  const found = `${pool.version} at ${executable.path} (${executable.source})`;
  return [checkAge(found, describeAge(pool.version), executable), checkSandbox(config, pool.sandboxed)];
}

function checkAge(found: string, age: string | null, { kind }: Executable): Finding {
  if (age !== null) {
    const advice = 'Update it with the package manager it came from, or run: stillframe browser install --playwright';
    return warn('Chromium', `${found}: ${age}`, advice);
  }
  if (kind !== 'chromium') return ok('Chromium', found);
  return warn(
    'Chromium',
    found,
    'A headless shell captures about twice as fast: on Debian, apt-get install chromium-headless-shell',
  );
}

function checkSandbox({ sandbox }: Config, sandboxed: boolean): Finding {
  if (sandboxed) return ok('Sandbox', 'on: renderers are confined');
  return warn(
    'Sandbox',
    sandbox ? 'off: this system does not allow it' : 'off: disabled by a setting',
    'Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1), or use a kernel that has them. With STILLFRAME_SANDBOX=required, the server does not start without it.',
  );
}

async function checkFonts({ dataDir }: Config): Promise<Finding> {
  try {
    const missing = await missingScripts(fontsDirOf(dataDir));
    if (missing.length === 0) return ok('Fonts', 'all common scripts and emoji are covered');
    return warn('Fonts', `none for ${missing.join(', ')}: such text is rendered as boxes`, fontAdvice());
  } catch (error) {
    return warn('Fonts', `could not be listed: ${(error as Error).message}`, 'Check fontconfig: run fc-list.');
  }
}

async function checkDataDir({ dataDir }: Config): Promise<Finding> {
  try {
    makeDirectory(dataDir);
    const pictures = artifactsDirOf(dataDir);
    const dirs = [dataDir, pictures, join(pictures, UNFINISHED)].filter((dir) => existsSync(dir));
    for (const dir of dirs) await access(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok('Data directory', dataDir);
  } catch (error) {
    const advice =
      'Make the directory and its contents writable for this user, or choose another with --data-dir or STILLFRAME_DATA_DIR.';
    return fail('Data directory', `${dataDir}: ${(error as Error).message}`, advice);
  }
}

async function checkDatabase(config: Config): Promise<Finding[]> {
  try {
    await refuseWithoutDatabase(config);
    await using store = await openConfiguredStore(config, { migrates: 'no', facts: null, log: silentLog() });
    const damage = await store.findDamage();
    if (damage !== null) return [fail('Database', `damaged: ${damage}`, RESTORE_ADVICE)];
    await store.ping();
    const queue = await store.queueStatus();
    const waiting = queue.waiting + queue.prioritized + queue.delayed;
    const servers = (await store.nodes()).length;
    const place = store.shared
      ? `PostgreSQL, shared by ${servers} running ${servers === 1 ? 'server' : 'servers'}, `
      : '';
    const found = `${place}readable and writable; ${waiting} jobs waiting, ${queue.completed} completed, ${queue.failed} failed`;
    const database = queue.paused
      ? warn('Database', `${found}; the queue is paused`, 'Run: stillframe queue resume')
      : ok('Database', found);
    // Times in a shared database are those of its own clock.
    return store.shared
      ? [database]
      : [database, checkClock(new Date(store.now()), await store.newestJobAt(), await store.keptClock())];
  } catch (error) {
    if (error instanceof DriverMissing) return [fail('SQLite driver', error.found, error.advice)];
    // A message about a database that is missing or cannot be opened already has advice.
    const advice =
      error instanceof StoreError || error instanceof OperatorError
        ? ''
        : `If the database is locked, stop the process that locks it. ${RESTORE_ADVICE}`;
    return [fail('Database', (error as Error).message, advice)];
  }
}

/** @param newestJobAt Unix ms; null if there are no jobs */
function checkClock(now: Date, newestJobAt: number | null, kept: KeptClock | null): Finding {
  const aheadMs = kept === null ? 0 : now.getTime() - kept.trusted;
  if (Math.abs(aheadMs) > GAP_MS) return warn('Clock', `${now.toISOString()}: ${describeLead(aheadMs)}`, CLOCK_ADVICE);
  const behindMs = (newestJobAt ?? 0) - now.getTime();
  if (behindMs < CLOCK_SLACK_MS) return ok('Clock', now.toISOString());
  const advice =
    'The clock was set back, or was wrong before: check it (timedatectl). Nothing is lost, but caching and retention are off by this time.';
  return warn('Clock', `${now.toISOString()}, ${Math.round(behindMs / 60_000)} minutes before the newest job`, advice);
}

async function checkDisk({ dataDir, maxStorageMb }: Config): Promise<Finding> {
  const disk = await statfs(existsSync(dataDir) ? dataDir : join(dataDir, '..'));
  const free = disk.bavail * disk.bsize;
  const found = `${gigabytes(free)} free; pictures may use up to ${gigabytes(maxStorageMb * 1e6)}`;
  const advice =
    'Free some space, or lower STILLFRAME_MAX_STORAGE_MB. On a full disk, submissions are rejected with 503.';
  if (isFull(disk)) return fail('Disk', `the disk is full: ${found}`, advice);
  return free >= LOW_DISK_BYTES ? ok('Disk', found) : warn('Disk', found, advice);
}

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}

/** Checks the directory of the browsers' own files. */
async function checkTemporary(): Promise<Finding> {
  const check = 'Temporary files';
  const { BROWSER_ROOM_BYTES, temporaryRoot } = await import('../render/launch/profile-dir.js');
  const place = temporaryRoot();
  try {
    await access(place, constants.W_OK);
    const { bavail, bsize } = await statfs(place);
    const found = `${gigabytes(bavail * bsize)} free in ${place}`;
    if (bavail * bsize >= BROWSER_ROOM_BYTES) return ok(check, found);
    const advice =
      'Free some space there, or set TMPDIR to another directory with a short path. Browsers need at least 16 MB there.';
    return fail(check, found, advice);
  } catch (error) {
    return fail(
      check,
      (error as Error).message,
      'Create the directory, or set TMPDIR to one that exists and can be written to.',
    );
  }
}

/** Checks the bucket. Returns nothing if the pictures are in the data directory, which has checks of its own. */
async function checkStorage(config: Config): Promise<Finding[]> {
  try {
    const bucket = bucketOf(config);
    if (bucket === null) return [];
    const found = `${bucket.bucket} at ${bucket.endpoint}`;
    const failure = await checkBucket(bucket);
    if (failure === null) return [ok('Bucket', `${found}: an object was written, read and removed`)];
    return [fail('Bucket', `${found}: ${failure.problem}`, failure.advice)];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [fail('Bucket', error.message, 'The server does not start without it.')];
  }
}

/** Checks the collector. Returns nothing if captures are not traced. An unavailable collector keeps no server from starting. */
async function checkTraces(): Promise<Finding[]> {
  try {
    const tracing = readTracing();
    if (tracing === null) return [];
    const { host } = new URL(tracing.endpoint);
    const problem = await checkCollector(tracing);
    if (problem === null) return [ok('Traces', `${host} takes them`)];
    const advice = `Check that the collector takes OTLP by ${tracing.protocol} there (port 4318 as a rule; 4317 is for gRPC), and OTEL_EXPORTER_OTLP_HEADERS.`;
    return [warn('Traces', `${host} does not take them: ${problem}`, advice)];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [fail('Traces', error.message, 'The server does not start with it.')];
  }
}

/** Logs in to the SMTP server of watches, if there is one. */
async function checkMailServer({ smtpUrl, mailFrom }: Config): Promise<Finding[]> {
  if (smtpUrl === null && mailFrom === null) return [];
  if (smtpUrl === null || mailFrom === null)
    return [
      fail(
        'mail',
        'watches cannot send mail',
        `Set ${smtpUrl === null ? 'STILLFRAME_SMTP_URL' : 'STILLFRAME_MAIL_FROM'} as well.`,
      ),
    ];
  const { host } = new URL(smtpUrl);
  try {
    const { checkMail } = await import('../watch/mail.js');
    await checkMail({ smtpUrl });
    return [ok('mail', `${host} accepts mail from ${mailFrom}`)];
  } catch (error) {
    return [
      fail(
        'mail',
        `${host}: ${(error as Error).message}`,
        'Check STILLFRAME_SMTP_URL: its scheme (smtp or smtps), host, port, user name and password.',
      ),
    ];
  }
}

function checkMachine({ concurrency }: Config): Finding {
  const free = freemem();
  const found = `${availableParallelism()} cores, ${gigabytes(free)} of memory free, ${concurrency} captures at once`;
  if (free >= LOW_MEMORY_BYTES) return ok('Machine', found);
  return warn('Machine', found, 'Lower STILLFRAME_CONCURRENCY: a capture needs about 150 MB.');
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
    return isSame
      ? null
      : { problem: 'an object that was written was read with other content', advice: DEFAULT_ADVICE };
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
