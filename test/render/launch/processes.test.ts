import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import {
  BROWSER_NICENESS,
  browserCommand,
  lowerPriority,
  RendererPriority,
} from '../../../src/render/launch/process-priority.js';
import {
  BrowserProcesses,
  busyMs,
  killGroup,
  processGroup,
  readProcess,
  roleOf,
  threadsOf,
} from '../../../src/render/launch/process-table.js';
import type { OpenPageSession } from '../../../src/render/pool/open-page-session.js';
import { buildProgram } from '../../fixtures/build-program.js';
import { aPool, browserPids, visit } from '../pool/fixture.js';

const own = getPriority();
const SLEEP = ['-c', 'sleep 300 & echo "$!"; wait'];

/** A shell that leads a group and has said something; the group ends with the test. @returns the shell, its pid and the number that it said */
async function aShell(script: string[], command = { command: '/bin/sh', args: script, detached: true }) {
  const child = spawn(command.command, command.args, { detached: command.detached, stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => killGroup(child));
  const heard = async () => Number(String(((await once(child.stdout, 'data')) as [Buffer])[0]));
  return { child, pid: child.pid ?? 0, said: await heard(), heard };
}

async function aSleeper(options = {}) {
  const child = spawn('/bin/sleep', ['60'], options);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child.pid ?? 0;
}

it('a watch lists the processes of its group only, including later ones', async () => {
  const growing = ['-c', 'echo 0; while read -r line; do sleep 300 & echo "$!"; done'];
  const [mine, theirs] = await Promise.all([aShell(growing), aShell(growing)]);
  const another = ({ child, heard }: typeof mine) => {
    child.stdin.write('go\n');
    return heard();
  };
  const watch = new BrowserProcesses(mine.pid);
  const pids = (now: number) => new Set(watch.list(now).map(({ pid }) => pid));
  await another(theirs);
  expect(pids(0)).toEqual(new Set([mine.pid]));
  const first = await another(mine);
  await another(theirs);
  expect(pids(500)).toEqual(new Set([mine.pid, first]));
  const second = await another(mine);
  expect(pids(60_000)).toEqual(new Set([mine.pid, first, second]));
});

it('the loss of a zygote that its browser has not reaped is found, however often it is checked', async () => {
  // After `exec`, the parent does not ask after its child, which stays as a zombie without a command line.
  const { pid, said: zygote } = await aShell(['-c', `sh -c 'sleep 300; :' --type=zygote & echo "$!"; exec sleep 300`]);
  const processes = new BrowserProcesses(pid);
  processes.update(0);
  expect(processes.fault()).toBeNull();
  process.kill(zygote, 'SIGKILL');
  await expect.poll(() => processGroup(pid).find((one) => one.pid === zygote)?.state).toBe('Z');
  processes.update(60_000);
  expect(processes.fault()).toBe('its process zygote has ended');
});

it('the busy time of a process includes running and waiting for a processor, but not sleeping', async () => {
  const [busy, idle] = await Promise.all([aShell(['-c', 'echo 0; while :; do :; done']), aShell(SLEEP)]);
  const [before, rested] = [busyMs(busy.pid) ?? 0, busyMs(idle.pid) ?? 0];
  await expect.poll(() => (busyMs(busy.pid) ?? 0) - before, { timeout: 30_000 }).toBeGreaterThan(200);
  expect((busyMs(idle.pid) ?? 0) - rested).toBeLessThan(100);
  expect(busyMs(2 ** 30)).toBeNull();
});

it('a command leads a group of its own, and ends with all its children', async () => {
  const { child, pid, said } = await aShell([], browserCommand('/bin/sh', SLEEP));
  expect([readProcess(pid)?.group, readProcess(said)?.group]).toEqual([pid, pid]);
  killGroup(child);
  expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
  await expect.poll(() => readProcess(said)?.state ?? 'gone', { timeout: 10_000 }).toMatch(/gone|Z/);
});

/** Whether the system shares the processor by session. */
const AUTOGROUP = '/proc/sys/kernel/sched_autogroup_enabled';
const isShared =
  existsSync(AUTOGROUP) && readFileSync(AUTOGROUP, 'latin1').trim() === '1' && existsSync('/usr/bin/perl');

it.runIf(isShared)('a command gets no separate share of the processor', async () => {
  const shareOf = (pid: number | 'self') => readFileSync(`/proc/${pid}/autogroup`, 'latin1').split(' ')[0];
  expect(shareOf((await aShell([], browserCommand('/bin/sh', SLEEP))).pid)).toBe(shareOf('self'));
});

it('a command that is killed before it leads a group ends too, and one that cannot be run reports an error', async () => {
  const start = (path: string) => {
    const { command, args, detached } = browserCommand(path, ['300']);
    return spawn(command, args, { detached });
  };
  const sleeping = start('/bin/sleep');
  killGroup(sleeping);
  expect((await once(sleeping, 'exit'))[1]).toBe('SIGKILL');
  const missing = start('/nonexistent/chromium');
  const said: string[] = [];
  missing.stderr.on('data', (part: Buffer) => said.push(String(part)));
  const [what] = await Promise.race([once(missing, 'error'), once(missing, 'close')]);
  expect(`${what} ${said.join('')}`).toMatch(/\/nonexistent\/chromium/);
});

it('a perl that only root may run, or a missing one, is not used, since the browser runs as another user', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'stillframe-test-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  writeFileSync(join(dir, 'closed'), '#!/bin/sh\n', { mode: 0o750 });
  for (const perl of ['closed', 'none'].map((name) => join(dir, name))) {
    const plain = { command: '/bin/chromium', args: ['--headless'], detached: true };
    expect(browserCommand('/bin/chromium', ['--headless'], { nice: [], perl })).toEqual(plain);
  }
});

