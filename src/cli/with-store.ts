import { existsSync } from 'node:fs';
import { join } from 'node:path';
import CliTable from 'cli-table3';
import { type Command, InvalidArgumentError } from 'commander';
import type { Config } from '../config.js';
import { CREDITS_PATTERN } from '../contract/pricing.js';
import { createLog } from '../log.js';
import { openConfiguredStore } from '../service/open-configured-store.js';
import type { Store } from '../store/store.js';
import { OperatorError } from './operator-error.js';
import { addSettings, readSettings } from './settings-flags.js';

export interface Json {
  json?: boolean;
}

export interface StoreCommand {
  name: string;
  description: string;
  /** Help of the option --json. Default: `print JSON`. */
  json?: string;
  example: string;
}

/** Adds a command with the option --json. */
export function addJsonCommand(
  parent: Command,
  { name, description, json = 'print JSON', example }: StoreCommand,
): Command {
  return parent
    .command(name)
    .description(description)
    .option('--json', json)
    .addHelpText('after', `\nExample:\n  stillframe ${example}`);
}

/** Adds a command on the store, with the options --json and --data-dir. */
export function addStoreCommand(parent: Command, command: StoreCommand): Command {
  return addSettings(addJsonCommand(parent, command), ['dataDir']);
}

/**
 * Makes an action that opens the configured store for one command; a server may be running on it.
 * @param creates whether it creates the database in a data directory that has none. Default: it fails there with an OperatorError
 */
export function onStore<Arguments extends unknown[]>(
  work: (store: Store, ...args: Arguments) => Promise<void>,
  { creates = false }: { creates?: boolean } = {},
): (...args: [...Arguments, Command]) => Promise<void> {
  return (...args) => {
    const command = args.at(-1) as Command;
    return withStore(command, (store) => work(store, ...(args.slice(0, -1) as Arguments)), { creates });
  };
}

/** Opens the configured store, as `onStore` does, for work that needs the settings. */
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

/** Formats a text table without colors, since the kind of stream that it goes to is unknown. */
export function table(head: string[], rows: string[][]): string {
  const drawn = new CliTable({ head, style: { head: [], border: [] } });
  drawn.push(...rows);
  return drawn.toString();
}

/** Reads an argument that is a number of monthly credits, or `none` (null) for no limit. */
export function credits(value: string): number | null {
  if (value === 'none') return null;
  if (!CREDITS_PATTERN.test(value)) throw new InvalidArgumentError('It must be a whole number of credits, or none.');
  return Number(value);
}

export function describeCredits(limit: number | null): string {
  return limit === null ? 'no limit' : `${limit} credits a month`;
}

/** The account that the first start creates (operation.md, Start-up). */
export const DEFAULT_ACCOUNT = 'default';

/** Creates the default account if it does not exist. */
export async function ensureDefaultAccount(store: Pick<Store, 'createAccount'>): Promise<void> {
  await store.createAccount(DEFAULT_ACCOUNT, Date.now());
}
