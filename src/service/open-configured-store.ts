import { readFileSync } from 'node:fs';
import { type Config, ROLES, secretKeys } from '../config.js';
import { ConfigError } from '../contract/config-error.js';
import type { Log } from '../log.js';
import { PG_MIGRATIONS_DIR, STORE_FILES } from '../package-files.js';
import type { NodeFacts, Store } from '../store/store.js';
import { bucketOf } from './artifact-storage.js';

export interface OpeningOptions {
  /** Whether an older database is migrated or refused; `wholly` takes as long as the migration needs. */
  migrates: 'no' | 'at start' | 'wholly';
  /** The facts that a server shares with the others that use the database; null for a command. */
  facts: (() => NodeFacts) | null;
  log: Log;
}

/**
 * Opens the store that the settings name: PostgreSQL, or else SQLite in the data directory.
 * @throws one-line errors for the operator
 */
export async function openConfiguredStore(config: Config, { migrates, facts, log }: OpeningOptions): Promise<Store> {
  const keys = readSecretKeys(config);
  if (config.databaseUrl === null) {
    const { openStore } = await import('../store/sqlite/open-store.js');
    return await openStore({ dataDir: config.dataDir, ...STORE_FILES, secretKeys: keys, migrates, log });
  }
  if (keys === null) throw new ConfigError(`With STILLFRAME_DATABASE_URL, ${A_KEY} must be set.`);
  const { openPostgresStore } = await import('../store/postgres/open-store.js');
  return await openPostgresStore({
    url: config.databaseUrl,
    secretKeys: keys,
    migrationsDir: PG_MIGRATIONS_DIR,
    migrates: migrates !== 'no',
    facts,
    log,
  });
}

/**
 * Refuses settings with which a server could not read what another one has stored, or would send clients to a wrong address.
 * @throws ConfigError that names the missing settings
 */
export function checkShared(config: Config): void {
  if (config.databaseUrl === null) {
    if (config.roles.length === ROLES.length) return;
    throw new ConfigError(
      'STILLFRAME_ROLES leaves work to other servers: that needs a database that they share (STILLFRAME_DATABASE_URL).',
    );
  }
  const missing = [
    ...(readSecretKeys(config) === null ? [A_KEY] : []),
    ...(config.baseUrl === null ? ['STILLFRAME_BASE_URL'] : []),
    ...(bucketOf(config) === null
      ? ['STILLFRAME_S3_ENDPOINT, _BUCKET, _REGION, _ACCESS_KEY_ID and _SECRET_ACCESS_KEY']
      : []),
  ];
  if (missing.length > 0) {
    throw new ConfigError(
      `With STILLFRAME_DATABASE_URL, these must be set, the same for each server: ${missing.join('; ')}.`,
    );
  }
}

const A_KEY = 'STILLFRAME_SECRET_KEY or STILLFRAME_SECRET_KEY_FILE';

/** Reads the keys of the settings; null if the key file of the data directory is used. */
function readSecretKeys({ secretKey, secretKeyFile }: Config): Buffer[] | null {
  if (secretKey !== null && secretKeyFile !== null) {
    throw new ConfigError('STILLFRAME_SECRET_KEY and STILLFRAME_SECRET_KEY_FILE are both set: remove one of them.');
  }
  if (secretKeyFile === null) return secretKey;
  let content: Buffer;
  try {
    content = readFileSync(secretKeyFile);
  } catch (error) {
    throw new ConfigError(`STILLFRAME_SECRET_KEY_FILE cannot be read: ${(error as Error).message}`);
  }
  // secret.key of a data directory holds the key itself.
  if (content.length === 32) return [content];
  const { data, error } = secretKeys.safeParse(content.toString('utf8').trim());
  if (error !== undefined)
    throw new ConfigError(`STILLFRAME_SECRET_KEY_FILE holds no key: it must be ${error.issues[0]?.message}.`);
  return data;
}
