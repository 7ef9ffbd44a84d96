import { Command, CommanderError } from 'commander';
import { packageVersion } from '../package-files.js';
import { addAccountsCommand } from './accounts.js';
import { addBackupCommand } from './backup.js';
import { addBrowserCommand } from './browser.js';
import { addCaptureCommand } from './capture.js';
import { addClockCommand } from './clock.js';
import { addCompletionCommand } from './completion.js';
import { addConsoleCommand } from './console.js';
import { addDemoCommand } from './demo.js';
import { addDoctorCommand } from './doctor.js';
import { addKeysCommand } from './keys.js';
import { addListsCommand } from './lists.js';
import { addLoginCommand } from './login.js';
import { addMcpCommand } from './mcp.js';
import { sayMeant } from './meant-flag.js';
import { addMigrateCommand } from './migrate.js';
import { addMultiCommand } from './multi.js';
import { failWith } from './operator-error.js';
import { addQueueCommand } from './queue.js';
import { addServeCommand } from './serve.js';
import { addSignCommand } from './sign.js';
import { addTopCommand } from './top.js';

/** The program: commands and their exit codes (operation.md, Commands). 0 done, 1 failed, 2 wrong usage. */
export async function runProgram(argv: string[]): Promise<void> {
  // The reader of the output may exit early (`| head`), which must not crash a server.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const words = argv.slice(2);
  const program = makeProgram(words[0]);
  try {
    await program.parseAsync(isCapture(program, words[0]) ? ['capture', ...words] : words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else failWith(error);
  }
}

/** @param first the first argument of the command line */
export function makeProgram(first: string | undefined): Command {
  const program = new Command('stillframe')
    .description('A self-hosted screenshot service: POST a URL, get a faithful picture or PDF of the page.')
    .usage('[command] [options]')
    .version(packageVersion())
    .configureHelp({ commandDescription: (command) => asSentence(command.description()) })
    .configureOutput({ outputError: (text, write) => write(sayMeant(text)) })
    .showHelpAfterError('(add --help for usage)')
    .addHelpText('after', '\nExamples:\n  stillframe                  run the service\n  stillframe example.com      capture one page\n')
    .exitOverride();
  program.commandsGroup('Capture:');
  // An unknown command must not be taken for an argument of the default one.
  addServeCommand(program, first === undefined || first.startsWith('-'));
  addCaptureCommand(program);
  addMultiCommand(program);
  addLoginCommand(program);
  addDemoCommand(program);
  addMcpCommand(program);
  program.commandsGroup('Operate:');
  addConsoleCommand(program);
  addKeysCommand(program);
  addSignCommand(program);
  addAccountsCommand(program);
  addQueueCommand(program);
  addBackupCommand(program);
  addMigrateCommand(program);
  addClockCommand(program);
  addTopCommand(program);
  program.commandsGroup('Machine:');
  addDoctorCommand(program);
  addBrowserCommand(program);
  addListsCommand(program);
  addCompletionCommand(program);
  return program;
}

/** Lists of commands have phrases; the help of a single command has a sentence. */
function asSentence(description: string): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}`.replace(/[^.]$/, '$&.');
}

/** `stillframe <url>` is `stillframe capture <url>`: no command has a dot, a slash or a colon in its name. */
function isCapture(program: Command, first: string | undefined): boolean {
  if (first === undefined || program.commands.some((command) => command.name() === first)) return false;
  return first === '-' || (!first.startsWith('-') && (/[./:]/.test(first) || first === 'localhost'));
}
