import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { browserCommand } from '../../../src/render/launch/process-priority.js';
import { killGroup, readProcess } from '../../../src/render/launch/process-table.js';

/** A command that prints a line once it runs, and then waits. */
function start(command: string, args: string[]) {
  const grouped = browserCommand(command, args);
  return spawn(grouped.command, grouped.args, { detached: grouped.detached, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Whether the system shares the processor by session. */
const isShared = existsSync('/proc/sys/kernel/sched_autogroup_enabled')
  ? readFileSync('/proc/sys/kernel/sched_autogroup_enabled', 'latin1').trim() === '1' && existsSync('/usr/bin/perl')
  : false;
const shareOf = (pid: number | 'self') => readFileSync(`/proc/${pid}/autogroup`, 'latin1').split(' ')[0];

it('a command leads a group of its own, and ends with all its children', async () => {
  const child = start('/bin/sh', ['-c', 'sleep 300 & echo "$!"; wait']);
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  const [pid, below] = [child.pid ?? 0, Number(String(said))];
  expect(readProcess(pid)?.group).toBe(pid);
  expect(readProcess(below)?.group).toBe(pid);
  killGroup(child);
  expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
  await expect.poll(() => readProcess(below)?.state ?? 'gone', { timeout: 10_000 }).toMatch(/gone|Z/);
});

it.runIf(isShared)('a command gets no separate share of the processor', async () => {
  const child = start('/bin/sh', ['-c', 'echo ready; sleep 300']);
  await once(child.stdout, 'data');
  expect(shareOf(child.pid ?? 0)).toBe(shareOf('self'));
  killGroup(child);
  await once(child, 'exit');
});

it('a command that is killed before it leads a group ends too', async () => {
  const child = start('/bin/sleep', ['300']);
  killGroup(child);
  expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
});

it('a command that cannot be run reports an error', async () => {
  const child = start('/nonexistent/chromium', []);
  let said = '';
  child.stderr.on('data', (part: Buffer) => {
    said += String(part);
  });
  const [what] = (await Promise.race([once(child, 'error'), once(child, 'close')])) as [unknown];
  expect(`${what} ${said}`).toMatch(/\/nonexistent\/chromium/);
});

it('a perl that only root may run, or a missing one, is not used, since the browser runs as another user', () => {
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-test-'));
  const closed = join(dir, 'perl');
  writeFileSync(closed, '#!/bin/sh\n', { mode: 0o750 });
  const plain = { command: '/bin/chromium', args: ['--headless'], detached: true };
  expect(browserCommand('/bin/chromium', ['--headless'], { nice: [], perl: closed })).toEqual(plain);
  expect(browserCommand('/bin/chromium', ['--headless'], { nice: [], perl: join(dir, 'none') })).toEqual(plain);
  rmSync(dir, { recursive: true, force: true });
});