it('a process gets a higher niceness, never a lower one, and one that has ended is not an error', async () => {
  const sleeper = await aSleeper();
  for (const niceness of [19, 15]) {
    await lowerPriority(sleeper, niceness, null);
    expect(getPriority(sleeper)).toBe(19);
  }
  await lowerPriority(2 ** 22 + 1, 19, null);
});

it.runIf(process.getuid?.() === 0)(
  "another user's process gets a lower priority even if root lacks the right",
  async () => {
    const user = { uid: 60_911, gid: 60_911 };
    const sleeper = await aSleeper(user);
    await using program = await buildProgram(
      new URL('../../../src/render/launch/process-priority.ts', import.meta.url),
    );
    // Without the right to lower the priority of another user's processes, as for a container's root.
    const lower = (as: object | null) => {
      const script = `import('${program.file}').then((it) => it.lowerPriority(${sleeper}, 19, ${JSON.stringify(as)}))`;
      const args = ['--bounding-set=-sys_nice', '--inh-caps=-sys_nice', '--', process.execPath, '-e', script];
      return promisify(execFile)('setpriv', args);
    };
    await lower(null);
    expect(getPriority(sleeper)).toBe(own);
    await lower(user);
    expect(getPriority(sleeper)).toBe(19);
  },
);

it('every thread of a browser has a lower priority than the server, including those of a page, and those of one in the background an even lower one', async () => {
  await using test = await aPool();
  await using page = await visit(test, null);
  const [browser = 0] = browserPids(test.runDir);
  const members = processGroup(browser).map(({ pid }) => ({ pid, role: roleOf(pid), threads: threadsOf(pid) }));
  const renderer = members.find(({ role }) => role === 'renderer')?.threads ?? [];
  expect(renderer.length).toBeGreaterThan(3);
  // A thread may end meanwhile.
  const highest = (threads: number[]) => Math.min(...threads.flatMap((thread) => readNiceness(thread) ?? []));
  expect(highest(members.flatMap(({ threads }) => threads))).toBeGreaterThanOrEqual(own + BROWSER_NICENESS);
  const { rendererPid } = page.session as OpenPageSession;
  expect(members.map(({ pid }) => pid)).toContain(rendererPid);
  page.lowerPriority();
  const lower = Math.min(own + BROWSER_NICENESS + 10, 19);
  expect(highest(threadsOf(rendererPid ?? 0))).toBe(lower);
  expect(highest([browser])).toBeLessThan(lower);
});

it('only a renderer that runs for long gets an ever lower priority', async () => {
  const [greedy, modest, other] = await Promise.all([aSleeper(), aSleeper(), aSleeper()]);
  const priority = new RendererPriority(null);
  const of = (pid: number, cpuTicks: number, role = 'renderer') => ({
    pid,
    state: 'S',
    parent: 1,
    group: 1,
    startTime: 0,
    cpuTicks,
    role,
  });
  const look = (ticks: number) => {
    priority.update([of(greedy, ticks), of(modest, 35), of(other, 900, 'gpu-process')]);
    return [greedy, modest, other].map((pid) => getPriority(pid));
  };
  expect(look(39)).toEqual([own, own, own]);
  expect(look(41)).toEqual([Math.min(own + 13, 19), own, own]);
  expect(look(101)).toEqual([19, own, own]);
});

function readNiceness(thread: number): number | null {
  try {
    return getPriority(thread);
  } catch {
    return null;
  }
}
