import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../fixtures/documents.js';
import { programEnv } from '../fixtures/run-program.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

/** Longer than the program takes to notice that its parent has gone. */
const NOTICED_MS = 3_000;
const SETTINGS = { STILLFRAME_PORT: '0', STILLFRAME_HOST: '127.0.0.8', STILLFRAME_LOG_FORMAT: 'json' };

/** Starts a server in a process group of its own, and waits until it is ready. */
async function startBy(command: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  const { npm_lifecycle_script: _ours, ...inherited } = programEnv({ cwd: folderOfTest() });
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { ...inherited, ...SETTINGS, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  onTestFinished(() => endGroup(child));
  const said: string[] = [];
  // The server holds this pipe, whichever process has started it.
  const ended = once(child.stderr, 'close');
  const url = await new Promise<string>((found, fail) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (line.includes('"msg":"ready"')) found((JSON.parse(line) as { url: string }).url);
    });
    void ended.then(() => fail(new Error(said.join('\n'))));
  });
  return { child, url, said, ended };
}

function endGroup({ pid = 0 }: ChildProcess): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

it.each(['SIGTERM', 'SIGKILL'] as const)('a server that npx has started drains when npx ends by %s', async (signal) => {
  const { child, url, said, ended } = await startBy('npx', ['stillframe', 'serve']);
  child.kill(signal);
  await ended;
  expect(said.filter((line) => line.includes('draining'))).toHaveLength(1);
  await expect(fetch(`${url}/livez`)).rejects.toThrow();
});

it('a signal to all processes of npx drains the server once', async () => {
  const { child, said, ended } = await startBy('npx', ['stillframe', 'serve']);
  process.kill(-(child.pid ?? 0), 'SIGTERM');
  await ended;
  expect(said.filter((line) => line.includes('draining'))).toHaveLength(1);
});

it('a server that was started in the background of a shell or an npm script, or by another program of one, outlives its parent', async () => {
  const parents = await Promise.all(
    [{}, { npm_lifecycle_script: 'nohup stillframe serve &' }, { npm_lifecycle_script: 'node start-servers.mjs' }].map(
      (env) => startBy('sh', ['-c', 'node dist/main.js serve & wait'], env),
    ),
  );
  for (const { child } of parents) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await pause(NOTICED_MS);
  for (const { url, said } of parents) {
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect(said.join('\n')).not.toContain('draining');
  }
});
