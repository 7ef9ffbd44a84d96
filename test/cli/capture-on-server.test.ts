import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../fixtures/run-command.js';
import { startService } from '../fixtures/start-service.js';
import { startUploadReceiver } from '../fixtures/upload-receiver.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'stillframe-server-'));
  mkdirSync(join(dir, 'page'));
  writeFileSync(join(dir, 'page/index.html'), '<link rel=stylesheet href=a.css><h1>On disk</h1><p>A page of two files.</p>');
  writeFileSync(join(dir, 'page/a.css'), 'body{background:#00f}');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it('captures a local page with its style sheet on a server, and uploads the picture', async () => {
  await using bucket = await startUploadReceiver('127.0.0.2');
  await using service = await startService({ webhookAllow: [bucket.origin] });
  const args = [
    'capture',
    'page/index.html',
    '-o',
    'page.png',
    '--server',
    service.url,
    '--upload-url',
    `${bucket.origin}/a.png?signature=f00d`,
  ];
  const run = await runCommand(args, { cwd: dir, env: { STILLFRAME_KEY: service.key } });
  expect(run.status, run.stderr).toBe(0);
  expect(run.stderr).toContain(`uploaded to ${bucket.origin}/a.png`);
  expect(run.stderr).not.toContain('f00d');
  expect(bucket.uploads.map(({ path, content }) => [path, content])).toEqual([
    ['/a.png?signature=f00d', readFileSync(join(dir, 'page.png'))],
  ]);
  const { data } = await sharp(join(dir, 'page.png')).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  expect([...data.subarray(0, 3)]).toEqual([0, 0, 255]);
});

it('refuses an upload without a server', async () => {
  const run = await runCommand(['capture', 'page/index.html', '-o', 'no.png', '--upload-url', 'https://bucket.example.com/a'], {
    cwd: dir,
  });
  expect(run).toMatchObject({ status: 2, stdout: '' });
  expect(run.stderr).toContain('--upload-url needs --server');
  expect(readdirSync(dir)).not.toContain('no.png');
});
