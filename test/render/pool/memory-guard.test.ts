import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { silentLog } from '../../../src/log.js';
import { killProcess, readProcess } from '../../../src/render/launch/process-table.js';
import { type GuardedBrowser, MemoryGuard } from '../../../src/render/pool/memory-guard.js';

const MiB = 1024 ** 2;
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A process that has taken this much memory. */
async function aProcess(bytes: number): Promise<number> {
  const program = `globalThis.held = Buffer.alloc(${bytes}, 1); console.log('ready'); setInterval(() => {}, 1_000)`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  if (child.stdout === null || child.pid === undefined) throw new Error('the process was not started');
  await once(child.stdout, 'data');
  return child.pid;
}

/** Ends what it is told to end, and notes it. */
function aBrowser(pids: number[]): GuardedBrowser & { ended: number[]; shared: boolean[] } {
  const ended: number[] = [];
  const shared: boolean[] = [];
  return {
    ended,
    shared,
    ownProcesses: () => pids.flatMap((pid) => readProcess(pid) ?? []).map((entry) => ({ ...entry, role: 'renderer' })),
    endProcess: ({ pid }, isShared) => {
      ended.push(pid);
      shared.push(isShared);
      killProcess(pid);
    },
  };
}

it('the largest process ends while all together use more than the budget, and then no other', { timeout: 120_000 }, async () => {
  const [small, large, other] = await Promise.all([aProcess(1), aProcess(450 * MiB), aProcess(300 * MiB)]);
  const browsers = [aBrowser([small, large]), aBrowser([other])];
  const memoryBytes = process.memoryUsage.rss() + 700 * MiB;
  let looks = 0;
  const guarded = () => {
    looks++;
    return browsers;
  };
  using _guard = new MemoryGuard({ memoryBytes, browsers: guarded, log: silentLog() });
  await expect.poll(() => browsers[0]?.ended, { timeout: 60_000 }).toEqual([large]);
  const from = looks;
  await expect.poll(() => looks, { timeout: 60_000 }).toBeGreaterThan(from + 5);
  expect(browsers.map(({ ended }) => ended)).toEqual([[large], []]);
  // Its capture may have used no more than was reserved for it, so it is repeated.
  expect(browsers[0]?.shared).toEqual([true]);
});

it('a process that alone exceeds its limit ends as the fault of its own capture', { timeout: 120_000 }, async () => {
  const browser = aBrowser([await aProcess(600 * MiB)]);
  using _guard = new MemoryGuard({ memoryBytes: 1_024 * MiB, browsers: () => [browser], log: silentLog() });
  await expect.poll(() => browser.shared, { timeout: 60_000 }).toEqual([false]);
});

it('no small process ends, even if the server alone uses more than the budget', { timeout: 120_000 }, async () => {
  const browser = aBrowser([await aProcess(100 * MiB)]);
  let looks = 0;
  const guarded = () => {
    looks++;
    return [browser];
  };
  using _guard = new MemoryGuard({ memoryBytes: 1, browsers: guarded, log: silentLog() });
  await expect.poll(() => looks, { timeout: 60_000 }).toBeGreaterThan(5);
  expect(browser.ended).toEqual([]);
});
