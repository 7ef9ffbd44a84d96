import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startBucketServer } from '../fixtures/bucket-server.js';
import { ofFile } from '../fixtures/of-file.js';
import { runCommand } from '../fixtures/run-command.js';
import { folderOfFile } from '../fixtures/temporary-folder.js';

const dir = folderOfFile();
const bucket = await ofFile(startBucketServer());
expect((await runCommand(['migrate'], { cwd: dir })).status).toBe(0);

const { endpoint, bucket: name, region, accessKeyId, secretAccessKey } = bucket.options;
const SETTINGS = {
  STILLFRAME_S3_ENDPOINT: endpoint,
  STILLFRAME_S3_BUCKET: name,
  STILLFRAME_S3_REGION: region,
  STILLFRAME_S3_ACCESS_KEY_ID: accessKeyId,
  STILLFRAME_S3_SECRET_ACCESS_KEY: secretAccessKey,
};

async function findingOf(
  env: Record<string, string>,
): Promise<{ state: string; found: string; advice: string } | undefined> {
  // Without a browser to start.
  const { stdout } = await runCommand(['doctor', '--json'], {
    cwd: dir,
    env: { STILLFRAME_CHROMIUM: '/nonexistent', ...env },
  });
  return JSON.parse(stdout).find(({ check }: { check: string }) => check === 'Bucket');
}

describe('doctor', () => {
  it('does not mention a bucket if there is none', async () => {
    expect(await findingOf({})).toBeUndefined();
  });

  it('writes, reads and removes an object', async () => {
    expect(await findingOf(SETTINGS)).toMatchObject({ state: 'ok' });
    const methods = bucket.requests.map((line) => line.split(' ')[0]);
    expect(methods).toEqual(['PUT', 'GET', 'DELETE', 'GET']);
    expect(bucket.names()).toEqual([]);
  });

  it.each([
    ['another bucket', { STILLFRAME_S3_BUCKET: 'elsewhere' }, 'NoSuchBucket', 'Create the bucket'],
    [
      'a wrong secret',
      { STILLFRAME_S3_SECRET_ACCESS_KEY: 'hush' },
      'SignatureDoesNotMatch',
      'STILLFRAME_S3_SECRET_ACCESS_KEY',
    ],
    [
      'a storage that is down',
      { STILLFRAME_S3_ENDPOINT: 'http://127.0.0.1:1' },
      'ECONNREFUSED',
      'STILLFRAME_S3_ENDPOINT',
    ],
    ['a part of the settings', { STILLFRAME_S3_BUCKET: '' }, 'STILLFRAME_S3_BUCKET', 'does not start'],
  ])('reports %s, with advice', async (_, over, found, advice) => {
    const finding = await findingOf({ ...SETTINGS, ...over });
    expect(finding?.state).toBe('fail');
    expect(finding?.found).toContain(found);
    expect(finding?.advice).toContain(advice);
    expect(JSON.stringify(finding)).not.toContain('hush');
  });
});

describe('backup', () => {
  it('warns that the pictures in the bucket are not part of it', async () => {
    const { status, stdout, stderr } = await runCommand(['backup', join(dir, 'a.db')], { cwd: dir, env: SETTINGS });
    expect([status, stdout.trim()]).toEqual([0, join(dir, 'a.db')]);
    expect(stderr).toContain('bucket pictures are not part of this copy');
  });

  it('refuses to copy them, before it copies anything', async () => {
    const { status, stderr } = await runCommand(['backup', join(dir, 'b.db'), '--artifacts'], {
      cwd: dir,
      env: SETTINGS,
    });
    expect(status).toBe(1);
    expect(stderr).toContain('The pictures are in the bucket pictures');
    expect((await runCommand(['backup', join(dir, 'b.db')], { cwd: dir })).status).toBe(0);
  });
});
