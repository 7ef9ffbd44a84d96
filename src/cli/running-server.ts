import type { Command } from 'commander';
import type { Config } from '../config.js';
import { localUrl } from '../http/client-address.js';
import { findServer, type ServerFacts } from '../service/server-file.js';
import { OperatorError, printLine } from './operator-error.js';

/**
 * Returns the server that a command is about, and says which one: that of the flags --host, --port and --base-url, else the one that runs on
 * the data directory, else that of the settings.
 * @throws OperatorError if the settings do not say the port
 */
export function serverOf(command: Command, config: Config): ServerFacts {
  const isNamed = ['host', 'port', 'baseUrl'].some((flag) => command.getOptionValueSource(flag) === 'cli');
  const running = isNamed ? null : findServer(config.dataDir);
  if (running !== null) {
    printLine(`Server: ${running.url}, which runs on ${config.dataDir}.`);
    return running;
  }
  const { baseUrl, port, console } = config;
  if (port === 0)
    throw new OperatorError('The port is not known: give the one that the server has printed, with --port.');
  const url = localUrl(config);
  printLine(`Server: ${baseUrl ?? url}${isNamed ? '' : `, as the settings say; no server runs on ${config.dataDir}`}.`);
  return { url, base_url: baseUrl ?? url, console };
}
