import type { Command } from 'commander';
import type { Config } from '../config.js';
import { createLog } from '../log.js';
import { STORE_FILES } from '../package-files.js';
import type { Store } from '../store/store.js';
import { readSettings } from './settings-flags.js';

/** Opens the data directory's store for one command; a server may be running on it. */
export async function withStore<Result>(command: Command, work: (store: Store, config: Config) => Promise<Result>): Promise<Result> {
  const config = readSettings(command);
  const log = createLog({ level: 'warn', format: config.logFormat });
  const { openStore } = await import('../store/sqlite/open-store.js');
  await using store = await openStore({ dataDir: config.dataDir, ...STORE_FILES, migrates: 'no', log });
  return await work(store, config);
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
