import type { Command } from 'commander';
import { addSettings, CAPTURE_SETTINGS, readSettings } from './settings-flags.js';

const EXAMPLES = `
Examples:
  stillframe mcp
  stillframe mcp --allow-destinations localhost,10.1.0.0/16`;

/** Adds `stillframe mcp`: the tools for language models on standard input and output, with an engine in this process. */
export function addMcpCommand(program: Command): void {
  const mcp = program
    .command('mcp')
    .summary('let an AI assistant capture pages, over stdio')
    .description(
      'Let an AI assistant capture pages: a server of the Model Context Protocol on standard input and output, which the assistant starts itself. It needs no key and no running server, for which there is /mcp. Private addresses are refused unless they are allowed.',
    )
    .addHelpText('after', EXAMPLES);
  addSettings(mcp, [...CAPTURE_SETTINGS, 'syncWaitMs']).action(async (_options: unknown, command: Command) => {
    const config = readSettings(command);
    const { serveMcp } = await import('./serve-mcp.js');
    await serveMcp(config);
  });
}
