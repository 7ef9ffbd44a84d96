/**
 * Secrets at rest: encrypted with AES-256-GCM, compared by keyed digests (decisions.md, Webhooks and Idempotency). The key is a file in
 * the data directory; the database alone reveals nothing.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from './store-error.js';

const KEY_FILE = 'secret.key';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Vault {
  /** @param place what the text belongs to, such as `order:<job id>`: it can only be decrypted for the same place */
  seal(text: string, place: string): Buffer;
  /** @throws Error if the text was changed, moved, or encrypted with another key */
  open(sealed: Buffer, place: string): string;
  /** Keyed; digests of the same text for different purposes differ. */
  digest(purpose: 'identity' | 'cache' | 'check', text: string): string;
}

/** Opens the key file of a data directory; creates it on first use. @throws StoreError */
export function openVault(dataDir: string): Vault {
  const file = join(dataDir, KEY_FILE);
  const key = readKey(file) ?? makeKey(file);
  if (key.length !== KEY_BYTES) {
    throw new StoreError(`${file} is not a key of ${KEY_BYTES} bytes: restore it from a backup.`);
  }
  return vaultOf(key);
}

function vaultOf(key: Buffer): Vault {
  const sealing = Buffer.from(hkdfSync('sha256', key, '', 'stillframe seal', KEY_BYTES));
  const digesting = Buffer.from(hkdfSync('sha256', key, '', 'stillframe digest', KEY_BYTES));
  return {
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', sealing, nonce);
      cipher.setAAD(Buffer.from(place));
      const body = [cipher.update(text, 'utf8'), cipher.final()];
      return Buffer.concat([nonce, cipher.getAuthTag(), ...body]);
    },
    open(sealed, place) {
      const decipher = createDecipheriv('aes-256-gcm', sealing, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const body = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([body, decipher.final()]).toString('utf8');
    },
    digest: (purpose, text) => createHmac('sha256', digesting).update(`${purpose}\n`).update(text).digest('base64url'),
  };
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
