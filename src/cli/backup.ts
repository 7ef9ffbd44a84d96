import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { copyArtifacts } from '../artifacts/copy-artifacts.js';
import { artifactsDirOf } from '../artifacts/directory.js';
import { bucketOf } from '../service/artifact-storage.js';
import { OperatorError, printLine } from './operator-error.js';
import { addSettings, BUCKET_SETTINGS } from './settings-flags.js';
import { print, withStore } from './with-store.js';

/** Adds `stillframe backup <file>`: a consistent copy of the database, and of the pictures that it refers to, while the server runs. */
export function addBackupCommand(program: Command): void {
  const backup = program
    .command('backup')
    .description('make a consistent copy of the database while the server runs')
    .argument('<file>', 'file to write; it must not exist yet')
    .option('--artifacts', 'copy the pictures as well, to <file>.artifacts; not those in a bucket')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  stillframe backup ~/stillframe-$(date +%F).db');
  addSettings(backup, ['dataDir', ...BUCKET_SETTINGS]).action(
    (file: string, options: { artifacts?: boolean; json?: boolean }, command: Command) =>
      withStore(command, async (store, config) => {
        if (config.databaseUrl !== null) throw new OperatorError(pgDumpAdvice(file));
        const bucket = bucketOf(config);
        if (bucket !== null && options.artifacts)
          throw new OperatorError(
            `The pictures are in the bucket ${bucket.bucket}: copy that with the tools of its storage, and leave out --artifacts.`,
          );
        const target = resolve(file);
        const pictures = `${target}.artifacts`;
        refuseExisting(options.artifacts ? [target, pictures] : [target]);
        mkdirSync(dirname(target), { recursive: true });
        const { artifacts } = await store.backup(target);
        if (bucket !== null) printLine(`The pictures in the bucket ${bucket.bucket} are not part of this copy.`);
        if (!options.artifacts) return print(options.json, { file: target }, () => target);
        // The pictures are copied after the database, so that one stored in the meantime is a surplus file, never a missing one.
        const { copied, missing } = await copyArtifacts(artifactsDirOf(config.dataDir), pictures, artifacts);
        print(
          options.json,
          { file: target, artifacts: pictures, copied, missing },
          () => `${target}\n${pictures} (${copied} pictures)`,
        );
      }),
  );
}

function refuseExisting(paths: readonly string[]): void {
  for (const path of paths) {
    if (existsSync(path)) throw new OperatorError(`${path} already exists. Name a new file, or remove that one first.`);
  }
}

/** Explains how to copy PostgreSQL. The password stays in the environment. */
function pgDumpAdvice(file: string): string {
  return [
    'The database is in PostgreSQL, and the pictures are in the bucket. To copy the database:',
    `  pg_dump --format=custom --file=${file} "$STILLFRAME_DATABASE_URL"`,
    'Keep STILLFRAME_SECRET_KEY with the copy: without it, stored secrets cannot be read.',
  ].join('\n');
}
