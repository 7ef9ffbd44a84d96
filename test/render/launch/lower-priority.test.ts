import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { lowerPriority } from '../../../src/render/launch/process-priority.js';
import { buildProgram } from '../../fixtures/build-program.js';

const USER = { uid: 60_911, gid: 60_911 };
/** Removes the right to lower the priority of another user's processes, as for a container's root. */
const AS_IN_A_CONTAINER = ['--bounding-set=-sys_nice', '--inh-caps=-sys_nice', '--'];

async function aSleeper(options = {}) {
  const child = spawn('/bin/sleep', ['60'], options);
  await once(child, 'spawn');
  return { pid: child.pid ?? 0, [Symbol.dispose]: () => void child.kill('SIGKILL') };
}

it('a process gets a higher niceness, never a lower one, and one that has ended is not an error', async () => {
  using sleeper = await aSleeper();
  await lowerPriority(sleeper.pid, 19, null);
  expect(getPriority(sleeper.pid)).toBe(19);
  await lowerPriority(sleeper.pid, 15, null);
  expect(getPriority(sleeper.pid)).toBe(19);
  await lowerPriority(2 ** 22 + 1, 19, null);
});

it.skipIf(process.getuid?.() !== 0)(
  "another user's process gets a lower priority even if root lacks the right",
  { timeout: 60_000 },
  async () => {
    await using program = await buildProgram(new URL('./lower-priority-program.ts', import.meta.url));
    using sleeper = await aSleeper(USER);
    const run = async (as: string) => {
      const args = [...AS_IN_A_CONTAINER, process.execPath, program.file, String(sleeper.pid), as];
      await promisify(execFile)('setpriv', args);
    };
    await run('ours');
    expect(getPriority(sleeper.pid)).toBe(getPriority());
    await run(String(USER.uid));
    expect(getPriority(sleeper.pid)).toBe(19);
  },
);
