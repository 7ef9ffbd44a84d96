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
import { basename, dirname, join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ChromiumProcess } from '../../../src/render/launch/chromium-process.js';
import { type Executable, reachableBy } from '../../../src/render/launch/executable.js';
import { launchSandboxed, unprivilegedUser } from '../../../src/render/launch/launch-mode.js';
import { processGroup, renderersSandboxed } from '../../../src/render/launch/process-table.js';
import { profilesRoot } from '../../../src/render/launch/profile-dir.js';
import { ofFile } from '../../fixtures/of-file.js';
import { ANY_BROWSER, EACH_KIND } from '../install/any-browser.js';
import { aPool, aSite, browserPids, type TestPool, visit } from '../pool/fixture.js';

const root = process.getuid?.() === 0;

const site = await ofFile(aSite());

describe.each(EACH_KIND)('$kind', (executable) => {
  let test: TestPool;
  beforeAll(async () => {
    test = await aPool({ executable });
    return () => test[Symbol.asyncDispose]();
  });

  it('runs every renderer under a seccomp filter', async () => {
    await using _lease = await visit(test, site.url);
    const [browser = 0] = browserPids(test.runDir);
    expect(renderersSandboxed(browser)).toBe(true);
    expect(test.pool.sandboxed).toBe(true);
  });

  it.runIf(root)('runs no process as root when the server does', () => {
    const [browser = 0] = browserPids(test.runDir);
    // A process may end while it is listed, as the renderer of a page that was closed does.
    const statuses = processGroup(browser).map(({ pid }) =>
      execFileSync('sh', ['-c', `cat /proc/${pid}/status 2>/dev/null || true`]).toString(),
    );
    const uids = statuses.filter((status) => status !== '').map((status) => /^Uid:\s+(\d+)/m.exec(status)?.[1]);
    expect([...new Set(uids)]).toEqual([String(unprivilegedUser()?.uid)]);
  });

  it("listens on no port, and gets nothing of the server's environment", () => {
    const [browser = 0] = browserPids(test.runDir);
    // A descriptor may be closed while it is listed.
    const sockets = execFileSync('sh', ['-c', `ls -l /proc/${browser}/fd 2>/dev/null || true`]).toString();
    const inodes = [...sockets.matchAll(/socket:\[(\d+)\]/g)].map(([, inode]) => inode);
    expect(inodes).not.toEqual([]);
    const listening = ['tcp', 'tcp6'].flatMap((table) =>
      readFileSync(`/proc/${browser}/net/${table}`, 'utf8').split('\n'),
    );
    const own = listening
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === '0A' && inodes.includes(fields[9]));
    expect(own).toEqual([]);
    expect(readFileSync(`/proc/${browser}/environ`, 'utf8')).not.toMatch(/(^|\0)(npm_config_cache|VITEST)=/);
  });

  it('keeps its profile private', () => {
    const profile = join(profilesRoot(test.runDir), readdirSync(profilesRoot(test.runDir))[0] ?? '');
    expect(statSync(profile).mode & 0o777).toBe(0o700);
    expect(statSync(profilesRoot(test.runDir)).mode & 0o777).toBe(0o711);
  });

  it('opens no popup, sends no request for it, and continues', async () => {
    // Opener and popup may share a thread that only one of them can let go: once is no proof.
    for (let turn = 0; turn < 2; turn++) {
      await using lease = await visit(test, site.url);
      const { page, context } = lease.session;
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
    }
  });

  it('denies permissions that pages request', async () => {
    await using lease = await visit(test, site.url);
    const states = await lease.page.evaluate(async () => {
      const names = ['geolocation', 'notifications', 'camera', 'microphone', 'midi'] as PermissionName[];
      const asked = names.map(async (name) => (await navigator.permissions.query({ name })).state);
      return [...(await Promise.all(asked)), await Notification.requestPermission()];
    });
    expect(new Set(states)).toEqual(new Set(['denied']));
  });

  it('connects only through a proxy', async () => {
    const { started, mode } = await launchSandboxed(true, (tried) =>
      ChromiumProcess.launch({
        executable,
        profiles: profilesRoot(test.runDir),
        version: null,
        drawsOnDemand: false,
        signal: null,
        ...tried,
      }),
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
    await using lease = await visit(test, site.url);
    const failure = await Promise.all([
      lease.page.waitForEvent('download').then((download) => download.failure()),
      lease.page.evaluate(() => {
        Object.assign(document.createElement('a'), {
          href: 'data:application/octet-stream,x',
          download: 'x.bin',
        }).click();
      }),
    ]);
    expect(failure[0]).not.toBeNull();
  });
});

it('on a system that refuses the sandbox, a browser runs without it, unless it is required', async () => {
  const refusal =
    '[1:1:FATAL:content/browser/zygote_host/zygote_host_impl_linux.cc:129] No usable sandbox! If this is a Debian system, …';
  const executable = aWrapper(
    `case "$*" in *--no-sandbox*) exec "$BROWSER" "$@";; esac; echo '${refusal}' >&2; exit 1`,
  );
  await using test = await aPool({ executable });
  expect(test.pool.sandboxed).toBe(false);
  await expect(aPool({ executable, sandbox: 'required' })).rejects.toThrow(/STILLFRAME_SANDBOX=required/);
});

it('on a system that fails every start for another reason, there is no browser, and the attempts leave nothing behind', async () => {
  const runDir = aDirectory(0o755);
  const profiles = profilesRoot(runDir);
  await expect(aPool({ executable: aWrapper("echo 'no space left on device' >&2; exit 1"), runDir })).rejects.toThrow(
    /no space left/,
  );
  expect(existsSync(profiles)).toBe(false);
});

function aDirectory(mode: number): string {
  const dir = mkdtempSync('/var/tmp/stillframe-test-');
  chmodSync(dir, mode);
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A program in place of the browser, that anybody may run, and that finds the browser in its environment. */
function aWrapper(script: string): Executable {
  const home = aDirectory(0o777);
  const { env, ...browser } = reachableBy(unprivilegedUser(), ANY_BROWSER, () => home);
  const path = join(home, 'chromium');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return { ...browser, path, env: { ...env, BROWSER: browser.path } };
}

it.runIf(root)('a browser in a directory that is closed to others runs, and nothing else of it is opened', async () => {
  const [home, places] = [aDirectory(0o700), aDirectory(0o711)];
  cpSync(dirname(ANY_BROWSER.path), home, { recursive: true });
  writeFileSync(join(home, 'private.txt'), 'x', { mode: 0o600 });
  symlinkSync('/etc/shadow', join(home, 'link'));
  chmodSync(home, 0o700);
  const closed = { ...ANY_BROWSER, path: join(home, basename(ANY_BROWSER.path)) };
  const open = reachableBy(unprivilegedUser(), closed, () => places);
  expect(open.path).not.toBe(closed.path);
  expect(readdirSync(dirname(open.path)).filter((name) => ['private.txt', 'link'].includes(name))).toEqual([]);
  expect(reachableBy(unprivilegedUser(), closed, () => places)).toEqual(open);
  const test = await aPool({ executable: closed });
  const profiles = profilesRoot(test.runDir);
  expect(test.pool.sandboxed).toBe(true);
  expect([readdirSync(profiles).length, readdirSync(`${profiles}-browser`).length]).toEqual([1, 1]);
  await test[Symbol.asyncDispose]();
  expect(existsSync(`${profiles}-browser`)).toBe(false);
});
