import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { namedBrowser, ownCopies } from '../../../src/render/install/browser-places.js';
import { checkBrowser } from '../../../src/render/install/check-browser.js';
import {
  BROWSER_CHECK_VERSION,
  describeAge,
  findChromium,
  firstWorking,
  rankBrowsers,
  recallBrowser,
  rememberBrowser,
} from '../../../src/render/install/find-chromium.js';
import { installChromium } from '../../../src/render/install/install-chromium.js';
import { installLocked, runCommand } from '../../../src/render/install/run-command.js';
import { BrowserError, SandboxMissing } from '../../../src/render/launch/launch-mode.js';
import { profilesRoot } from '../../../src/render/launch/profile-dir.js';
import pins from '../../../src/render/pinned-packages.json';
import { startNpmRegistry } from '../../fixtures/npm-registry.js';
import { ANY_BROWSER, EACH_KIND } from './any-browser.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'stillframe-test-'));
  chmodSync(dataDir, 0o711);
});
afterEach(() => {
  rmSync(profilesRoot(dataDir), { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});

const options = () => ({ dataDir, sandbox: true as const });

/** A program that stands where a browser would, and is none. Anybody may write beside it. */
function impostor(path: string, script = 'echo "no browser here" >&2; exit 3'): string {
  const file = join(dataDir, path);
  mkdirSync(dirname(file), { recursive: true });
  chmodSync(dirname(file), 0o777);
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

const shell = (build: number) =>
  impostor(`chromium/chromium_headless_shell-${build}/chrome-headless-shell-linux64/chrome-headless-shell`);

describe('findChromium', () => {
  it('takes the configured browser', async () => {
    expect(await findChromium({ chromium: ANY_BROWSER.path, ...options() })).toMatchObject({
      path: ANY_BROWSER.path,
      source: 'STILLFRAME_CHROMIUM',
    });
  });

  it.runIf(existsSync('/usr/lib/chromium/chromium'))("resolves a distribution's wrapper script", () => {
    expect(namedBrowser('/usr/bin/chromium', 'test').path).toBe('/usr/lib/chromium/chromium');
  });

  it.each(['/nonexistent/chromium', '/etc/passwd', '/bin/true'])(
    'fails for a configured browser that does not work, and names the setting (%s)',
    async (path) => {
      const finding = findChromium({ chromium: path, ...options() });
      await expect(finding).rejects.toThrow(BrowserError);
      await expect(finding).rejects.toThrow(`STILLFRAME_CHROMIUM (--chromium) is "${path}": it must be`);
      await finding.catch((error: Error) => expect(error.message).not.toContain('\n'));
    },
  );

  it('takes a copy in the data directory first, the newest shell before a full browser', () => {
    const [full, old, recent] = [impostor('chromium/chromium-1300/chrome-linux64/chrome'), shell(1200), shell(1255)];
    expect(ownCopies(dataDir).map(({ path, kind }) => [path, kind])).toEqual([
      [recent, 'headless-shell'],
      [old, 'headless-shell'],
      [full, 'chromium'],
    ]);
  });

  it('skips a copy that does not capture, and reports why', async () => {
    const path = shell(1255);
    const heard: string[] = [];
    const found = await firstWorking([...ownCopies(dataDir), ANY_BROWSER], options(), (_, error) =>
      heard.push(error.message),
    );
    expect(ownCopies(dataDir)[0]?.path).toBe(path);
    expect(found).toMatchObject({ path: ANY_BROWSER.path, version: expect.any(String) });
    expect(heard).toEqual([expect.stringContaining('no browser here')]);
    expect(await firstWorking(ownCopies(dataDir), options(), () => {})).toBeNull();
  });
});

describe('the test of a browser', () => {
  it.each(EACH_KIND)('is passed by $kind', async (executable) => {
    const { version, drawsOnDemand } = await checkBrowser(executable, options());
    expect(version).toMatch(/^\d+\.\d+/);
    // Debian's headless shell can, on which the tests run; full Chromium never does.
    if (executable.kind === 'chromium') expect(drawsOnDemand).toBe(false);
    else expect(typeof drawsOnDemand).toBe('boolean');
  });

  it('is remembered for this file only', async () => {
    const link = join(dataDir, 'elsewhere');
    expect(recallBrowser(ANY_BROWSER, dataDir)).toBeNull();
    const found = await firstWorking([ANY_BROWSER], options(), () => {});
    expect(recallBrowser(ANY_BROWSER, dataDir)).toMatchObject({
      version: found?.version,
      proof: BROWSER_CHECK_VERSION,
      failedAt: null,
    });
    symlinkSync(ANY_BROWSER.path, link);
    expect(recallBrowser({ ...ANY_BROWSER, path: link }, dataDir)).toBeNull();
    rememberBrowser({ ...ANY_BROWSER, path: link }, dataDir, { failedAt: 1 });
    expect(recallBrowser(ANY_BROWSER, dataDir)?.proof).toBe(BROWSER_CHECK_VERSION);
    rmSync(link);
    writeFileSync(link, 'another file');
    expect(recallBrowser({ ...ANY_BROWSER, path: link }, dataDir)).toBeNull();
  });

  it('can be aborted: the browser and its profile are gone, and it does not count as failed', async () => {
    const path = impostor('hanging/chromium', 'touch "$0.started"; exec sleep 60');
    const executable = { ...ANY_BROWSER, path };
    const stop = new AbortController();
    const finding = firstWorking([executable, ANY_BROWSER], { ...options(), signal: stop.signal }, () => {});
    await expect.poll(() => existsSync(`${path}.started`)).toBe(true);
    stop.abort(new Error('stopped'));
    await expect(finding).rejects.toThrow();
    expect(recallBrowser(executable, dataDir)?.failedAt ?? null).toBeNull();
    expect(readdirSync(profilesRoot(dataDir))).toEqual([]);
  });

  it('uses the same sandbox as the server', async () => {
    const path = impostor('refusing/chromium', 'echo "$*" >> "$0.log"; echo "No usable sandbox!" >&2; exit 1');
    const required = { ...options(), sandbox: 'required' as const };
    await expect(firstWorking([{ ...ANY_BROWSER, path }], required, () => {})).rejects.toThrow(SandboxMissing);
    expect(readFileSync(`${path}.log`, 'utf8')).not.toContain('--no-sandbox');
  });
});

it.each([
  ['is a headless shell', 'chromium 156.0.0.2, shell 156.0.0.1', 'shell, chromium'],
  ['is a headless shell of the version before', 'chromium 157.0.0.1, shell 156.0.0.1', 'shell, chromium'],
  ['is not an old copy of our own if a newer shell exists', 'own 147.0.0.1, system 156.0.0.1', 'system, own'],
  ['is not an old copy of our own if a newer browser exists', 'own 147.0.0.1, chromium 156.0.0.1', 'chromium, own'],
  ['is our own copy if both are equal', 'own 156.0.0.1, system 156.0.0.2', 'own, system'],
  [
    'is none that failed, which makes no other count as old',
    'failed 170.0.0.1, chromium 156.0.0.1, old 147.0.0.1',
    'chromium, old, failed',
  ],
])('the best browser %s', (_which, found, order) => {
  const browsers = found.split(', ').map((one) => {
    const [path = '', version = ''] = one.split(' ');
    const kind = path === 'chromium' ? ('chromium' as const) : ('headless-shell' as const);
    return { path, version, kind, failed: path === 'failed', source: 'test' };
  });
  const ranked = rankBrowsers(browsers).map(({ path }) => path);
  expect(ranked.join(', ')).toBe(order);
});

it("the age of a browser is described when it is far behind Playwright's own version", () => {
  expect(describeAge('999.0.0.0')).toBeNull();
  expect(describeAge('100.0.1.2')).toMatch(/^\d+ major versions behind Chromium \d+/);
  expect(describeAge('unknown')).toBeNull();
});

const limits = { timeoutMs: 60_000, silenceMs: 60_000 };

describe('an installation command', () => {
  const failing = 'echo working; echo "Error: getaddrinfo ENOTFOUND cdn.example.com" >&2; echo bye; exit 1';

  it.each([
    [
      'reports the line that is most likely the reason when it fails',
      failing,
      {},
      'getaddrinfo ENOTFOUND cdn.example.com',
    ],
    [
      'is killed with its children when it prints nothing for too long',
      'sleep 300 & wait',
      { silenceMs: 200 },
      'no output for 0.2 s',
    ],
    [
      'is killed when it takes too long',
      'while :; do echo on; sleep 0.05; done',
      { timeoutMs: 400 },
      'not done after 0.4 s',
    ],
  ])('%s', async (_what, script, limit, why) => {
    await expect(runCommand('sh', ['-c', script], { cwd: dataDir, ...limits, ...limit })).rejects.toThrow(why);
  });

  it('is killed at once when it is aborted, and does not start after an abort', async () => {
    const stop = new AbortController();
    const running = runCommand('sh', ['-c', 'sleep 300 & wait'], { cwd: dataDir, ...limits, signal: stop.signal });
    stop.abort();
    await expect(running).rejects.toThrow('it was stopped');
    const late = runCommand('sh', ['-c', 'touch begun'], { cwd: dataDir, ...limits, signal: stop.signal });
    await expect(late).rejects.toThrow('aborted');
    expect(existsSync(join(dataDir, 'begun'))).toBe(false);
  });
});

describe('packages installed at run time', () => {
  it('are those of the lock file, whatever else the registry has', async () => {
    await using registry = await startNpmRegistry('browser', { 'index.js': 'module.exports = 1;' });
    await installLocked(lockOf(registry.integrity), dataDir, limits);
    expect(readFileSync(join(dataDir, 'node_modules/browser/index.js'), 'utf8')).toBe('module.exports = 1;');
  });

  it('are rejected with a one-line error when one differs from the lock file, and nothing is left', async () => {
    await using _registry = await startNpmRegistry('browser', { 'index.js': 'module.exports = 2;' });
    await expect(
      installLocked(lockOf(`sha512-${Buffer.alloc(64).toString('base64')}`), dataDir, limits),
    ).rejects.toThrow('the registry sent a package whose sha512 differs from the pinned one; it was not used');
    expect(existsSync(join(dataDir, 'node_modules/browser/index.js'))).toBe(false);
  });

  it('are each pinned by sha512, and not tied to a registry', () => {
    const { '': root, ...packages } = pins.chromium.packages;
    const [version] = Object.values(root.dependencies);
    expect(packages['node_modules/@sparticuz/chromium'].version).toBe(version);
    for (const entry of [...Object.values(packages), pins.lists]) {
      expect(entry.version).toMatch(/^\d+\.\d+\.\d+/);
      expect(entry.integrity).toMatch(/^sha512-[\w+/]{86}==$/);
      expect(entry).not.toHaveProperty('resolved');
    }
  });
});

function lockOf(integrity: string) {
  const packages = {
    '': { dependencies: { browser: '1.0.0' } },
    'node_modules/browser': { version: '1.0.0', integrity },
  };
  return { name: 'test', lockfileVersion: 3, requires: true, packages };
}

it('an unsigned and unpinned browser is downloaded only on request', async () => {
  // A PATH on which every installer fails.
  for (const name of ['apt-get', 'npm'])
    writeFileSync(join(dataDir, name), '#!/bin/sh\necho "no network" >&2; exit 1\n', { mode: 0o755 });
  symlinkSync('/usr/bin/env', join(dataDir, 'env'));
  vi.stubEnv('PATH', dataDir);
  vi.stubEnv('PLAYWRIGHT_DOWNLOAD_HOST', 'http://127.0.0.1:1');
  onTestFinished(() => void vi.unstubAllEnvs());
  const linesOf = async (wish: { playwright?: boolean }) => {
    const lines: string[] = [];
    const install = installChromium({ ...wish, ...options(), print: (line) => lines.push(line) });
    await expect(install).rejects.toThrow(
      /^Chromium could not be installed .* stillframe browser install --playwright/,
    );
    return lines.join('\n');
  };
  expect(await linesOf({})).toMatch(/^(?!.*Playwright).*npm package/s);
  expect(await linesOf({ playwright: true })).toMatch(/^(?!.*npm package).*Playwright/s);
});
