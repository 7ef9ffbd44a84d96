import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { copyArtifacts } from '../artifacts/copy-artifacts.js';
import { artifactsDirOf } from '../artifacts/directory.js';
import { OperatorError } from './operator-error.js';
import { addSettings } from './settings-flags.js';
import { print, withStore } from './with-store.js';

/** `stillframe backup <file>`: a consistent copy of the database, and of the pictures that it refers to, while the server runs. */
export function addBackupCommand(program: Command): void {
  const backup = program
    .command('backup')
    .description('make a consistent copy of the database while the server runs')
    .argument('<file>', 'file to write; it must not exist yet')
    .option('--artifacts', 'copy the pictures as well, to <file>.artifacts')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe backup ~/stillframe-$(date +%F).db');
  addSettings(backup, ['dataDir']).action((file: string, options: { artifacts?: boolean; json?: boolean }, command: Command) =>
    withStore(command, async (store, config) => {
      if (config.databaseUrl !== null) throw new OperatorError(pgDumpAdvice(file));
      const target = resolve(file);
      const pictures = `${target}.artifacts`;
      refuseExisting(options.artifacts ? [target, pictures] : [target]);
      const { artifacts } = await store.backup(target);
      if (!options.artifacts) return print(options.json, { file: target }, () => target);
      // Copied after the database, so that a picture stored in the meantime is a surplus file, never a missing one.
      const { copied, missing } = await copyArtifacts(artifactsDirOf(config.dataDir), pictures, artifacts);
      print(options.json, { file: target, artifacts: pictures, copied, missing }, () => `${target}\n${pictures} (${copied} pictures)`);
    }),
  );
}

function refuseExisting(paths: readonly string[]): void {
  for (const path of paths) {
    if (existsSync(path)) throw new OperatorError(`${path} already exists. Name a new file, or remove that one first.`);
  }
}

/** The password stays in the environment. */
function pgDumpAdvice(file: string): string {
  return [
    'The database is in PostgreSQL, and the pictures are in the bucket. To copy the database:',
    `  pg_dump --format=custom --file=${file} "$STILLFRAME_DATABASE_URL"`,
    'Keep STILLFRAME_SECRET_KEY with the copy: without it, stored secrets cannot be read.',
  ].join('\n');
}
