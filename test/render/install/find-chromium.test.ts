import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { namedBrowser, ownCopies } from '../../../src/render/install/browser-places.js';
import {
  BROWSER_CHECK_VERSION,
  describeAge,
  findChromium,
  firstWorking,
  type RankedBrowser,
  rankBrowsers,
  recallBrowser,
  rememberBrowser,
} from '../../../src/render/install/find-chromium.js';
import { runCommand } from '../../../src/render/install/run-command.js';
import { BrowserError, SandboxMissing } from '../../../src/render/launch/launch-mode.js';
import { profilesRoot } from '../../../src/render/pool/profile-dir.js';
import { ANY_BROWSER } from './any-browser.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'stillframe-test-'));
  chmodSync(dataDir, 0o711);
});
afterEach(() => {
  rmSync(profilesRoot(dataDir), { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});

function options() {
  return { dataDir, sandbox: true as const };
}

/** A program that stands where a browser would, and is none. */
function impostor(...path: string[]): string {
  const file = join(dataDir, ...path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  writeFileSync(file, '#!/bin/sh\necho "no browser here" >&2\nexit 3\n', { mode: 0o755 });
  return file;
}

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
    const full = impostor('chromium', 'chromium-1300', 'chrome-linux64', 'chrome');
    const old = impostor('chromium', 'chromium_headless_shell-1200', 'chrome-headless-shell-linux64', 'chrome-headless-shell');
    const recent = impostor('chromium', 'chromium_headless_shell-1255', 'chrome-headless-shell-linux64', 'chrome-headless-shell');
    expect(ownCopies(dataDir).map(({ path, kind }) => [path, kind])).toEqual([
      [recent, 'headless-shell'],
      [old, 'headless-shell'],
      [full, 'chromium'],
    ]);
  });

  it('skips a copy that does not capture', async () => {
    const path = impostor('chromium', 'chromium_headless_shell-1255', 'chrome-headless-shell-linux64', 'chrome-headless-shell');
    const found = await firstWorking([...ownCopies(dataDir), ANY_BROWSER], options(), () => {});
    expect(ownCopies(dataDir)[0]?.path).toBe(path);
    expect(found).toMatchObject({ path: ANY_BROWSER.path, version: expect.any(String) });
  });

  it('reports the reason for each browser that fails', async () => {
    const path = impostor('somewhere', 'chromium');
    const heard: string[] = [];
    const found = await firstWorking([{ path, kind: 'chromium', source: 'test' }], options(), (_, error) => heard.push(error.message));
    expect(found).toBeNull();
    expect(heard.join()).toContain('no browser here');
  });
});

describe('the test of a browser', () => {
  it('is remembered for this file only', async () => {
    const link = join(dataDir, 'elsewhere');
    expect(recallBrowser(ANY_BROWSER, dataDir)).toBeNull();
    const found = await firstWorking([ANY_BROWSER], options(), () => {});
    expect(recallBrowser(ANY_BROWSER, dataDir)).toMatchObject({ version: found?.version, proof: BROWSER_CHECK_VERSION, failedAt: null });
    symlinkSync(ANY_BROWSER.path, link);
    expect(recallBrowser({ ...ANY_BROWSER, path: link }, dataDir)).toBeNull();
    rememberBrowser({ ...ANY_BROWSER, path: link }, dataDir, { failedAt: 1 });
    expect(recallBrowser(ANY_BROWSER, dataDir)?.proof).toBe(BROWSER_CHECK_VERSION);
    rmSync(link);
    writeFileSync(link, 'another file');
    expect(recallBrowser({ ...ANY_BROWSER, path: link }, dataDir)).toBeNull();
  });

  it('can be aborted: the browser and its profile are gone, and it does not count as failed', async () => {
    const path = impostor('hanging', 'chromium');
    writeFileSync(path, '#!/bin/sh\ntouch "$0.started"; exec sleep 60\n', { mode: 0o755 });
    chmodSync(dirname(path), 0o777);
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
    const path = impostor('refusing', 'chromium');
    writeFileSync(path, '#!/bin/sh\necho "$*" >> "$0.log"; echo "No usable sandbox!" >&2; exit 1\n', { mode: 0o755 });
    const executable = { ...ANY_BROWSER, path };
    writeFileSync(`${path}.log`, '');
    chmodSync(`${path}.log`, 0o666);
    const required = { ...options(), sandbox: 'required' as const };
    await expect(firstWorking([executable], required, () => {})).rejects.toThrow(SandboxMissing);
    expect(readFileSync(`${path}.log`, 'utf8')).not.toContain('--no-sandbox');
  });
});

describe('the best browser', () => {
  const aBrowser = (name: string, version: string, kind: RankedBrowser['kind'] = 'headless-shell', failed = false): RankedBrowser => ({
    path: name,
    kind,
    version,
    failed,
    source: 'test',
  });
  const best = (...found: RankedBrowser[]) => rankBrowsers(found).map(({ path }) => path);

  it('is a headless shell', () => {
    expect(best(aBrowser('full', '156.0.0.2', 'chromium'), aBrowser('shell', '156.0.0.1'))).toEqual(['shell', 'full']);
    expect(best(aBrowser('full', '157.0.0.1', 'chromium'), aBrowser('shell', '156.0.0.1'))).toEqual(['shell', 'full']);
  });

  it('is not an old copy of our own if a newer browser exists', () => {
    expect(best(aBrowser('own', '147.0.0.1'), aBrowser('system', '156.0.0.1'))).toEqual(['system', 'own']);
    expect(best(aBrowser('own', '147.0.0.1'), aBrowser('system', '156.0.0.1', 'chromium'))).toEqual(['system', 'own']);
  });

  it('is our own copy if both are equal', () => {
    expect(best(aBrowser('own', '156.0.0.1'), aBrowser('system', '156.0.0.2'))).toEqual(['own', 'system']);
  });

  it('is not one that failed recently, whose version makes no other browser count as old', () => {
    const failed = aBrowser('system', '170.0.0.1', 'headless-shell', true);
    expect(best(failed, aBrowser('full', '156.0.0.1', 'chromium'), aBrowser('old', '147.0.0.1'))).toEqual(['full', 'old', 'system']);
  });
});

it("the age of a browser is described when it is far behind Playwright's own version", () => {
  expect(describeAge('999.0.0.0')).toBeNull();
  expect(describeAge('100.0.1.2')).toMatch(/^\d+ major versions behind Chromium \d+/);
  expect(describeAge('unknown')).toBeNull();
});

describe('an installation command', () => {
  const limits = { timeoutMs: 60_000, silenceMs: 60_000 };

  it('reports the line that is most likely the reason when it fails', async () => {
    const script = 'echo working; echo "Error: getaddrinfo ENOTFOUND cdn.example.com" >&2; echo bye; exit 1';
    await expect(runCommand('sh', ['-c', script], { cwd: dataDir, ...limits })).rejects.toThrow('getaddrinfo ENOTFOUND cdn.example.com');
  });

  it.each([
    ['with all its children when it prints nothing for too long', 'sleep 300 & wait', { silenceMs: 200 }, 'no output for 0.2 s'],
    ['when it takes too long, however much it prints', 'while :; do echo on; sleep 0.05; done', { timeoutMs: 400 }, 'not done after 0.4 s'],
  ])('is killed %s', async (_when, script, limit, why) => {
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
