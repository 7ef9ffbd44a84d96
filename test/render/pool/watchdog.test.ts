import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { processesNaming, processGroup, readProcess, roleOf } from '../../../src/render/launch/process-table.js';
import {
  ownedName,
  profilesRoot,
  sweepAbandoned,
  sweepProfiles,
  sweepTemporary,
} from '../../../src/render/launch/profile-dir.js';
import { SharedLoss } from '../../../src/render/page-session.js';
import type { PageLease } from '../../../src/render/pool/browser-pool.js';
import { ofFile } from '../../fixtures/of-file.js';
import { EACH_KIND } from '../install/any-browser.js';
import {
  aPool,
  aSite,
  browserPids,
  NEVER,
  serverProgram,
  someOptions,
  type TestPool,
  until,
  visit,
} from './fixture.js';

/** The promises are 2 to 3 s, and the trials hold them; here the machine may be busy with anything. */
const GENEROUS_MS = 20_000;

const LAYERS = `<!doctype html><title>layers</title><body>${'<i></i>'.repeat(400)}<style>
  i { position: fixed; inset: 0; backdrop-filter: blur(9px); background: rgba(9, 9, 90, 0.01) }
</style><script>
  let turn = 0;
  (function draw() { document.body.style.paddingTop = (turn++ % 9) + 'px'; requestAnimationFrame(draw) })()
</script>`;

const site = await ofFile(
  aSite({ '/layers': LAYERS, '/busy': '<!doctype html><title>busy</title><script>for (;;) {}</script>' }),
);
/** One browser with one page: many tests leave it, or its successor, as they found it. */
const shared = await ofFile(aPool());

/** That a capture after it has a page. */
async function works(test: TestPool): Promise<void> {
  await using _next = await visit(test, site.url);
}

/** A page of the shared pool, and its browser. */
async function aVisit() {
  await until(() => browserPids(shared.runDir).length === 1);
  const lease = await visit(shared, site.url);
  return Object.assign(lease, { browser: browserPids(shared.runDir)[0] ?? 0 });
}

/** Waits until the page is lost. @returns why */
async function lossOf({ session: { lost } }: Pick<PageLease, 'session'>): Promise<unknown> {
  if (!lost.aborted) await once(lost, 'abort');
  return lost.reason;
}

const CRASHED = { code: 'render_crashed', retriable: true };

it.each(['SIGKILL', 'SIGSTOP'] as const)(
  'a browser that gets %s is replaced in seconds, and loses only its own captures',
  async (signal) => {
    await using test = await aPool({ browsers: 2 });
    await until(() => test.pool.readyBrowsers() === 2);
    const leases = await Promise.all([visit(test, site.url), visit(test, site.url)]);
    const [victim = 0, ...others] = browserPids(test.runDir);
    expect(others).toHaveLength(1);
    const hit = performance.now();
    process.kill(victim, signal);
    expect(await Promise.race(leases.map(lossOf))).toMatchObject(CRASHED);
    await until(() => test.pool.readyBrowsers() === 2);
    expect(performance.now() - hit).toBeLessThan(GENEROUS_MS);
    const [left, ...more] = leases.filter(({ session }) => !session.lost.aborted);
    expect([await left?.page.title(), more]).toEqual(['fixture', []]);
    await Promise.all(leases.map((lease) => lease.release()));
    await works(test);
    expect(readProcess(victim)).toBeNull();
  },
);

it.each([
  ['network service', 'network.mojom.NetworkService', 'SIGSTOP'],
  ['zygotes', 'zygote', 'SIGKILL'],
  ['GPU process', 'gpu-process', 'SIGSTOP'],
] as const)('a browser whose %s (%s) gets %s is replaced, and its captures are lost', async (_, role, signal) => {
  await using lease = await aVisit();
  const victims = membersOf(lease.browser, role);
  expect(victims).not.toEqual([]);
  for (const pid of victims) process.kill(pid, signal);
  expect(await lossOf(lease)).toMatchObject(CRASHED);
  await works(shared);
  expect(browserPids(shared.runDir)).not.toContain(lease.browser);
});

