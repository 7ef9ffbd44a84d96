import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../config.js';
import { createLog } from '../log.js';
import { openConfiguredStore } from '../service/open-configured-store.js';
import type { Store } from '../store/store.js';
import { OperatorError } from './operator-error.js';
import { readSettings } from './settings-flags.js';

/**
 * Opens the configured store for one command; a server may be running on it.
 * @param creates whether the command creates the database in a data directory that has none. Default: it fails there
 * @throws OperatorError if there is no database
 */
export async function withStore<Result>(
  command: Command,
  work: (store: Store, config: Config) => Promise<Result>,
  { creates = false }: { creates?: boolean } = {},
): Promise<Result> {
  const config = readSettings(command);
  if (!creates) await refuseWithoutDatabase(config);
  const log = createLog({ level: 'warn', format: config.logFormat });
  await using store = await openConfiguredStore(config, { migrates: 'no', facts: null, log });
  return await work(store, config);
}

/**
 * Refuses a data directory without a database, since an empty result would hide that the command looks in the wrong place.
 * @throws OperatorError
 */
export async function refuseWithoutDatabase({ databaseUrl, dataDir }: Config): Promise<void> {
  if (databaseUrl !== null) return;
  const { DATABASE_FILE } = await import('../store/sqlite/connect.js');
  if (existsSync(join(dataDir, DATABASE_FILE))) return;
  throw new OperatorError(
    `There is no database in ${dataDir}. Name the server's data directory with --data-dir or STILLFRAME_DATA_DIR, or start the server once: stillframe`,
  );
}

/** Prints a command's result, as JSON or as text. */
export function print(json: boolean | undefined, value: unknown, text: () => string): void {
  process.stdout.write(`${json ? JSON.stringify(value) : text()}\n`);
}

/** The account that the first start creates (operation.md, Start-up). */
export const DEFAULT_ACCOUNT = 'default';

/** Creates the default account if it does not exist. */
export async function ensureDefaultAccount(store: Pick<Store, 'createAccount'>): Promise<void> {
  await store.createAccount(DEFAULT_ACCOUNT, Date.now());
}
