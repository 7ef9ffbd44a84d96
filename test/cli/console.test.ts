import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../fixtures/run-command.js';
import { startService } from '../fixtures/start-service.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

test('the link opens the console of the running server, and sessions can be ended', async () => {
  await using service = await startService();
  const { dataDir: cwd, url } = service;
  // Nothing but the data directory says where the server is.
  const text = await runCommand(['console'], { cwd });
  expect([text.status, text.stderr]).toEqual([0, expect.stringContaining('works once')]);
  expect(text.stderr).toContain(`Server: ${url}, which runs on ${cwd}.`);
  expect(text.stdout).toMatch(new RegExp(`^${url}/console/enter\\?token=[\\w-]{43}\n$`));
  const token = text.stdout.trim().split('=')[1] ?? '';
  const body = new URLSearchParams({ link: token });
  const opened = await fetch(`${url}/console/enter`, {
    method: 'POST',
    headers: { origin: url },
    body,
    redirect: 'manual',
  });
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
  expect(nobody.stderr).toContain(`as the settings say; no server runs on ${cwd}.`);
  // A server that was killed has left its file behind.
  writeFileSync(
    join(cwd, 'server.json'),
    JSON.stringify({ url: 'http://127.0.0.1:9', base_url: 'http://127.0.0.1:9', console: 'on' }),
  );
  expect(await linkOf({})).toBe('http://127.0.0.1:3000/console/enter');
  expect(await linkOf({ STILLFRAME_PORT: '0' })).toContain('--port');
  expect(await linkOf({ STILLFRAME_CONSOLE: 'maybe' })).toContain('one of loopback, on, off');
});

test('commands find the server of their data directory, say which one it is, and a flag names another', async () => {
  const baseUrl = 'https://shots.example';
  await using service = await startService({ baseUrl, console: 'on' });
  const { dataDir: cwd, url } = service;
  const file = join(cwd, 'server.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const { id } = JSON.parse((await runCommand(['keys', 'create', '--label', 'links', '--json'], { cwd })).stdout) as {
    id: string;
  };
  await runCommand(['keys', 'signing-secret', id], { cwd });
  const sign = (...flags: string[]) => runCommand(['sign', 'example.com', '--key', id, ...flags], { cwd });
  expect(await sign()).toMatchObject({
    stdout: expect.stringMatching(/^https:\/\/shots\.example\//),
    stderr: `Server: ${url}, which runs on ${cwd}.\n`,
  });
  expect((await sign('--port', '4000')).stdout).toMatch(/^http:\/\/127\.0\.0\.1:4000\//);
  expect((await runCommand(['console'], { cwd })).stdout).toMatch(/^https:\/\/shots\.example\/console\/enter/);
  expect(JSON.parse((await runCommand(['top', '--once', '--json'], { cwd })).stdout)).toMatchObject({ url });
  for (const text of ['', '[]', '{"url":"file:///etc/passwd","base_url":"x","console":"on"}', 'x'.repeat(20_000)]) {
    writeFileSync(file, text);
    expect((await sign()).stdout).toMatch(/^http:\/\/127\.0\.0\.1:3000\//);
  }
  await service.service.stop();
  expect(existsSync(file)).toBe(false);
});
