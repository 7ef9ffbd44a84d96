#!/usr/bin/env node
/** The program: commands and their exit codes (operation.md, Commands). 0 done, 1 failed, 2 wrong usage. */
import { Command, CommanderError } from 'commander';
import { addAccountsCommand } from './cli/accounts.js';
import { addBackupCommand } from './cli/backup.js';
import { addBrowserCommand } from './cli/browser.js';
import { addCaptureCommand } from './cli/capture.js';
import { addDemoCommand } from './cli/demo.js';
import { addDoctorCommand } from './cli/doctor.js';
import { addKeysCommand } from './cli/keys.js';
import { addListsCommand } from './cli/lists.js';
import { addMigrateCommand } from './cli/migrate.js';
import { failWith } from './cli/operator-error.js';
import { addQueueCommand } from './cli/queue.js';
import { addServeCommand } from './cli/serve.js';
import { addSignCommand } from './cli/sign.js';
import { packageVersion } from './package-files.js';

async function main(argv: string[]): Promise<void> {
  const program = new Command('stillframe')
    .description('Screenshots of web pages as a service: post a URL, get a faithful picture or PDF.')
    .version(packageVersion())
    .showHelpAfterError('(add --help for what is allowed)')
    .exitOverride();
  const first = argv[2];
  // A word that is no command must not be taken for an argument of the default one.
  addServeCommand(program, first === undefined || first.startsWith('-'));
  addCaptureCommand(program);
  addDemoCommand(program);
  addKeysCommand(program);
  addSignCommand(program);
  addAccountsCommand(program);
  addQueueCommand(program);
  addBrowserCommand(program);
  addListsCommand(program);
  addMigrateCommand(program);
  addBackupCommand(program);
  addDoctorCommand(program);
  try {
    await program.parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else failWith(error);
  }
}

await main(process.argv);