it('a capture that ends before the next check finds out that its browser has lost its network service', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await using lease = await aVisit();
  lease.verify();
  expect(lease.session.lost.aborted).toBe(false);
  const [service = 0] = membersOf(lease.browser, 'network.mojom.NetworkService');
  const asked = once(silent, 'request');
  const failed = lease.page
    .goto(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/`)
    .catch((error: Error) => error);
  await asked;
  process.kill(service, 'SIGKILL');
  expect(await failed).toBeInstanceOf(Error);
  lease.verify();
  expect(lease.session.lost.reason).toMatchObject({ code: 'render_crashed' });
});

it('a stopped renderer loses its own capture, and the browser stays', async () => {
  await using lease = await aVisit();
  for (const pid of membersOf(lease.browser, 'renderer')) process.kill(pid, 'SIGSTOP');
  expect(await lossOf(lease)).toMatchObject(CRASHED);
  await lease.release();
  expect(browserPids(shared.runDir)).toEqual([lease.browser]);
});

it('a browser that responds but no longer draws is replaced', async () => {
  let skew = 0;
  await using test = await aPool({ now: () => Date.now() + skew });
  await using lease = await visit(test, site.url);
  const [browser = 0] = browserPids(test.runDir);
  const [drawing = 0] = membersOf(browser, 'gpu-process');
  process.kill(drawing, 'SIGSTOP');
  // A capture that has lasted for long makes it look.
  skew = 60_000;
  expect(await lossOf(lease)).toMatchObject(CRASHED);
  await works(test);
});

/** Half of it for one process. The process that has run other tests before may be large itself, and counts. */
const littleMemory = () => ({ memoryBytes: 1_000_000_000 + process.memoryUsage.rss() });

it('a page that uses too much memory loses its own capture, and the others stay', async () => {
  await using test = await aPool({ pagesPerBrowser: 2, ...littleMemory() });
  await using greedy = await visit(test, site.url);
  await using modest = await visit(test, site.url);
  await greedy.page.evaluate('const hoard = []; setInterval(() => hoard.push(new Uint8Array(20_000_000).fill(1)), 10)');
  expect(await lossOf(greedy)).toMatchObject(CRASHED);
  expect(await modest.page.title()).toBe('fixture');
  expect(modest.session.lost.aborted).toBe(false);
});

it.each(EACH_KIND)(
  'a GPU process that uses too much memory is ended with the captures that may be the cause ($kind)',
  async (executable) => {
    await using test = await aPool({ executable, pagesPerBrowser: 2, ...littleMemory() });
    const browsers = browserPids(test.runDir);
    const leases = await Promise.all([visit(test, null), visit(test, site.url)]);
    await leases[0]?.page.goto(`${site.url}/layers`, { waitUntil: 'commit' });
    for (const lease of leases)
      expect(await lossOf(lease)).toMatchObject({ ...CRASHED, cause: expect.any(SharedLoss) });
    await Promise.all(leases.map((lease) => lease.release()));
    expect(browserPids(test.runDir)).toEqual(browsers);
    await using next = await visit(test, site.url);
    expect(await next.page.screenshot()).toBeInstanceOf(Buffer);
  },
);

it('a GPU process that uses too much memory is ended with the only capture of a dedicated browser', async () => {
  await using test = await aPool(littleMemory());
  await using other = await visit(test, site.url);
  const greedy = await test.pool.acquireAlone(someOptions(), NEVER);
  expect(browserPids(test.runDir)).toHaveLength(2);
  await greedy.session.page.goto(`${site.url}/layers`, { waitUntil: 'commit' });
  expect(((await lossOf(greedy)) as Error).cause).not.toBeInstanceOf(SharedLoss);
  await greedy.release();
  await until(() => browserPids(test.runDir).length === 1);
  expect(other.session.lost.aborted).toBe(false);
  expect(await other.page.title()).toBe('fixture');
});

it.each(EACH_KIND)('a page in an endless loop is released in bounded time ($kind)', async (executable) => {
  await using test = await aPool({ executable });
  const lease = await visit(test, null);
  await lease.page.goto(`${site.url}/busy`, { waitUntil: 'commit' });
  const [browser = 0] = browserPids(test.runDir);
  const before = membersOf(browser, 'renderer');
  const asked = performance.now();
  await lease.release();
  expect(performance.now() - asked).toBeLessThan(GENEROUS_MS);
  await until(() => before.some((pid) => readProcess(pid) === null));
  await works(test);
});

describe('a killed server', () => {
  it('leaves no browser process behind, and its profile to the next start of another, unless its processes may be invisible from here', async () => {
    await using server = await serverProgram();
    const root = profilesRoot(server.runDir);
    const [browser = 0] = browserPids(server.runDir);
    const [profile = ''] = readdirSync(root);
    const sweep = () => sweepAbandoned(profilesRoot(shared.runDir));
    expect(readProcess(browser)).not.toBeNull();
    age(root);
    await sweep();
    expect(existsSync(join(root, profile))).toBe(true);
    // So that no other test's pool sweeps it before it is renamed.
    utimesSync(root, new Date(), new Date());
    server.child.kill('SIGKILL');
    await once(server.child, 'exit');
    const killed = performance.now();
    await until(() => processesNaming(root).length === 0 && groupOf(browser).length === 0);
    expect(performance.now() - killed).toBeLessThan(GENEROUS_MS);
    const elsewhere = profile.replace(
      /-(..)(....)$/,
      (_, namespace: string, rest: string) => `-${namespace === '00' ? '01' : '00'}${rest}`,
    );
    renameSync(join(root, profile), join(root, elsewhere));
    age(root);
    await sweep();
    expect(readdirSync(root)).toEqual([elsewhere]);
    renameSync(join(root, elsewhere), join(root, profile));
    mkdirSync(`${root}-browser/copy`, { recursive: true });
    age(root, `${root}-browser`);
    await using _other = await aPool();
    expect([root, `${root}-browser`].filter((place) => existsSync(place))).toEqual([]);
  });

  it('leaves stopped browsers to the next start, which kills them and removes their profiles', async () => {
    await using server = await serverProgram();
    const root = profilesRoot(server.runDir);
    const [browser = 0] = browserPids(server.runDir);
    const members = groupOf(browser);
    for (const pid of members) process.kill(pid, 'SIGSTOP');
    server.child.kill('SIGKILL');
    await once(server.child, 'exit');
    expect(readdirSync(root)).toHaveLength(1);
    expect(await sweepProfiles(root)).toBe(1);
    await until(() => members.every((pid) => readProcess(pid) === null));
    expect(readdirSync(root)).toEqual([]);
  });
});

/** The pids of a group that have not ended. */
function groupOf(leader: number): number[] {
  return processGroup(leader)
    .filter(({ state }) => state !== 'Z')
    .map(({ pid }) => pid);
}

/** Sets the times of these directories back by an hour. */
function age(...places: string[]): void {
  const then = Date.now() / 1_000 - 3_600;
  for (const place of places) utimesSync(place, then, then);
}

it('a sweep of temporary files keeps those of running servers, even of invisible ones', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const own = ownedName();
  const [pid = '', startTime = '', rest = ''] = own.split('-');
  const ended = `${pid}-${startTime}1-${rest}-abcdef`;
  const elsewhere = `${pid}-${startTime}1-${rest.startsWith('00') ? '01' : '00'}0000-abcdef`;
  const forgotten = `${elsewhere.slice(0, -6)}ghijkl`;
  for (const name of [own, ended, elsewhere, forgotten, 'something']) mkdirSync(join(dir, name));
  const longAgo = Date.now() / 1_000 - 2 * 3_600;
  utimesSync(join(dir, forgotten), longAgo, longAgo);
  expect(await sweepTemporary(dir)).toBe(2);
  expect(readdirSync(dir).sort()).toEqual([own, elsewhere, 'something'].sort());
  expect(await sweepTemporary(join(dir, 'missing'))).toBe(0);
});

it('a browser whose profile was removed is replaced, and its captures are lost', async () => {
  await using lease = await aVisit();
  rmSync(profilesRoot(shared.runDir), { recursive: true });
  lease.verify();
  expect(lease.session.lost.reason).toMatchObject({ code: 'render_crashed' });
  await works(shared);
});

function membersOf(leader: number, role: string): number[] {
  return processGroup(leader)
    .map(({ pid }) => pid)
    .filter((pid) => roleOf(pid) === role);
}

describe('a renderer that is killed', () => {
  it('while the answer of the document is awaited is a crash, and no failure of the target', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await using lease = await aVisit();
    silent.once('request', () => {
      for (const pid of membersOf(lease.browser, 'renderer')) process.kill(pid, 'SIGKILL');
    });
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    const outcome = await lease.session.cdp.send('Page.navigate', { url });
    expect(outcome.errorText).toBe('net::ERR_ABORTED');
    await lease.awaitCrash();
    expect(lease.session.lost.reason).toMatchObject(CRASHED);
  });

  it('in advance of its capture is not handed to it, however soon that begins', async () => {
    await using test = await aPool();
    await until(() => test.pool.readyBrowsers() === 1);
    const [browser = 0] = browserPids(test.runDir);
    for (const pid of membersOf(browser, 'renderer')) process.kill(pid, 'SIGKILL');
    await using lease = await visit(test, site.url);
    expect(await lease.page.title()).toBe('fixture');
    expect(lease.session.lost.aborted).toBe(false);
  });
});
