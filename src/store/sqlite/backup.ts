import { chmodSync, closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { BackedUp } from '../store.js';
import { StoreError } from '../store-error.js';
import { Database } from './driver.js';

/**
 * Copies a database in use, page by page, in its own read transaction: writes of other processes neither affect the copy nor restart it,
 * and it contains everything committed before the start. The file appears atomically, with mode 0600.
 * @returns the artifacts that the copy refers to
 * @throws StoreError if the file exists or cannot be written
 */
export async function backup(databaseFile: string, file: string): Promise<BackedUp> {
  if (existsSync(file)) throw new StoreError(`${file} already exists: name a new file.`);
  const draft = `${file}.${process.pid}.partial`;
  const source = new Database(databaseFile, { readonly: true, fileMustExist: true });
  try {
    closeSync(openSync(draft, 'wx', 0o600));
    source.exec('BEGIN');
    const artifacts = source.prepare<[], BackedUp['artifacts'][number]>('SELECT name, bytes FROM artifacts WHERE gone_at IS NULL').all();
    await source.backup(draft);
    chmodSync(draft, 0o600);
    sync(draft);
    linkSync(draft, file);
    sync(dirname(file));
    return { artifacts };
  } catch (error) {
    throw new StoreError(`The backup ${file} cannot be written (${(error as Error).message}).`, { cause: error });
  } finally {
    source.close();
    rmSync(draft, { force: true });
  }
}

function sync(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
