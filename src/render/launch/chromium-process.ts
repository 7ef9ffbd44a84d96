import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { addAbortListener } from 'node:events';
import { accessSync, constants, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { Browser, BrowserType, CDPSession } from 'playwright-core';
import { orLate, TimeoutError, within } from '../deadlines.js';
import { chromiumFlags } from './chromium-flags.js';
import { ownUserAgent } from './emulation.js';
import { type Executable, HOST, reachableBy } from './executable.js';
import { provideFonts } from './font-folder.js';
import { type LaunchMode, SYSTEM_PATH } from './launch-mode.js';
import { browserCommand } from './process-priority.js';
import { killGroup } from './process-table.js';
import { browserCopies, createProfile, removeProfile } from './profile-dir.js';
import { TargetPolicy } from './target-policy.js';

const LAUNCH_TIMEOUT_MS = 20_000;
const EXIT_TIMEOUT_MS = 2_000;
const VERSION_TIMEOUT_MS = 5_000;
/** One page needs about half of Docker's default. Several pages share it. */
const SHM_ENOUGH_BYTES = 512 * 1024 * 1024;
const STDERR_KEPT_CHARS = 4_096;

export interface LaunchOptions extends LaunchMode {
  executable: Executable;
  /** The directory of profiles (see profilesRoot). */
  profiles: string;
  /** The folder of the operator's fonts (see font-folder.ts). Default: none. */
  fonts?: string | null;
  /** The version, for instance `156.0.8078.79`, if known before the start. */
  version: string | null;
  /** Whether the browser draws only on demand (see FrameSource). */
  drawsOnDemand: boolean;
  /** Aborts the start; null if it cannot be aborted. */
  signal: AbortSignal | null;
}

/**
 * One Chromium with its own process group and profile, connected by a pipe so that it exits with the server. Playwright only
 * connects to it, so it can run as another user, with a profile of our choice, and be killed by process group.
 */
export class ChromiumProcess implements AsyncDisposable {
  readonly browser: Browser;
  readonly pid: number;
  /** Resolves when the process has exited. */
  readonly exited: Promise<void>;
  #ending: Promise<void> | undefined;

  private constructor(
    private readonly started: Started,
    private readonly profile: string,
  ) {
    this.browser = started.browser;
    this.pid = started.pid;
    this.exited = started.exited;
  }

  /** @throws Error with the end of Chromium's output, if it does not start within 20 s */
  static async launch(options: LaunchOptions): Promise<ChromiumProcess> {
    const profile = createProfile(options.profiles, options.user);
    try {
      const executable = reachableBy(options.user, options.executable, () => browserCopies(options.profiles));
      return new ChromiumProcess(await start({ ...options, executable }, profile), profile);
    } catch (error) {
      await removeProfile(profile);
      throw error;
    }
  }

  /** The reason why it was killed, if it sent messages that cannot be handled; else null. */
  get fault(): string | null {
    return this.started.policy.failure;
  }

  /** Takes a session over from Playwright (see TargetPolicy). */
  takeOver(session: CDPSession) {
    return this.started.policy.takeOver(session);
  }

  /** Free bytes on the disk of its profile, which also holds its temporary files; null if the profile was removed. */
  freeBytes(): number | null {
    return freeBytesOf(this.profile);
  }

  /** Kills the process group at once, since the profile is temporary. Resolves within 2 s. May be called twice. */
  kill(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #end(): Promise<void> {
    const { child } = this.started;
    killGroup(child);
    await within(this.exited, { ms: EXIT_TIMEOUT_MS });
    child.stderr?.destroy();
    await removeProfile(this.profile);
  }
}

/** @returns the version that the program reports, or null if it reports none in time */
export async function versionOf(executable: Executable): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)(executable.path, ['--version'], {
      timeout: VERSION_TIMEOUT_MS,
      killSignal: 'SIGKILL',
      env: { PATH: SYSTEM_PATH, HOME: '/nonexistent', ...executable.env },
    });
    return /\d{1,9}\.\d{1,9}\.\d{1,9}\.\d{1,9}/.exec(stdout)?.[0] ?? null;
  } catch {
    return null;
  }
}

/**
 * Playwright's Chromium. It is loaded at the first call, and not by `import`, for which Node first scans all of its CommonJS for exports:
 * that takes 0.3 s of processor time.
 */
