/** The key of the vault, stored as a file in the data directory. */
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../store-error.js';
import { KEY_BYTES, type Vault, vaultOf } from '../vault.js';

const KEY_FILE = 'secret.key';

/**
 * Opens the key file of a data directory, and creates it on first use.
 * @throws StoreError
 */
export function openVault(dataDir: string): Vault {
  const file = join(dataDir, KEY_FILE);
  const key = readKey(file) ?? makeKey(file);
  if (key.length !== KEY_BYTES) {
    throw new StoreError(`${file} is not a key of ${KEY_BYTES} bytes: restore it from a backup.`);
  }
  return vaultOf([key]);
}

function readKey(file: string): Buffer | null {
  try {
    chmodSync(file, 0o600);
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new StoreError(`${file} cannot be read (${(error as Error).message}): it holds the key that encrypts stored secrets.`);
  }
}

/** Creates the key atomically; if two processes start at the same time, both use the first one. */
function makeKey(file: string): Buffer {
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const handle = openSync(draft, 'wx', 0o600);
  try {
    writeSync(handle, randomBytes(KEY_BYTES));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  return readFileSync(file);
}
