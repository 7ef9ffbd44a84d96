import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { Artifacts, StoredArtifact } from '../../src/artifacts/artifacts.js';
import { copyArtifacts } from '../../src/artifacts/copy-artifacts.js';
import { openArtifactDirectory } from '../../src/artifacts/directory.js';
import { silentLog } from '../../src/log.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';
import { countFiles } from './count-files.js';

let dir: string;
let artifacts: Artifacts;
let kept: StoredArtifact[];

beforeEach(async () => {
  dir = folderOfTest();
  artifacts = await openArtifactDirectory({ dir: join(dir, 'artifacts'), log: silentLog() });
  kept = await Promise.all(['one', 'two', 'three'].map((text) => artifacts.put(Buffer.from(text), 'png')));
  return () => artifacts[Symbol.asyncDispose]();
});

const copy = (wanted = kept) => copyArtifacts(join(dir, 'artifacts'), join(dir, 'copy'), wanted);

it('a copy contains the wanted artifacts in a directory that can replace the original', async () => {
  expect(await copy(kept.slice(0, 2))).toEqual({ copied: 2, missing: 0 });
  await using opened = await openArtifactDirectory({ dir: join(dir, 'copy'), log: silentLog() });
  expect(await countFiles(opened)).toBe(2);
  expect(readFileSync(join(dir, 'copy', kept[0]?.name.slice(0, 2) ?? '', kept[0]?.name ?? ''), 'utf8')).toBe('one');
});

it('a copy counts artifacts that were deleted meanwhile as missing', async () => {
  await artifacts.remove(kept[1]?.name ?? '');
  expect(await copy()).toEqual({ copied: 2, missing: 1 });
});

it('a copy refuses a picture of another size than recorded, and an existing target', async () => {
  const { name } = kept[0] ?? { name: '' };
  writeFileSync(join(dir, 'artifacts', name.slice(0, 2), name), 'shorter or longer');
  await expect(copy()).rejects.toThrow(/is damaged/);
  await expect(copy()).rejects.toThrow(/EEXIST/);
});
