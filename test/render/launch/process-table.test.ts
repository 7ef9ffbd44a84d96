import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { BrowserProcesses, busyMs, killGroup } from '../../../src/render/launch/process-table.js';

const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    const gone = once(child, 'exit');
    killGroup(child);
    await gone;
  }
});

/** A group that starts another process for each line that it is told. @returns its leader's pid */
async function aGroup() {
  const child = spawn('/bin/sh', ['-c', 'while read -r line; do sleep 300 & echo "$!"; done'], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  children.push(child);
  const another = async () => {
    const said = once(child.stdout, 'data') as Promise<[Buffer]>;
    child.stdin.write('go\n');
    return Number(String((await said)[0]));
  };
  return { leader: child.pid ?? 0, another };
}

/** /proc lists them as text: 10000 before 9999. */
const pids = (watch: BrowserProcesses, now: number) =>
  watch
    .list(now)
    .map(({ pid }) => pid)
    .sort((a, b) => a - b);

it('a watch lists the processes of its group only, including later ones', async () => {
  const [mine, theirs] = await Promise.all([aGroup(), aGroup()]);
  const watch = new BrowserProcesses(mine.leader);
  await theirs.another();
  expect(pids(watch, 0)).toEqual([mine.leader]);
  const first = await mine.another();
  await theirs.another();
  expect(pids(watch, 500)).toEqual([mine.leader, first].sort((a, b) => a - b));
  const second = await mine.another();
  expect(pids(watch, 60_000)).toEqual([mine.leader, first, second].sort((a, b) => a - b));
});

it('the busy time of a process includes running and waiting for a processor, but not sleeping', async () => {
  const busy = spawn('/bin/sh', ['-c', 'while :; do :; done'], { detached: true, stdio: 'ignore' });
  children.push(busy);
  const { leader } = await aGroup();
  const [before, rested] = [busyMs(busy.pid ?? 0) ?? 0, busyMs(leader) ?? 0];
  await expect.poll(() => (busyMs(busy.pid ?? 0) ?? 0) - before, { timeout: 30_000 }).toBeGreaterThan(200);
  expect((busyMs(leader) ?? 0) - rested).toBeLessThan(100);
  expect(busyMs(2 ** 30)).toBeNull();
});
