import type { Command } from 'commander';
import type { Config } from '../config.js';
import { addSettings, readSettings } from './settings-flags.js';

const SETTINGS_USED: (keyof Config)[] = [
  'dataDir',
  'chromium',
  'browserInstall',
  'sandbox',
  'syncWaitMs',
  'captureMaxMb',
  'dnsServers',
  'allowDestinations',
  'denyDestinations',
  'lists',
  'listUrls',
];

const EXAMPLES = `
Examples:
  stillframe mcp
  stillframe mcp --allow-destinations localhost,10.1.0.0/16`;

/** `stillframe mcp`: the tools for language models on standard input and output, with an engine in this process. */
export function addMcpCommand(program: Command): void {
  const mcp = program
    .command('mcp')
    .summary('let an AI assistant capture pages, over stdio')
    .description(
      'Let an AI assistant capture pages: a server of the Model Context Protocol on standard input and output, which the assistant starts itself. It needs no key and no running server, for which there is /mcp. Private addresses are refused unless they are allowed.',
    )
    .addHelpText('after', EXAMPLES);
  addSettings(mcp, SETTINGS_USED).action(async (_options: unknown, command: Command) => {
    const config = readSettings(command);
    const { serveMcp } = await import('./serve-mcp.js');
    await serveMcp(config);
  });
}
