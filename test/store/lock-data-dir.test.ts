import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lockDataDir } from '../../src/store/sqlite/lock-data-dir.js';
import { StoreError } from '../../src/store/store-error.js';

describe('the lock of a data directory', () => {
  it('admits one server, and the next one when it has ended', () => {
    const dir = mkdtempSync(join(tmpdir(), 'stillframe-lock-'));
    const nested = join(dir, 'not', 'yet', 'there');
    const first = lockDataDir(nested);
    expect(() => lockDataDir(nested)).toThrow(/Another stillframe server runs on/);
    first[Symbol.dispose]();
    lockDataDir(nested)[Symbol.dispose]();
    expect(existsSync(nested)).toBe(true);
    rmSync(dir, { recursive: true });
  });

  it.runIf(existsSync('/proc'))('gives advice if no directory can be created', () => {
    expect(() => lockDataDir('/proc/stillframe/data')).toThrow(StoreError);
    expect(() => lockDataDir('/proc/stillframe/data')).toThrow('--data-dir');
  });
});
