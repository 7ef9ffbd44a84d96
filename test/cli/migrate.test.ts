import { Command } from 'commander';
import { expect, onTestFinished, test, vi } from 'vitest';
import { addMigrateCommand } from '../../src/cli/migrate.js';
import { lockDataDir } from '../../src/store/sqlite/lock-data-dir.js';
import { folderOfTest } from '../fixtures/temporary-folder.js';

async function runMigrate(dataDir: string): Promise<void> {
  const program = new Command().exitOverride();
  addMigrateCommand(program);
  await program.parseAsync(['migrate', '--data-dir', dataDir, '--json'], { from: 'user' });
}

test('migrate refuses while a server runs, and works when it has stopped', async () => {
  const dataDir = folderOfTest();
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => written.mockRestore());
  {
    using _server = lockDataDir(dataDir);
    await expect(runMigrate(dataDir)).rejects.toThrow(/Another stillframe server runs .*Stop it first/);
  }
  await runMigrate(dataDir);
  expect(written).toHaveBeenCalledExactlyOnceWith('{"migrated":true}\n');
});
