import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { silentLog } from '../../../src/log.js';
import { killProcess, memoryOf, readProcess } from '../../../src/render/launch/process-table.js';
import { MemoryGuard } from '../../../src/render/pool/memory-guard.js';

const MiB = 1024 ** 2;
const TIMEOUT = { timeout: 60_000 };

/** A process that has taken this much memory. It takes as much as it is told to by a line on its standard input. */
async function startProcess(bytes: number) {
  const program = `
    const held = [];
    const take = (bytes) => console.log(held.push(Buffer.alloc(Number(bytes), 1)));
    take(${bytes});
    process.stdin.on('data', take);`;
  const child = spawn(process.execPath, ['-e', program]);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return { pid: child.pid ?? 0, take: (more: number) => child.stdin.write(String(more)) };
}

const aProcess = async (bytes: number) => (await startProcess(bytes)).pid;

const anonymousBytes = (pid: number) => memoryOf(pid).ownBytes;

/** Guards browsers of these processes. @returns what it has ended, and how often it has looked */
function guard(memoryBytes: number, ...browsers: number[][]) {
  const ended: { pid: number; isShared: boolean }[] = [];
  const guarded = browsers.map((pids) => ({
    ownProcesses: () => pids.flatMap((pid) => readProcess(pid) ?? []).map((entry) => ({ ...entry, role: 'renderer' })),
    endProcess: ({ pid }: { pid: number }, isShared: boolean) => {
      ended.push({ pid, isShared });
      killProcess(pid);
    },
  }));
  const seen = { ended, looks: 0 };
  const all = () => {
    seen.looks++;
    return guarded;
  };
  const memory = new MemoryGuard({ memoryBytes, browsers: all, log: silentLog() });
  onTestFinished(() => memory[Symbol.dispose]());
  return seen;
}

it('the largest process ends while all together use more than the budget, and then no other', {
  timeout: 120_000,
}, async () => {
  const [small, large, other] = await Promise.all([aProcess(1), aProcess(450 * MiB), aProcess(300 * MiB)]);
  const seen = guard(process.memoryUsage.rss() + 700 * MiB, [small, large], [other]);
  // Its capture may have used no more than was reserved for it, so it is repeated.
  await expect.poll(() => seen.ended, TIMEOUT).toEqual([{ pid: large, isShared: true }]);
  const from = seen.looks;
  await expect.poll(() => seen.looks, TIMEOUT).toBeGreaterThan(from + 5);
  expect(seen.ended).toHaveLength(1);
});

it('the largest process ends before the budget is exceeded if memory grows that fast', {
  timeout: 120_000,
}, async () => {
  const [steady, growing] = await Promise.all([aProcess(450 * MiB), startProcess(1)]);
  const before = anonymousBytes(growing.pid);
  const used = process.memoryUsage.rss() + anonymousBytes(steady) + before;
  const seen = guard(used + 500 * MiB, [steady], [growing.pid]);
  await expect.poll(() => seen.looks, TIMEOUT).toBeGreaterThan(0);
  growing.take(470 * MiB);
  // The guard's timer waits meanwhile, so that its next check sees all of the growth.
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + 30_000;
  while (anonymousBytes(growing.pid) < before + 470 * MiB && performance.now() < deadline) Atomics.wait(cell, 0, 0, 20);
  await expect.poll(() => seen.ended, TIMEOUT).toEqual([{ pid: growing.pid, isShared: true }]);
});

it('a process that alone exceeds its limit ends as the fault of its own capture', { timeout: 120_000 }, async () => {
  const pid = await aProcess(600 * MiB);
  const seen = guard(1_024 * MiB, [pid]);
  await expect.poll(() => seen.ended, TIMEOUT).toEqual([{ pid, isShared: false }]);
});

it('reads the processes once a second while they may take much more memory', { timeout: 60_000 }, async () => {
  const seen = guard(Number.MAX_SAFE_INTEGER, [process.pid]);
  const began = performance.now();
  await expect.poll(() => seen.looks, TIMEOUT).toBeGreaterThan(2);
  expect(seen.looks).toBeLessThanOrEqual(1 + (performance.now() - began) / 1_000);
});

it('no small process ends, even if the server alone uses more than the budget', { timeout: 120_000 }, async () => {
  const seen = guard(1, [await aProcess(100 * MiB)]);
  await expect.poll(() => seen.looks, TIMEOUT).toBeGreaterThan(5);
  expect(seen.ended).toEqual([]);
});
