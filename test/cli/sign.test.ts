import { expect, it } from 'vitest';
import { runCommand } from '../fixtures/run-command.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';

const dir = folderOfFile();
const command = (...words: string[]) => runCommand([...words, '--data-dir', 'data'], { cwd: dir });

it('the help of `sign` lists the flags of the fields that a link may have, and no others', async () => {
  const { stdout } = await command('sign', '--help');
  const flags = new Set(stdout.match(/--[a-z][a-z-]*/g));
  for (const flag of ['--full-page', '--selector', '--device', '--pdf', '--cache-ttl', '--expires-in']) expect(flags).toContain(flag);
  for (const flag of flags) expect(flag).not.toMatch(/^--(headers?|proxy|cookies|storage|custom-js|webhook|html)/);
});

it('`sign` makes a link of the fields alone, and names the flag whose value the server would refuse', async () => {
  const { status, stdout } = await command('keys', 'create', '--label', 'links', '--json');
  expect(status).toBe(0);
  const { id } = JSON.parse(stdout) as { id: string };
  expect((await command('keys', 'signing-secret', id)).status).toBe(0);
  expect((await command('sign', 'example.com', '--key', id, '--cache-ttl', '60')).stdout).toContain('cache_ttl=60');
  const elsewhere = await command('sign', 'example.com', '--key', id, '--base-url', 'https://shots.example.com', '--viewport-width', '800');
  const { origin, searchParams } = new URL(elsewhere.stdout);
  const names = ['expires', 'key', 'url', 'viewport.width', 'signature'];
  expect([origin, [...searchParams.keys()]]).toEqual(['https://shots.example.com', names]);
  expect((await command('sign', 'example.com', '--key', id, '--format', 'jpg')).stdout).toContain('format=jpeg');
  const refused = await command('sign', 'example.com', '--key', id, '--quality', '0');
  expect(refused).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('--quality must be at least 1') });
});

it('`keys` makes a key for links only, and limits their monthly cost', async () => {
  const made = JSON.parse((await command('keys', 'create', '--label', 'public', '--links-only', '--json')).stdout);
  expect(made.scopes).toEqual(['links']);
  const listed = async () => JSON.parse((await command('keys', 'list', '--json')).stdout).find(({ id }: { id: string }) => id === made.id);
  expect(await listed()).toMatchObject({ links_limit: null, link_credits: 0 });
  expect((await command('keys', 'links-limit', made.id, '500')).stdout).toBe(`${made.id}: 500 credits a month for links.\n`);
  expect(await listed()).toMatchObject({ links_limit: 500 });
  expect((await command('keys', 'list')).stdout).toContain('0 of 500');
  expect(JSON.parse((await command('keys', 'links-limit', made.id, 'none', '--json')).stdout)).toEqual({ id: made.id, links_limit: null });
  expect((await command('keys', 'links-limit', made.id, '-1')).status).not.toBe(0);
  const unknown = await command('keys', 'links-limit', 'key_unknown', '5');
  expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining('keys list') });
  const both = await command('keys', 'create', '--label', 'x', '--links-only', '--scope', 'jobs:read');
  expect(both).toMatchObject({ status: 2, stdout: '' });
});
