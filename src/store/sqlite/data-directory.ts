import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { StoreError } from '../store-error.js';
import { KEY_BYTES, type Vault, vaultOf } from '../vault.js';

/**
 * Creates a directory, readable by this user only, and its missing parents. Node's `recursive` option never returns on file systems that
 * refuse to create anything, such as /proc.
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  mkdirSync(path, { mode: 0o700 });
}

/** Makes a data directory (0700). @throws StoreError */
export function prepareDirectory(dataDir: string): void {
  try {
    makeDirectory(dataDir);
    const { mode, uid } = statSync(dataDir);
    // A shared directory, such as /tmp, is not restricted; the files are 0600 in any case.
    const shared = (mode & 0o1000) !== 0 || uid !== process.getuid?.();
    if ((mode & 0o077) !== 0 && !shared) chmodSync(dataDir, 0o700);
  } catch (error) {
    throw unwritable(dataDir, error);
  }
}

export function unwritable(dataDir: string, error: unknown): StoreError {
  const reason = (error as NodeJS.ErrnoException).code ?? String(error);
  return new StoreError(
    `The data directory ${dataDir} is not writable (${reason}): give this user access to it, or choose another with --data-dir or STILLFRAME_DATA_DIR.`,
    { cause: error },
  );
}

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
    throw new StoreError(
      `${file} cannot be read (${(error as Error).message}): it holds the key that encrypts stored secrets.`,
    );
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
