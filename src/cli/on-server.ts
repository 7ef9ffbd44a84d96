/** Commands that work through the API of a server, with the key of STILLFRAME_KEY. */
import type { Command } from 'commander';
import type { Stillframe } from '../client/client.js';
import { callersKey } from '../config.js';
import { OperatorError, UsageError } from './operator-error.js';
import { serverOf } from './running-server.js';
import { addSettings, readSettings } from './settings-flags.js';
import { addJsonCommand, type StoreCommand } from './with-store.js';

/** The client of the server, and how the command was called. */
export interface OnServer {
  client: Stillframe;
  json: boolean;
  command: Command;
}

export function addServerCommand(parent: Command, definition: StoreCommand): Command {
  const command = addJsonCommand(parent, definition).option(
    '--server <url>',
    'URL of the server; default: the one that runs on the data directory',
  );
  return addSettings(command, ['dataDir', 'host', 'port']);
}

/**
 * Runs a command with a client of its server.
 * @param options.resource its name in the plural, such as `Watches`, and the scopes that it needs
 */
export function actOnServer<Args extends unknown[] = []>(
  command: Command,
  { resource, scopes }: { resource: string; scopes: string },
  work: (called: OnServer, ...args: Args) => Promise<void>,
): void {
  command.action(async (...all: unknown[]) => {
    const self = all.at(-1) as Command;
    const options = self.opts<{ server?: string; json?: boolean }>();
    const key = callersKey();
    if (key === null)
      throw new OperatorError(`${resource} belong to an API key: set STILLFRAME_KEY to one with the scopes ${scopes}.`);
    const { Stillframe: Client } = await import('../client/client.js');
    const baseUrl = options.server ?? serverOf(self, readSettings(self)).url;
    try {
      // The arguments come first, then the options and the command.
      await work(
        { client: new Client({ baseUrl, apiKey: key }), json: options.json === true, command: self },
        ...(all.slice(0, -1) as Args),
      );
    } catch (error) {
      if (error instanceof TypeError && /baseUrl|apiKey/.test(error.message)) throw new UsageError(`${error.message}.`);
      throw error;
    }
  });
}
