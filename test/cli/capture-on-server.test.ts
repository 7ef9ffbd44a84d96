import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { runCommand } from '../fixtures/run-command.js';
import { startService } from '../fixtures/start-service.js';
import { folderOfFile, writeFiles } from '../fixtures/temporary-folder.js';
import { startUploadReceiver } from '../fixtures/upload-receiver.js';

const dir = folderOfFile();
const page = '<link rel=stylesheet href=a.css><h1>On disk</h1><p>A page of two files.</p>';
writeFiles(dir, { 'page/index.html': page, 'page/a.css': 'body{background:#00f}' });
const capture = (output: string, env: NodeJS.ProcessEnv, ...flags: string[]) =>
  runCommand(['capture', 'page/index.html', '-o', output, ...flags], { cwd: dir, env });

it('captures a local page with its style sheet on a server, and uploads the picture', async () => {
  await using bucket = await startUploadReceiver('127.0.0.2');
  await using service = await startService({ webhookAllow: [bucket.origin] });
  const upload = `${bucket.origin}/a.png?signature=f00d`;
  const run = await capture(
    'page.png',
    { STILLFRAME_KEY: service.key },
    '--server',
    service.url,
    '--upload-url',
    upload,
  );
  expect(run.status, run.stderr).toBe(0);
  expect(run.stderr).toContain(`uploaded to ${bucket.origin}/a.png`);
  expect(run.stderr).not.toContain('f00d');
  expect(bucket.uploads).toMatchObject([
    { path: '/a.png?signature=f00d', content: readFileSync(join(dir, 'page.png')) },
  ]);
  const { data } = await sharp(join(dir, 'page.png')).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  expect([...data.subarray(0, 3)]).toEqual([0, 0, 255]);
});

it('refuses an upload without a server', async () => {
  const run = await capture('no.png', {}, '--upload-url', 'https://bucket.example.com/a');
  expect(run).toMatchObject({ status: 2, stdout: '' });
  expect(run.stderr).toContain('--upload-url needs --server');
  expect(readdirSync(dir)).not.toContain('no.png');
});
