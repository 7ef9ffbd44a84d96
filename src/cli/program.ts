import { Command, CommanderError } from 'commander';
import { packageVersion } from '../package-files.js';
import { installDriver } from './node20-driver.js';
import { whenNpmEnds } from './npm-watch.js';
import { failWith } from './operator-error.js';
import { withOwnCommand } from './own-command.js';

type AddCommand = (program: Command, isDefault: boolean) => void;

/** By heading of the help, then by name. A command is loaded when it is run, and all of them for the help. */
const COMMANDS: Record<string, Record<string, () => Promise<AddCommand>>> = {
  'Capture:': {
    serve: async () => (await import('./serve.js')).addServeCommand,
    capture: async () => (await import('./capture.js')).addCaptureCommand,
    multi: async () => (await import('./multi.js')).addMultiCommand,
    compare: async () => (await import('./compare.js')).addCompareCommand,
    pdf: async () => (await import('./pdf.js')).addPdfCommand,
    batch: async () => (await import('./batch.js')).addBatchCommand,
    jobs: async () => (await import('./jobs.js')).addJobsCommand,
    templates: async () => (await import('./templates.js')).addTemplatesCommand,
    watch: async () => (await import('./watch.js')).addWatchCommand,
    login: async () => (await import('./login.js')).addLoginCommand,
    demo: async () => (await import('./demo.js')).addDemoCommand,
    mcp: async () => (await import('./mcp.js')).addMcpCommand,
  },
  'Operate:': {
    console: async () => (await import('./console.js')).addConsoleCommand,
    keys: async () => (await import('./keys.js')).addKeysCommand,
    sign: async () => (await import('./sign.js')).addSignCommand,
    accounts: async () => (await import('./accounts.js')).addAccountsCommand,
    queue: async () => (await import('./queue.js')).addQueueCommand,
    backup: async () => (await import('./backup.js')).addBackupCommand,
    migrate: async () => (await import('./migrate.js')).addMigrateCommand,
    clock: async () => (await import('./clock.js')).addClockCommand,
    top: async () => (await import('./top.js')).addTopCommand,
  },
  'Machine:': {
    doctor: async () => (await import('./doctor.js')).addDoctorCommand,
    browser: async () => (await import('./browser.js')).addBrowserCommand,
    fonts: async () => (await import('./fonts.js')).addFontsCommand,
    lists: async () => (await import('./lists.js')).addListsCommand,
    completion: async () => (await import('./completion.js')).addCompletionCommand,
  },
};

/** Flags of other tools, with their equivalents here. */
const EQUIVALENT_FLAGS: Record<string, string> = {
  '--width': '--viewport-width',
  '--height': '--viewport-height',
  '--viewport': '--viewport-width and --viewport-height',
  '--scale': '--viewport-device-scale-factor',
  '--scale-factor': '--viewport-device-scale-factor',
  '--device-scale-factor': '--viewport-device-scale-factor',
  '--dpr': '--viewport-device-scale-factor',
  '--retina': '--viewport-device-scale-factor 2',
  '--mobile': '--viewport-is-mobile, or --device',
  '--type': '--format',
  '--element': '--selector',
  '--wait': '--delay',
  '--wait-for': '--wait-for-selector',
  '--css': '--custom-css',
  '--style': '--custom-css',
  '--js': '--custom-js',
  '--javascript': '--custom-js',
  '--script': '--custom-js',
  '--headers': '--header',
  '--cookie': '--cookies with JSON, such as [{"name":"a","value":"b"}]',
  '--stdin': 'stillframe capture -',
  '--url': 'stillframe capture <url>',
  '--file': '--output',
  '--out': '--output',
  '--overwrite': '--force',
  '--markdown': '--inspect-page',
  '--proxy': '--proxy-server',
};

/**
 * Runs the program: its commands and their exit codes (operation.md, Commands), which are 0 for success, 1 for failure, 2 for wrong usage.
 */
export async function runProgram(argv: string[]): Promise<void> {
  // The reader of the output may exit early (`| head`), which must not crash a server.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const words = argv.slice(2);
  // Commands with listeners watch npm themselves.
  using _npm = whenNpmEnds(() => process.listenerCount('SIGTERM') === 0 && process.kill(process.pid, 'SIGTERM'));
  try {
    await installDriver(words);
    const program = await makeProgram(words[0]);
    await program.parseAsync(isCapture(words[0]) ? ['capture', ...words] : words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else failWith(error);
  }
}

/** @param first the first argument of the command line; undefined: all commands */
export async function makeProgram(first: string | undefined): Promise<Command> {
  const program = new Command('stillframe')
    .description('A self-hosted screenshot service: POST a URL, get a faithful picture or PDF of the page.')
    .usage('[command] [options]')
    .version(packageVersion())
    .configureHelp({ commandDescription: (command) => asSentence(command.description()) })
    .configureOutput({ outputError: (text, write) => write(withOwnCommand(suggestFlag(text))) })
    .showHelpAfterError('(add --help for usage)')
    .addHelpText(
      'after',
      '\nExamples:\n  stillframe                  run the service\n  stillframe example.com      capture one page\n',
    )
    .exitOverride();
  // The completion script knows every command.
  const only = isCapture(first)
    ? 'capture'
    : first !== undefined && isCommand(first) && first !== 'completion'
      ? first
      : null;
  // An unknown command must not be taken for an argument of the default one.
  const isDefault = first === undefined || first.startsWith('-');
  for (const [heading, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(heading);
    for (const [name, load] of Object.entries(commands))
      if (only === null || only === name) (await load())(program, isDefault);
  }
  return program;
}

/** Makes a sentence of a description. Lists of commands have phrases; the help of a single command has a sentence. */
function asSentence(description: string): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}`.replace(/[^.]$/, '$&.');
}

/** `stillframe <url>` is `stillframe capture <url>`: no command has a dot, a slash or a colon in its name. */
function isCapture(first: string | undefined): boolean {
  if (first === undefined || isCommand(first)) return false;
  return first === '-' || (!first.startsWith('-') && (/[./:]/.test(first) || first === 'localhost'));
}

function isCommand(word: string): boolean {
  return Object.values(COMMANDS).some((commands) => Object.hasOwn(commands, word));
}

/** Adds the equivalent flag to a usage error about a flag of another tool. */
function suggestFlag(error: string): string {
  const [, flag = ''] = /unknown option '(--[\w-]+)/.exec(error) ?? [];
  const meant = Object.hasOwn(EQUIVALENT_FLAGS, flag) ? EQUIVALENT_FLAGS[flag] : undefined;
  if (meant === undefined) return error;
  const [first = ''] = error.split('\n', 1);
  return `${first}\n(Did you mean ${meant}?)\n`;
}
