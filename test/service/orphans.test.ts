import { copyFileSync, mkdirSync, mkdtempSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { shardOf } from '../../src/artifacts/artifact-name.js';
import { artifactsDirOf, openArtifactDirectory } from '../../src/artifacts/directory.js';
import { silentLog } from '../../src/log.js';
import { startSite } from '../fixtures/site/site.js';
import { startService } from '../fixtures/start-service.js';

it('a picture that a recent crash left without a job is removed by the next start', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-service-'));
  const dir = artifactsDirOf(dataDir);
  await using artifacts = await openArtifactDirectory({ dir, log: silentLog() });
  const { name } = await artifacts.put(Buffer.from('a picture'), 'png');
  const aMomentAgo = Date.now() / 1_000 - 5;
  utimesSync(join(dir, shardOf(name), name), aMomentAgo, aMomentAgo);
  await using _service = await startService({}, dataDir);
  await expect.poll(() => artifacts.open(name)).toBeNull();
});

it("a start without the pictures of the database's rows renders them again", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'stillframe-service-'));
  await using site = await startSite({ host: '127.0.0.2' });
  const restored = `${dataDir}-restored`;
  const wish = { url: site.url('/static'), viewport: { width: 320, height: 240, deviceScaleFactor: 1 } };
  const first = await startService({}, dataDir);
  expect((await first.post(wish)).status).toBe(200);
  await first.service.stop();
  mkdirSync(restored);
  for (const file of ['stillframe.db', 'secret.key']) copyFileSync(join(dataDir, file), join(restored, file));
  await first[Symbol.asyncDispose]();
  await using second = await startService({}, restored);
  const headers = { authorization: `Bearer ${first.key}` };
  const again = async () => (await second.post({ ...wish, cache_ttl: 3_600 }, headers)).body.data.cached;
  await expect.poll(again, { timeout: 30_000 }).toBe(false);
});
