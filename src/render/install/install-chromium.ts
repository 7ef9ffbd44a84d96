import { chmodSync, existsSync, lchownSync, lstatSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Executable } from '../launch/executable.js';
import { BrowserError, firstLine, SandboxMissing } from '../launch/launch-mode.js';
import pins from '../pinned-packages.json';
import { copiesDir, inflatedDir, ownCopies, systemBrowsers } from './browser-places.js';
import type { BrowserCheckOptions } from './check-browser.js';
import { fileOfPlaywright, firstWorking } from './find-chromium.js';
import { installLocked, type ManagerCommand, runCommand, systemCommand } from './run-command.js';

const DOWNLOAD_MS = 600_000;
const SILENCE_MS = 45_000;
/** npm and its package print nothing during the download. */
const QUIET_DOWNLOAD_MS = 240_000;
const PACKAGE = `@sparticuz/chromium@${pins.chromium.packages[''].dependencies['@sparticuz/chromium']}`;

interface InstallOptions extends BrowserCheckOptions {
  /**
   * Downloads Playwright's headless shell and tries nothing else. It is current and available for every platform, but verified
   * by HTTPS only; Debian's package is signed, and the npm package is pinned by its sha512.
   */
  playwright?: boolean;
  /** Prints one line for the user, about the next step or its result. */
  print(line: string): void;
}

interface InstallMethod {
  /** Completes the message "Chromium: …". */
  title: string;
  /** The reason why the method is impossible on this machine; null if it is possible. */
  obstacle(): string | null;
  /** @param signal ends the installation, where that does no harm */
  run(dataDir: string, signal?: AbortSignal): Promise<void>;
  /** The browsers that it has installed. */
  brought(dataDir: string): Executable[];
  /** Removes a browser that does not work. One of the system's package manager stays. */
  undo?(dataDir: string): Promise<void>;
}

/**
 * Installs a Chromium by the first method that works on this machine, and tests it by a capture.
 * @throws BrowserError with the exact command to run if none works
 */
export async function installChromium(options: InstallOptions): Promise<Executable> {
  const { dataDir, print } = options;
  mkdirSync(copiesDir(dataDir), { recursive: true, mode: 0o700 });
  for (const method of options.playwright === true ? [playwright] : PINNED_METHODS) {
    options.signal?.throwIfAborted();
    const obstacle = method.obstacle();
    if (obstacle !== null) {
      print(`Chromium: not ${method.title} (${obstacle}).`);
      continue;
    }
    print(`Chromium: ${method.title} …`);
    const executable = await tryMethod(method, options);
    if (executable !== null) {
      print(`Chromium: ready at ${executable.path}`);
      return executable;
    }
  }
  throw new BrowserError(
    `Chromium could not be installed automatically on this machine. Install it with: ${manualCommand()}`,
  );
}

async function tryMethod(method: InstallMethod, options: InstallOptions): Promise<Executable | null> {
  const { dataDir, print } = options;
  try {
    await method.run(dataDir, options.signal);
    const works = await firstWorking(method.brought(dataDir), options, (executable, error) =>
      print(`  ${executable.path} cannot capture: ${firstLine(error)}`),
    );
    if (works !== null) return works;
  } catch (error) {
    // Other browsers would fail in the same way, or the installation was aborted.
    if (error instanceof SandboxMissing || options.signal?.aborted) throw error;
    print(`  failed:  ${firstLine(error)}`);
  }
  await method.undo?.(dataDir);
  return null;
}

const playwright: InstallMethod = {
  title: "downloading Playwright's headless shell into the data directory",
  obstacle: () => null,
  run: (dataDir, signal) => {
    const settings = [`PLAYWRIGHT_BROWSERS_PATH=${copiesDir(dataDir)}`, 'PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT=10000'];
    const command = [...settings, process.execPath, fileOfPlaywright('cli.js'), 'install', '--only-shell', 'chromium'];
    return runCommand('env', command, { cwd: dataDir, timeoutMs: DOWNLOAD_MS, silenceMs: SILENCE_MS, signal });
  },
  brought: downloadedCopies,
  undo: async (dataDir) => {
    await Promise.all(
      downloadedCopies(dataDir).map(({ path }) => rm(dirname(dirname(path)), { recursive: true, force: true })),
    );
  },
};

