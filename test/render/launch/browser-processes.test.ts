import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { BrowserProcesses, killGroup, processGroup } from '../../../src/render/launch/process-table.js';

it('the loss of a zygote that its browser has not reaped is found, however often it is checked', async () => {
  // After `exec`, the parent does not ask after its child, which stays as a zombie without a command line.
  const script = `sh -c 'sleep 300; :' --type=zygote & echo "$!"; exec sleep 300`;
  const browser = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => killGroup(browser));
  const [said] = (await once(browser.stdout, 'data')) as [Buffer];
  const zygote = Number(String(said));
  const pid = browser.pid ?? 0;
  const processes = new BrowserProcesses(pid);
  processes.update(0);
  expect(processes.fault()).toBeNull();
  process.kill(zygote, 'SIGKILL');
  await expect.poll(() => processGroup(pid).find((one) => one.pid === zygote)?.state).toBe('Z');
  processes.update(60_000);
  expect(processes.fault()).toBe('its process zygote has ended');
});
