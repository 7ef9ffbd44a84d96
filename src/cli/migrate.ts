import type { Command } from 'commander';
import { createLog } from '../log.js';
import { STORE_FILES } from '../package-files.js';
import { lockDataDir } from '../store/sqlite/lock-data-dir.js';
import { addSettings, readSettings } from './settings-flags.js';
import { print } from './with-store.js';

/** `stillframe migrate`: brings the database up to date without starting a server; refuses while one runs. */
export function addMigrateCommand(program: Command): void {
  const migrate = program
    .command('migrate')
    .description('migrate the database after an upgrade, as the next start would; not while a server runs')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe migrate --data-dir /var/lib/stillframe');
  addSettings(migrate, ['dataDir']).action(async (options: { json?: boolean }, command: Command) => {
    const config = readSettings(command);
    const log = createLog({ level: 'info', format: config.logFormat });
    using _lock = lockDataDir(config.dataDir);
    const { openStore } = await import('../store/sqlite/open-store.js');
    await using _store = await openStore({ dataDir: config.dataDir, ...STORE_FILES, migrates: 'wholly', log });
    print(options.json, { migrated: true }, () => 'The database is up to date.');
  });
}