/** Only the copy from the npm package needs variables, for its libraries. */
function downloadedCopies(dataDir: string): Executable[] {
  return ownCopies(dataDir).filter(({ env }) => env === undefined);
}

/** A Chromium with all libraries that it needs, for machines where no system package can be installed. */
const npmPackage: InstallMethod = {
  title: `unpacking the npm package ${PACKAGE} into the data directory`,
  obstacle: () => (process.platform === 'linux' && process.arch === 'x64' ? null : 'it is for Linux on x64 only'),
  run: inflatePackage,
  brought: (dataDir) => ownCopies(dataDir).filter(({ env }) => env !== undefined),
  undo: (dataDir) => rm(inflatedDir(dataDir), { recursive: true, force: true }),
};

const apt: InstallMethod = {
  title: 'installing the Debian package with apt-get',
  obstacle: () => {
    if (!existsSync('/usr/bin/apt-get')) return 'apt-get is not available';
    return process.getuid?.() === 0 ? null : 'it requires root';
  },
  run: async (dataDir) => {
    const limits = { cwd: dataDir, timeoutMs: DOWNLOAD_MS, silenceMs: QUIET_DOWNLOAD_MS };
    const aptGet = [
      'DEBIAN_FRONTEND=noninteractive',
      'apt-get',
      '-o',
      'Acquire::http::Timeout=20',
      '-o',
      'DPkg::Lock::Timeout=60',
    ];
    await runCommand('env', [...aptGet, 'update'], limits);
    const install = (name: string) =>
      runCommand('env', [...aptGet, 'install', '-y', '--no-install-recommends', name], limits);
    await install('chromium-headless-shell').catch(() => install('chromium'));
  },
  brought: () => systemBrowsers(),
};

/** The npm package comes last, since it gets no updates. */
const PINNED_METHODS: InstallMethod[] = [apt, npmPackage];

async function inflatePackage(dataDir: string, signal?: AbortSignal): Promise<void> {
  const [draft, target] = [join(copiesDir(dataDir), `inflating-${process.pid}`), inflatedDir(dataDir)];
  const limits = { cwd: draft, timeoutMs: QUIET_DOWNLOAD_MS, silenceMs: QUIET_DOWNLOAD_MS, signal };
  const [packages, out] = [join(draft, 'package'), join(draft, 'out')];
  mkdirSync(out, { recursive: true });
  try {
    await installLocked(pins.chromium, packages, limits);
    // The package unpacks into the temporary directory, and its libraries only in the environment of AWS Lambda.
    const unpack = "import('@sparticuz/chromium').then((module) => module.default.executablePath())";
    const settings = [`TMPDIR=${out}`, 'AWS_EXECUTION_ENV=AWS_Lambda_nodejs20.x'];
    await runCommand('env', [...settings, process.execPath, '-e', unpack], { ...limits, cwd: packages });
    takeOwnership(out);
    await rm(target, { recursive: true, force: true });
    renameSync(out, target);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Files unpacked by root keep the owner that the package's author had, and the program may be executable by its owner only. */
function takeOwnership(path: string): void {
  const found = lstatSync(path);
  if (process.getuid !== undefined && process.getgid !== undefined)
    lchownSync(path, process.getuid(), process.getgid());
  if (found.isSymbolicLink()) return;
  chmodSync(path, found.isDirectory() || (found.mode & 0o100) !== 0 ? 0o755 : 0o644);
  if (found.isDirectory()) for (const entry of readdirSync(path)) takeOwnership(join(path, entry));
}

function manualCommand(): string {
  const line = systemCommand(COMMANDS);
  const otherwise =
    'or download one with: stillframe browser install --playwright, or set STILLFRAME_CHROMIUM to the path of a Chromium or Chrome';
  return line === null ? `your system's package manager, ${otherwise}` : `${line}   (${otherwise})`;
}

const COMMANDS: readonly ManagerCommand[] = [
  ['/usr/bin/apt-get', 'sudo apt-get update && sudo apt-get install -y chromium-headless-shell'],
  ['/usr/bin/dnf', 'sudo dnf install -y chromium-headless'],
  ['/sbin/apk', 'sudo apk add -U chromium'],
  ['/usr/bin/pacman', 'sudo pacman -S --noconfirm chromium'],
  ['/usr/bin/zypper', 'sudo zypper install -y chromium'],
  ['/opt/homebrew/bin/brew', 'brew install --cask chromium'],
];
