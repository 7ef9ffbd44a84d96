import type { Command } from 'commander';
import { createLog } from '../log.js';
import { openConfiguredStore } from '../service/open-configured-store.js';
import { lockDataDir } from '../store/sqlite/lock-data-dir.js';
import { addSettings, readSettings } from './settings-flags.js';
import { addJsonCommand, print } from './with-store.js';

/** Adds `stillframe migrate`, which migrates the database without starting a server. On SQLite, it refuses while one runs. */
export function addMigrateCommand(program: Command): void {
  const description =
    'migrate the database after an upgrade, as the next start would; with SQLite, not while a server runs';
  const migrate = addJsonCommand(program, {
    name: 'migrate',
    description,
    example: 'migrate --data-dir /var/lib/stillframe',
  });
  addSettings(migrate, ['dataDir']).action(async (options: { json?: boolean }, command: Command) => {
    const config = readSettings(command);
    const log = createLog({ level: 'info', format: config.logFormat });
    using _lock = config.databaseUrl === null ? lockDataDir(config.dataDir) : null;
    await using _store = await openConfiguredStore(config, { migrates: 'wholly', facts: null, log });
    print(options.json, { migrated: true }, () => 'The database is up to date.');
  });
}
