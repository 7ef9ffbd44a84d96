import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChromiumProcess } from '../../../src/render/launch/chromium-process.js';
import { type Executable, reachableBy } from '../../../src/render/launch/executable.js';
import { launchSandboxed, unprivilegedUser } from '../../../src/render/launch/launch-mode.js';
import { renderersSandboxed } from '../../../src/render/launch/process-table.js';
import { profilesRoot } from '../../../src/render/pool/profile-dir.js';
import { ofFile } from '../../fixtures/of-file.js';
import { ANY_BROWSER, EACH_KIND } from '../install/any-browser.js';
import { aPool, aSite, browserPids, NEVER, someOptions, type TestPool } from '../pool/fixture.js';

const root = process.getuid?.() === 0;

const site = await ofFile(aSite());

describe.each(EACH_KIND)('$kind', (executable) => {
  let test: TestPool;
  beforeAll(async () => {
    test = await aPool({ executable });
  });
  afterAll(() => test[Symbol.asyncDispose]());

  it('runs every renderer under a seccomp filter', async () => {
    const lease = await test.pool.acquire(someOptions(), NEVER);
    await lease.session.page.goto(site.url);
    const [browser = 0] = browserPids(test.runDir);
    expect(renderersSandboxed(browser)).toBe(true);
    expect(test.pool.sandboxed).toBe(true);
    await lease.release();
  });

  it.runIf(root)('runs no process as root when the server does', () => {
    const [browser = 0] = browserPids(test.runDir);
    const group = execFileSync('ps', ['-eo', 'pgid,uid'])
      .toString()
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    const uids = new Set(group.filter(([pgid]) => pgid === String(browser)).map(([, uid]) => uid));
    expect([...uids]).toEqual([String(unprivilegedUser()?.uid)]);
  });

  it("listens on no port, and gets nothing of the server's environment", () => {
    const [browser = 0] = browserPids(test.runDir);
    // A descriptor may be closed while it is listed.
    const sockets = execFileSync('sh', ['-c', `ls -l /proc/${browser}/fd 2>/dev/null || true`]).toString();
    const inodes = [...sockets.matchAll(/socket:\[(\d+)\]/g)].map(([, inode]) => inode);
    expect(inodes).not.toEqual([]);
    const listening = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/${browser}/net/${table}`, 'utf8').split('\n'));
    const own = listening.map((line) => line.trim().split(/\s+/)).filter((fields) => fields[3] === '0A' && inodes.includes(fields[9]));
    expect(own).toEqual([]);
    const environment = readFileSync(`/proc/${browser}/environ`, 'utf8')
      .split('\0')
      .map((entry) => entry.split('=')[0]);
    expect(environment).not.toContain('npm_config_cache');
    expect(environment).not.toContain('VITEST');
  });

  it('keeps its profile private', () => {
    const profile = join(profilesRoot(test.runDir), readdirSync(profilesRoot(test.runDir))[0] ?? '');
    expect(statSync(profile).mode & 0o777).toBe(0o700);
    expect(statSync(profilesRoot(test.runDir)).mode & 0o777).toBe(0o711);
  });

  it('opens no popup, sends no request for it, and continues', async () => {
    // Opener and popup may share a thread that only one of them can let go: once is no proof.
    for (let turn = 0; turn < 2; turn++) {
      const lease = await test.pool.acquire(someOptions(), NEVER);
      const { page, context } = lease.session;
      await page.goto(site.url);
      site.requests.length = 0;
      await page.evaluate(async () => {
        window.open('/popup-1');
        window.open('/popup-2', '_blank', 'noopener,width=100,height=100');
        const link = Object.assign(document.createElement('a'), { href: '/popup-3', target: '_blank' });
        document.body.append(link);
        link.click();
        await fetch('/after');
      });
      expect(context.pages()).toEqual([page]);
      expect(site.requests.map(({ url }) => url).filter((url) => url.startsWith('/popup'))).toEqual([]);
      expect(await page.title()).toBe('fixture');
      await lease.release();
    }
  });

  it('denies permissions that pages request', async () => {
    const lease = await test.pool.acquire(someOptions(), NEVER);
    await lease.session.page.goto(site.url);
    const states = await lease.session.page.evaluate(async () => {
      const names = ['geolocation', 'notifications', 'camera', 'microphone', 'midi'] as PermissionName[];
      const asked = names.map(async (name) => (await navigator.permissions.query({ name })).state);
      return [...(await Promise.all(asked)), await Notification.requestPermission()];
    });
    await lease.release();
    expect(new Set(states)).toEqual(new Set(['denied']));
  });

  it('connects only through a proxy', async () => {
    const { started, mode } = await launchSandboxed(true, (tried) =>
      ChromiumProcess.launch({ executable, profiles: profilesRoot(test.runDir), version: null, signal: null, ...tried }),
    );
    await using chromium = started;
    expect(mode.sandbox).toBe(true);
    const page = await (await chromium.browser.newContext()).newPage();
    site.requests.length = 0;
    await expect(page.goto(site.url)).rejects.toThrow(/ERR_PROXY_CONNECTION_FAILED/);
    await expect(page.goto(site.elsewhere)).rejects.toThrow(/ERR_PROXY_CONNECTION_FAILED/);
    expect(site.requests).toEqual([]);
  });

  it('keeps no download', async () => {
    const lease = await test.pool.acquire(someOptions(), NEVER);
    await lease.session.page.goto(site.url);
    const failure = await Promise.all([
      lease.session.page.waitForEvent('download').then((download) => download.failure()),
      lease.session.page.evaluate(() => {
        Object.assign(document.createElement('a'), { href: 'data:application/octet-stream,x', download: 'x.bin' }).click();
      }),
    ]);
    expect(failure[0]).not.toBeNull();
    await lease.release();
  });
});

describe('on a system that', () => {
  const REFUSAL = '[1:1:FATAL:content/browser/zygote_host/zygote_host_impl_linux.cc:129] No usable sandbox! If this is a Debian system, …';

  it('refuses the sandbox, the browser runs without it, and this is logged', async () => {
    using home = aWrapper(`case "$*" in *--no-sandbox*) exec "$BROWSER" "$@";; esac; echo '${REFUSAL}' >&2; exit 1`);
    await using test = await aPool({ executable: home.executable });
    expect(test.pool.sandboxed).toBe(false);
    await expect(aPool({ executable: home.executable, sandbox: 'required' })).rejects.toThrow(/STILLFRAME_SANDBOX=required/);
  });

  it('fails every start for another reason, there is no browser, and the attempts leave nothing behind', async () => {
    using home = aWrapper("echo 'no space left on device' >&2; exit 1");
    const runDir = mkdtempSync(join(tmpdir(), 'stillframe-test-'));
    const profiles = profilesRoot(runDir);
    await expect(aPool({ executable: home.executable, runDir })).rejects.toThrow(/no space left/);
    expect(existsSync(profiles)).toBe(false);
  });
});

/** A program in place of the browser, that anybody may run, and that finds the browser in its environment. */
function aWrapper(script: string): { executable: Executable } & Disposable {
  const home = mkdtempSync(join('/var/tmp', 'stillframe-test-'));
  chmodSync(home, 0o777);
  const { env, ...browser } = reachableBy(unprivilegedUser(), ANY_BROWSER, () => home);
  const path = join(home, 'chromium');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return {
    executable: { ...browser, path, env: { ...env, BROWSER: browser.path } },
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}

it.runIf(root)('a browser in a directory that is closed to others runs, and nothing else of it is opened', async () => {
  const home = mkdtempSync(join('/var/tmp', 'stillframe-test-'));
  const places = mkdtempSync(join('/var/tmp', 'stillframe-test-'));
  try {
    cpSync(dirname(ANY_BROWSER.path), home, { recursive: true });
    writeFileSync(join(home, 'private.txt'), 'x', { mode: 0o600 });
    symlinkSync('/etc/shadow', join(home, 'link'));
    chmodSync(home, 0o700);
    chmodSync(places, 0o711);
    const closed = { ...ANY_BROWSER, path: join(home, basename(ANY_BROWSER.path)) };
    const open = reachableBy(unprivilegedUser(), closed, () => places);
    expect(open.path).not.toBe(closed.path);
    expect(readdirSync(join(open.path, '..'))).not.toContain('private.txt');
    expect(readdirSync(join(open.path, '..'))).not.toContain('link');
    expect(reachableBy(unprivilegedUser(), closed, () => places)).toEqual(open);
    const test = await aPool({ executable: closed });
    const profiles = profilesRoot(test.runDir);
    try {
      expect(test.pool.sandboxed).toBe(true);
      expect(readdirSync(profiles)).toHaveLength(1);
      expect(readdirSync(`${profiles}-browser`)).toHaveLength(1);
    } finally {
      await test[Symbol.asyncDispose]();
    }
    expect(existsSync(`${profiles}-browser`)).toBe(false);
  } finally {
    rmSync(home, { recursive: true, force: true });
    rmSync(places, { recursive: true, force: true });
  }
});
