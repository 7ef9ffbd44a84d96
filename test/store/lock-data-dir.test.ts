import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockDataDir } from '../../src/store/sqlite/lock-data-dir.js';
import { StoreError } from '../../src/store/store-error.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

it('a data directory admits one server, and the next one when it has ended', () => {
  const nested = join(folderOfTest(), 'not', 'yet', 'there');
  const first = lockDataDir(nested);
  expect(() => lockDataDir(nested)).toThrow(/Another stillframe server runs on/);
  first[Symbol.dispose]();
  lockDataDir(nested)[Symbol.dispose]();
  expect(existsSync(nested)).toBe(true);
});

it.runIf(existsSync('/proc'))('the lock of a data directory gives advice if no directory can be created', () => {
  expect(() => lockDataDir('/proc/stillframe/data')).toThrow(StoreError);
  expect(() => lockDataDir('/proc/stillframe/data')).toThrow('--data-dir');
});
