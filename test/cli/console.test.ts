import { expect, test } from 'vitest';
import { runCommand } from '../fixtures/run-command.js';
import { startService } from '../fixtures/start-service.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

test('the link opens the console of the running server, and sessions can be ended', async () => {
  await using service = await startService();
  const { dataDir: cwd, url } = service;
  const port = new URL(url).port;
  const text = await runCommand(['console', '--port', port], { cwd });
  expect([text.status, text.stderr]).toEqual([0, expect.stringContaining('works once')]);
  expect(text.stdout).toMatch(new RegExp(`^${url}/console/enter\\?token=[\\w-]{43}\n$`));
  const token = text.stdout.trim().split('=')[1] ?? '';
  const body = new URLSearchParams({ link: token });
  const opened = await fetch(`${url}/console/enter`, { method: 'POST', headers: { origin: url }, body, redirect: 'manual' });
  expect(opened.status).toBe(303);
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  const look = async () => (await fetch(`${url}/console/system`, { headers: { cookie } })).status;
  expect(await look()).toBe(200);
  expect((await runCommand(['console', '--end-sessions', '--json'], { cwd })).stdout).toBe('{"ended":1}\n');
  expect(await look()).toBe(401);
});

test('the link leads to the address of the console', async () => {
  const cwd = folderOfTest();
  const linkOf = async (env: NodeJS.ProcessEnv) => {
    const { status, stdout, stderr } = await runCommand(['console', '--json'], { cwd, env });
    return status === 0 ? (JSON.parse(stdout) as { url: string }).url.split('?')[0] : stderr;
  };
  const publicly = { STILLFRAME_BASE_URL: 'https://shots.example/pictures' };
  await runCommand(['keys', 'create', '--label', 'first'], { cwd });
  expect(await linkOf({})).toBe('http://127.0.0.1:3000/console/enter');
  expect(await linkOf({ STILLFRAME_HOST: '0.0.0.0' })).toBe('http://127.0.0.1:3000/console/enter');
  expect(await linkOf({ STILLFRAME_HOST: '::1' })).toBe('http://[::1]:3000/console/enter');
  expect(await linkOf(publicly)).toBe('http://127.0.0.1:3000/console/enter');
  expect(await linkOf({ ...publicly, STILLFRAME_CONSOLE: 'on' })).toBe('https://shots.example/pictures/console/enter');
  expect(await linkOf({ STILLFRAME_CONSOLE: 'off' })).toContain('switched off');
  const nobody = await runCommand(['console'], { cwd, env: { STILLFRAME_PORT: '1' } });
  expect(nobody.stderr).toContain('No server answers at http://127.0.0.1:1.');
  expect(await linkOf({ STILLFRAME_PORT: '0' })).toContain('--port');
  expect(await linkOf({ STILLFRAME_CONSOLE: 'maybe' })).toContain('one of loopback, on, off');
});
