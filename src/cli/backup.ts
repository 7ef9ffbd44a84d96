import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { OperatorError } from './operator-error.js';
import { addSettings } from './settings-flags.js';
import { print, withStore } from './with-store.js';

/** `stillframe backup <file>`: a consistent copy of the database while the server runs. */
export function addBackupCommand(program: Command): void {
  const backup = program
    .command('backup')
    .description('a consistent copy of the database while the server runs')
    .argument('<file>', 'a file that does not exist yet')
    .option('--json', 'machine-readable')
    .addHelpText('after', '\nExample:\n  stillframe backup ~/stillframe-$(date +%F).db');
  addSettings(backup, ['dataDir']).action((file: string, options: { json?: boolean }, command: Command) =>
    withStore(command, async (store) => {
      const target = resolve(file);
      if (existsSync(target)) throw new OperatorError(`${target} exists already. Name a new file, or remove that one first.`);
      await store.backup(target);
      print(options.json, { file: target }, () => target);
    }),
  );
}