export function playwrightChromium(): BrowserType {
  const { chromium } = createRequire(import.meta.url)('playwright-core') as typeof import('playwright-core');
  return chromium;
}

/**
 * Waits for an answer of the browser.
 * @param signal ends the wait with its reason
 * @throws TimeoutError if it takes longer than this many ms
 */
export function answerOf<T>(work: Promise<T>, ms: number, signal?: AbortSignal): Promise<T> {
  return orLate(
    work,
    { ms, signal, isPatient: true },
    () => new TimeoutError(`the browser did not answer within ${ms} ms`),
  );
}

type Started = Awaited<ReturnType<typeof start>>;

async function start(options: LaunchOptions, profile: string) {
  const { version, sandbox, user, executable, drawsOnDemand } = options;
  const userAgent = version === null ? null : ownUserAgent(version, HOST);
  const flags = chromiumFlags({ profile, sandbox, userAgent, roomyShm: shmIsRoomy(), drawsOnDemand });
  const { env = {} } = executable;
  const fontConfig = provideFonts(options.fonts ?? null, join(profile, 'fonts'), {
    user,
    configured: env.FONTCONFIG_PATH,
  });
  const { command, args, detached } = browserCommand(executable.path, flags);
  const child = spawn(command, args, {
    detached,
    cwd: '/',
    env: { ...environment(executable, profile), ...(fontConfig === null ? {} : { FONTCONFIG_FILE: fontConfig }) },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    ...user,
  });
  const outputEnd = listen(child);
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new Error(`${executable.path} could not be started: ${error.message}`)));
    child.once('exit', (code, signal) =>
      reject(new Error(`${executable.path} ended (${signal ?? code}) before it answered. ${outputEnd()}`)),
    );
  });
  const exited: Promise<void> = failed.catch(() => {});
  const { pid } = child;
  if (pid === undefined) return failed;
  const stop = () => killGroup(child);
  using _abort = options.signal && addAbortListener(options.signal, stop);
  const policy = new TargetPolicy(child.stdio[3] as Writable, child.stdio[4] as Readable, {
    drawsOnDemand,
    onFailure: stop,
  });
  try {
    // Playwright is loaded only now, while the browser starts.
    const connected = playwrightChromium().connectOverCDP(policy, {
      artifactsDir: profile,
      noDefaults: true,
      timeout: LAUNCH_TIMEOUT_MS,
    });
    connected.catch(() => {});
    return { browser: await Promise.race([connected, failed]), pid, exited, child, policy };
  } catch (error) {
    killGroup(child);
    await exited;
    throw new Error(`${(error as Error).message} ${outputEnd()}`.trim(), { cause: error });
  }
}

/** The browser does not inherit the server's environment, which may contain secrets. */
function environment(executable: Executable, profile: string): NodeJS.ProcessEnv {
  return {
    PATH: SYSTEM_PATH,
    TZ: new Intl.DateTimeFormat().resolvedOptions().timeZone,
    LANG: 'en_US.UTF-8',
    // Suppresses a warning about a missing locale from Perl, which may run first.
    PERL_BADLANG: '0',
    HOME: profile,
    XDG_CONFIG_HOME: profile,
    XDG_CACHE_HOME: profile,
    XDG_RUNTIME_DIR: profile,
    TMPDIR: profile,
    DBUS_SESSION_BUS_ADDRESS: 'disabled:',
    DBUS_SYSTEM_BUS_ADDRESS: 'disabled:',
    ...executable.env,
  };
}

/** Shared memory on disk is slow, but a small /dev/shm crashes pages. */
function shmIsRoomy(): boolean {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return (freeBytesOf('/dev/shm') ?? 0) >= SHM_ENOUGH_BYTES;
  } catch {
    return false;
  }
}

function freeBytesOf(dir: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** Keeps the end of Chromium's output, without the usual errors of machines without a desktop. */
function listen(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8');
  child.stderr?.on('data', (part: string) => {
    text = (text + part).slice(-STDERR_KEPT_CHARS);
  });
  child.stderr?.on('error', () => {});
  return () => {
    const lines = text.split('\n').filter((line) => line.trim() !== '' && !/dbus|vaapi|crashpad|^#\d/.test(line));
    const reasons = lines.filter((line) => /FATAL|error while loading/.test(line));
    return (reasons.length > 0 ? reasons.slice(-1) : lines.slice(-3)).join(' ');
  };
}
