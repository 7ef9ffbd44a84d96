import { execFileSync, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { folderOfFile } from '../fixtures/temporary-folder.js';

const ROOT = resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

const dir = folderOfFile();
// As npm installs it.
const command = join(dir, 'stillframe');
symlinkSync(join(ROOT, 'dist/main.js'), command);

const run = (file: string, args: string[], env: NodeJS.ProcessEnv = {}) =>
  execFileSync(file, args, { encoding: 'utf8', env: { PATH: process.env.PATH, ...env } }).trim();

it('the program runs as a command and by Node', () => {
  expect(run(command, ['--version'])).toBe(version);
  expect(run(process.execPath, [command, '--version'])).toBe(version);
});

it('does not load for the help of one command what other commands and captures need', () => {
  const coverage = join(dir, 'coverage');
  run(process.execPath, [command, 'capture', '--help'], { NODE_V8_COVERAGE: coverage });
  const urls = readdirSync(coverage).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(coverage, file), 'utf8')) as { result: { url: string }[] };
    return result.map(({ url }) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]);
  });
  expect(urls).toContain('commander');
  const heavy = /adblocker|better-sqlite3|cli-table3|drizzle-orm|hono|^pg$|playwright-core|sharp|undici|zod/;
  expect(urls.filter((name) => heavy.test(name ?? ''))).toEqual([]);
});

it('as a command it becomes Node, with its arguments and memory settings, unless the operator has set them', () => {
  writeFileSync(join(dir, 'node'), '#!/bin/sh\necho "$MALLOC_ARENA_MAX $MALLOC_MMAP_THRESHOLD_ $NODE_OPTIONS" "$@"\n');
  chmodSync(join(dir, 'node'), 0o755);
  const PATH = `${dir}:${process.env.PATH}`;
  expect(run(command, ['keys', 'create', '--label', 'two words'], { PATH })).toBe(
    `2 131072 --max-semi-space-size=8  ${command} keys create --label two words`,
  );
  // The last one of two sizes counts.
  const own = { MALLOC_ARENA_MAX: '7', NODE_OPTIONS: '--max-semi-space-size=32' };
  expect(run(command, ['serve'], { PATH, ...own })).toBe(
    `7 131072 --max-semi-space-size=8 --max-semi-space-size=32 ${command} serve`,
  );
});

it('the program restarts itself once, with the same settings and arguments, when Node starts it', () => {
  const preload = join(dir, 'execve.cjs');
  // Node 20 has no execve.
  writeFileSync(preload, 'process.execve = (...call) => { console.log(JSON.stringify(call)); process.exit(); };\n');
  const args = ['--require', preload, command, '--version'];
  const [file, again, env] = JSON.parse(run(process.execPath, args, { MALLOC_ARENA_MAX: '7' }));
  expect([file, ...again]).toEqual([process.execPath, process.execPath, ...args.slice(0, 2), command, '--version']);
  expect(env).toMatchObject({ MALLOC_ARENA_MAX: '7', MALLOC_MMAP_THRESHOLD_: '131072', PATH: process.env.PATH });
  expect(env.NODE_OPTIONS).toBe('--max-semi-space-size=8');
  expect(run(process.execPath, args, env)).toBe(version);
});

it('the program does not restart when a parent forked it, since the channel would be lost', async () => {
  const preload = join(dir, 'execve-fails.cjs');
  writeFileSync(preload, 'process.execve = () => process.exit(9);\n');
  const how = { execArgv: ['--require', preload], env: { PATH: process.env.PATH } };
  const child = fork(command, ['--version'], { ...how, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  expect(await once(child, 'exit')).toEqual([0, null]);
});

it('an unknown command is reported with a suggestion, and exits 2', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, 'key', 'create'], { encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain("unknown command 'key'");
  expect(stderr).toContain('Did you mean keys?');
});
