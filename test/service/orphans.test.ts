import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { shardOf } from '../../src/artifacts/artifact-name.js';
import { artifactsDirOf, openArtifactDirectory } from '../../src/artifacts/directory.js';
import { silentLog } from '../../src/log.js';
import { startService } from '../fixtures/start-service.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

it('a picture that a recent crash left without a job is removed by the next start', async () => {
  const dataDir = folderOfTest();
  const dir = artifactsDirOf(dataDir);
  await using artifacts = await openArtifactDirectory({ dir, log: silentLog() });
  const { name } = await artifacts.put(Buffer.from('a picture'), 'png');
  const aMomentAgo = Date.now() / 1_000 - 5;
  utimesSync(join(dir, shardOf(name), name), aMomentAgo, aMomentAgo);
  await using _service = await startService({}, dataDir);
  await expect.poll(() => artifacts.open(name)).toBeNull();
});
