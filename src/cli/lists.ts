import type { Command } from 'commander';
import { createLog } from '../log.js';
import { addSettings, readSettings } from './settings-flags.js';
import { print } from './with-store.js';

interface ListRow {
  name: string;
  state: string;
  rules: number;
  fetchedAt: number | null;
}

/** Adds `stillframe lists status | update`, for the full filter lists beside the built-in rules. */
export function addListsCommand(program: Command): void {
  const lists = program
    .command('lists')
    .description('inspect or update the filter lists for ads, trackers, cookie banners and chat widgets');
  addVerb(lists, 'status', 'show each filter list, its state and its age');
  addVerb(lists, 'update', 'fetch the filter lists that have changed');
}

function addVerb(lists: Command, verb: 'status' | 'update', help: string): void {
  const command = lists
    .command(verb)
    .description(help)
    .option('--json', 'print JSON')
    .addHelpText('after', `\nExample:\n  stillframe lists ${verb}`);
  addSettings(command, ['dataDir', 'dnsServers', 'allowDestinations', 'denyDestinations']).action(
    async (options: { json?: boolean }, own: Command) => {
      const config = readSettings(own);
      const { withBlocker } = await import('./with-blocker.js');
      const rows = await withBlocker(
        config,
        createLog({ level: 'warn', format: config.logFormat }),
        async (blocker): Promise<ListRow[]> => (verb === 'update' ? await blocker.updateLists() : blocker.status()),
      );
      print(options.json, rows, () => rows.map(describeRow).join('\n'));
    },
  );
}

function describeRow(row: ListRow): string {
  const age = row.fetchedAt === null ? 'never fetched' : `fetched ${new Date(row.fetchedAt).toISOString()}`;
  return `${row.name}: ${row.state}, ${row.rules} rules, ${age}`;
}
