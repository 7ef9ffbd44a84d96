import type { Command } from 'commander';
import type { Config } from '../config.js';
import { createLog } from '../log.js';
import { openConfiguredStore } from '../service/open-configured-store.js';
import type { Store } from '../store/store.js';
import { readSettings } from './settings-flags.js';

/** Opens the configured store for one command; a server may be running on it. */
export async function withStore<Result>(command: Command, work: (store: Store, config: Config) => Promise<Result>): Promise<Result> {
  const config = readSettings(command);
  const log = createLog({ level: 'warn', format: config.logFormat });
  await using store = await openConfiguredStore(config, { migrates: 'no', facts: null, log });
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
