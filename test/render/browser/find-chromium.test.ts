import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BrowserError } from '../../../src/render/browser/browser-error.js';
import { namedBrowser, ownCopies, systemBrowsers } from '../../../src/render/browser/browser-places.js';
import { findChromium, firstProven } from '../../../src/render/browser/find-chromium.js';
import { profilesRoot } from '../../../src/render/browser/profile-dir.js';
import { isProven, proveBrowser } from '../../../src/render/browser/prove-browser.js';
import { runCommand } from '../../../src/render/browser/run-command.js';
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

/** A program that stands where a browser would, and is none. */
function impostor(...path: string[]): string {
  const file = join(dataDir, ...path);
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  writeFileSync(file, '#!/bin/sh\necho "no browser here" >&2\nexit 3\n', { mode: 0o755 });
  return file;
}

describe('finding', () => {
  it('prefers the shells of the system to its full browsers', () => {
    const kinds = systemBrowsers().map(({ kind }) => kind);
    expect(kinds).toEqual([...kinds].sort().reverse());
  });

  it('takes the named one', async () => {
    expect(await findChromium({ chromium: ANY_BROWSER.path, dataDir })).toMatchObject({
      path: ANY_BROWSER.path,
      source: 'STILLFRAME_CHROMIUM',
    });
  });

  it.runIf(existsSync('/usr/lib/chromium/chromium'))("sees through a distribution's wrapper script", () => {
    expect(namedBrowser('/usr/bin/chromium', 'test').path).toBe('/usr/lib/chromium/chromium');
  });

  it.each(['/nonexistent/chromium', '/etc/passwd', '/bin/true'])(
    'stops at a named one that is none, and names the setting (%s)',
    async (path) => {
      const finding = findChromium({ chromium: path, dataDir });
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

  it('passes over a copy that does not capture', async () => {
    const path = impostor('chromium', 'chromium_headless_shell-1255', 'chrome-headless-shell-linux64', 'chrome-headless-shell');
    const found = await firstProven([...ownCopies(dataDir), ANY_BROWSER], dataDir, () => {});
    expect(ownCopies(dataDir)[0]?.path).toBe(path);
    expect(found).toEqual(ANY_BROWSER);
  });

  it('says of each that fails why', async () => {
    const path = impostor('somewhere', 'chromium');
    const heard: string[] = [];
    const found = await firstProven([{ path, kind: 'chromium', source: 'test' }], dataDir, (_, error) => heard.push(error.message));
    expect(found).toBeNull();
    expect(heard.join()).toContain('no browser here');
  });
});

describe('a proof', () => {
  it('is a capture, and tells the version', async () => {
    expect(await proveBrowser(ANY_BROWSER, dataDir)).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
  });

  it('is remembered for the very file, and no other', async () => {
    const link = join(dataDir, 'elsewhere');
    expect(isProven(ANY_BROWSER, dataDir)).toBe(false);
    await firstProven([ANY_BROWSER], dataDir, () => {});
    expect(isProven(ANY_BROWSER, dataDir)).toBe(true);
    symlinkSync(ANY_BROWSER.path, link);
    expect(isProven({ ...ANY_BROWSER, path: link }, dataDir)).toBe(false);
    const file = join(dataDir, 'chromium', 'proven.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"size":\d+/, '"size":1'));
    utimesSync(file, 0, 0);
    expect(isProven(ANY_BROWSER, dataDir)).toBe(false);
  });
});

describe('a command of an installation', () => {
  const limits = { timeoutMs: 60_000, silenceMs: 60_000 };

  it('that fails tells the line that looks like the reason', async () => {
    const script = 'echo working; echo "Error: getaddrinfo ENOTFOUND cdn.example.com" >&2; echo bye; exit 1';
    await expect(runCommand('sh', ['-c', script], { cwd: dataDir, ...limits })).rejects.toThrow('getaddrinfo ENOTFOUND cdn.example.com');
  });

  it('that falls silent is ended, with all that it started', async () => {
    const silent = runCommand('sh', ['-c', 'sleep 300 & wait'], { cwd: dataDir, timeoutMs: 60_000, silenceMs: 200 });
    await expect(silent).rejects.toThrow('no output for 0.2 s');
  });

  it('that takes too long is ended, however much it says', async () => {
    const endless = runCommand('sh', ['-c', 'while :; do echo still here; sleep 0.05; done'], {
      cwd: dataDir,
      timeoutMs: 400,
      silenceMs: 60_000,
    });
    await expect(endless).rejects.toThrow('not done after 0.4 s');
  });

  it('that is not there is called not installed', async () => {
    await expect(runCommand('no-such-program', [], { cwd: dataDir, ...limits })).rejects.toThrow('no-such-program is not installed');
  });
});
