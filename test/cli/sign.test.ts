import { join } from 'node:path';
import { expect, it } from 'vitest';
import { silentLog } from '../../src/log.js';
import { STORE_FILES } from '../../src/package-files.js';
import { openStore } from '../../src/store/sqlite/open-store.js';
import { runCommand } from '../fixtures/run-command.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';

const dir = folderOfFile();
const command = (...words: string[]) => runCommand([...words, '--data-dir', 'data'], { cwd: dir });

it('the help of `sign` lists the flags of the fields that a link may have, and no others', async () => {
  const { stdout } = await command('sign', '--help');
  const flags = new Set(stdout.match(/--[a-z][a-z-]*/g));
  for (const flag of ['--full-page', '--selector', '--device', '--pdf', '--cache-ttl', '--expires-in'])
    expect(flags).toContain(flag);
  for (const flag of flags) expect(flag).not.toMatch(/^--(headers?|proxy|cookies|storage|custom-js|webhook|html)/);
});

it('`sign` makes a link of the fields alone, and names the flag whose value the server would refuse', async () => {
  const { status, stdout } = await command('keys', 'create', '--label', 'links', '--json');
  expect(status).toBe(0);
  const { id } = JSON.parse(stdout) as { id: string };
  expect((await command('keys', 'signing-secret', id)).status).toBe(0);
  expect((await command('sign', 'example.com', '--key', id, '--cache-ttl', '60')).stdout).toContain('cache_ttl=60');
  const elsewhere = await command(
    'sign',
    'example.com',
    '--key',
    id,
    '--base-url',
    'https://shots.example.com',
    '--viewport-width',
    '800',
  );
  const { origin, searchParams } = new URL(elsewhere.stdout);
  const names = ['expires', 'key', 'url', 'viewport.width', 'signature'];
  expect([origin, [...searchParams.keys()]]).toEqual(['https://shots.example.com', names]);
  expect((await command('sign', 'example.com', '--key', id, '--format', 'pdf')).stdout).toContain('pdf.paper=letter');
  expect((await command('sign', 'example.com', '--key', id, '--format', 'jpg')).stdout).toContain('format=jpeg');
  const refused = await command('sign', 'example.com', '--key', id, '--quality', '0');
  expect(refused).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('--quality must be at least 1'),
  });
});

it('`keys` makes a key for links only, and limits their monthly cost', async () => {
  const made = JSON.parse((await command('keys', 'create', '--label', 'public', '--links-only', '--json')).stdout);
  expect(made.scopes).toEqual(['links']);
  const listed = async () =>
    JSON.parse((await command('keys', 'list', '--json')).stdout).find(({ id }: { id: string }) => id === made.id);
  expect(await listed()).toMatchObject({ links_limit: null, link_credits: 0 });
  expect((await command('keys', 'links-limit', made.id, '500')).stdout).toBe(
    `${made.id}: 500 credits a month for links.\n`,
  );
  expect(await listed()).toMatchObject({ links_limit: 500 });
  expect((await command('keys', 'list')).stdout).toContain('0 of 500');
  expect(JSON.parse((await command('keys', 'links-limit', made.id, 'none', '--json')).stdout)).toEqual({
    id: made.id,
    links_limit: null,
  });
  expect((await command('keys', 'links-limit', made.id, '-1')).status).not.toBe(0);
  const unknown = await command('keys', 'links-limit', 'key_unknown', '5');
  expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining('keys list') });
  const both = await command('keys', 'create', '--label', 'x', '--links-only', '--scope', 'jobs:read');
  expect(both).toMatchObject({ status: 2, stdout: '' });
});

it('`keys signing-secret` replaces a secret only with --rotate, keeps old links for 30 days, and says so', async () => {
  const { id } = JSON.parse((await command('keys', 'create', '--label', 'rotated', '--json')).stdout) as { id: string };
  const secretOf = (...flags: string[]) => command('keys', 'signing-secret', id, ...flags);
  const early = await secretOf('--old-until', 'now');
  expect(early).toMatchObject({ status: 2, stderr: expect.stringContaining('need --rotate') });
  const first = await secretOf();
  expect(first).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^sf_sign_/),
    stderr: expect.not.stringContaining('old'),
  });
  expect(await secretOf()).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('add --rotate') });
  const second = await secretOf('--rotate');
  const until = /work until (\S+)\. Sign/.exec(second.stderr)?.[1] ?? '';
  expect(Math.abs(Date.parse(until) - Date.now() - 30 * 86_400_000)).toBeLessThan(600_000);
  const third = await secretOf('--rotate', '--old-until', 'now');
  expect(third).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('--end-older') });
  const valid = async (at: number) => {
    await using store = await openStore({
      ...STORE_FILES,
      dataDir: join(dir, 'data'),
      migrates: 'no',
      log: silentLog(),
    });
    return await store.signingSecrets(id, at);
  };
  expect(await valid(Date.parse(until) - 1)).toEqual([second.stdout.trim(), first.stdout.trim()]);
  expect(await valid(Date.parse(until))).toEqual([second.stdout.trim()]);
  const last = await secretOf('--rotate', '--old-until', 'now', '--end-older');
  expect(last).toMatchObject({ status: 0, stderr: expect.stringContaining('do not work any longer') });
  expect(await valid(Date.now())).toEqual([last.stdout.trim()]);
  await command('keys', 'revoke', id);
  expect(await secretOf('--rotate')).toMatchObject({ status: 1, stderr: expect.stringContaining('revoked') });
});
