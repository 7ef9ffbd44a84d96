import type { Command } from 'commander';
import type { Config } from '../config.js';
import { createLog } from '../log.js';
import type { ListStatus } from '../render/guard/blocker.js';
import { makeDirectory } from '../store/sqlite/data-directory.js';
import { addSettings, readSettings } from './settings-flags.js';
import { addJsonCommand, type Json, print } from './with-store.js';

/** Adds `stillframe lists status | update`, for the full filter lists beside the built-in rules. */
export function addListsCommand(program: Command): void {
  const lists = program
    .command('lists')
    .description('inspect or update the filter lists for ads, trackers, cookie banners, chat widgets and popups');
  addVerb(lists, 'status', 'show each filter list, its state and its age');
  addVerb(lists, 'update', 'fetch the filter lists that have changed');
}

function addVerb(lists: Command, verb: 'status' | 'update', help: string): void {
  const command = addJsonCommand(lists, { name: verb, description: help, example: `lists ${verb}` });
  const settings = ['dataDir', 'dnsServers', 'allowDestinations', 'denyDestinations'] as const;
  addSettings(command, settings).action(async ({ json }: Json, own: Command) => {
    const rows = await listStatus(readSettings(own), verb === 'update');
    print(json, rows, () => rows.map(describeRow).join('\n'));
  });
}

/** Opens the data directory's filter lists for one command. */
async function listStatus(config: Config, isUpdated: boolean): Promise<ListStatus[]> {
  const [{ openEgress }, { startBlocker }] = await Promise.all([
    import('../egress/open-egress.js'),
    import('../service/renderer.js'),
  ]);
  const log = createLog({ level: 'warn', format: config.logFormat });
  makeDirectory(config.dataDir);
  await using egress = await openEgress({ ...config, log });
  await using blocker = await startBlocker({ ...config, lists: false }, egress, log);
  return isUpdated ? await blocker.updateLists() : blocker.status();
}

function describeRow(row: ListStatus): string {
  const age = row.fetchedAt === null ? 'never fetched' : `fetched ${new Date(row.fetchedAt).toISOString()}`;
  return `${row.name}: ${row.state}, ${row.rules} rules, ${age}`;
}
