/**
 * Secrets at rest: encrypted with AES-256-GCM, compared by keyed digests (decisions.md, Webhooks and Idempotency). The database alone
 * reveals nothing.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { type CaptureOptions, defaultOptions } from '../contract/capture-request.js';

export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface Vault {
  /** @param place what the text belongs to, such as `order:<job id>`: it can only be decrypted for the same place */
  seal(text: string, place: string): Buffer;
  /** @throws Error if the text was changed, moved, or encrypted with another key */
  open(sealed: Buffer, place: string): string;
  /** Computes a keyed digest. Digests of the same text for different purposes differ. */
  digest(purpose: DigestPurpose, text: string): string;
  /** Returns whether a digest is that of the text, with any of the keys. */
  matches(purpose: DigestPurpose, text: string, digest: string): boolean;
}

type DigestPurpose = 'identity' | 'cache' | 'check' | 'link';

/** The places of the texts that the store encrypts. */
export const placeOf = {
  order: (jobId: string) => `order:${jobId}`,
  webhook: (jobId: string) => `webhook:${jobId}`,
  signing: (keyId: string) => `signing:${keyId}`,
  watch: (watchId: string) => `watch:${watchId}`,
};

/** Decrypts like `open`; null if that is impossible (another key, or a damaged row). */
export function openOrNull(vault: Pick<Vault, 'open'>, sealed: Buffer, place: string): string | null {
  try {
    return vault.open(sealed, place);
  } catch {
    return null;
  }
}

/** Encrypts the options of a job, since headers and proxies contain credentials. They are deleted at the job's end. */
export function encryptOptions(vault: Vault, jobId: string, options: CaptureOptions): Buffer {
  return vault.seal(JSON.stringify(options), placeOf.order(jobId));
}

/** Decrypts the options of a job; null if it has none, or if that is impossible. */
export function decryptOptions(vault: Vault, jobId: string, sealed: Buffer | null): CaptureOptions | null {
  const order = sealed === null ? null : openOrNull(vault, sealed, placeOf.order(jobId));
  // An order that was accepted before an upgrade lacks the options of the new version.
  return order === null ? null : { ...defaultOptions(), ...JSON.parse(order) };
}

/** Returns the options that can be decrypted, by job. */
export function decryptAllOptions(
  vault: Vault,
  orders: readonly { jobId: string; sealed: Buffer }[],
): Map<string, CaptureOptions> {
  const opened = orders.map(({ jobId, sealed }) => [jobId, decryptOptions(vault, jobId, sealed)] as const);
  return new Map(opened.flatMap(([jobId, options]) => (options === null ? [] : [[jobId, options]])));
}

const CHECK = 'this key belongs to this database';

/** Returns the mark by which a database recognizes its key, since another one would open no order and recognize no idempotency key. */
export function markOf(vault: Vault): string {
  return vault.digest('check', CHECK);
}

/** Returns whether a mark is that of any of the keys. */
export function recognizes(vault: Vault, mark: string): boolean {
  return vault.matches('check', CHECK, mark);
}

/**
 * @param keys of `KEY_BYTES`, at least one. The first encrypts; all decrypt, so that a key can be replaced while data that it encrypted is
 * still in use.
 */
export function vaultOf(keys: readonly Buffer[]): Vault {
  const [current, ...former] = keys.map(vaultOfKey);
  if (current === undefined) throw new Error('no key');
  const all = [current, ...former];
  return {
    seal: current.seal,
    digest: current.digest,
    matches: (purpose, text, digest) => all.some((one) => one.digest(purpose, text) === digest),
    open: (sealed, place) =>
      (former.find((one) => openOrNull(one, sealed, place) !== null) ?? current).open(sealed, place),
  };
}

type KeyVault = Omit<Vault, 'matches'>;

function vaultOfKey(key: Buffer): KeyVault {
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
      const decipher = createDecipheriv('aes-256-gcm', sealing, sealed.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const body = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([body, decipher.final()]).toString('utf8');
    },
    digest: (purpose, text) => createHmac('sha256', digesting).update(`${purpose}\n`).update(text).digest('base64url'),
  };
}
