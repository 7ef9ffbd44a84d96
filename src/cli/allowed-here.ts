import { type Command, Option } from 'commander';
import type { Config } from '../config.js';
import { parseDestinations } from '../egress/destination-list.js';
import type { LocalNetwork } from './capture-target-page.js';

/** Allows any destination, since the capture runs for the machine's own user (operation.md, Commands). */
const EVERYWHERE = ['*'];

/**
 * Returns the private destinations that captures of the command line may reach.
 * @param here.zone of the page servers, which are always allowed
 */
export function allowedOnThisMachine(config: Config, here: { publicOnly: boolean; zone: string }): string[] {
  return here.publicOnly ? [...config.allowDestinations, `*.${here.zone}`] : EVERYWHERE;
}

/** Adds the flags of commands that capture local pages. */
export function addNetworkFlags(command: Command): void {
  const collect = (host: string, previous: string[] = []) => [...previous, host];
  command
    .option('--public-only', 'refuse private addresses, as the server does')
    .addOption(
      new Option(
        '--allow-network <host>',
        'let local pages reach this host without limits (host, host:port, *.zone, IP, CIDR, * for all); repeat for more',
      ).argParser(collect),
    );
}

export interface NetworkFlags {
  publicOnly?: boolean;
  allowNetwork?: string[];
}

/**
 * Reads the network flags.
 * @throws ConfigError for an invalid destination
 */
export function localNetworkOf({ allowDestinations }: Config, { allowNetwork = [] }: NetworkFlags): LocalNetwork {
  parseDestinations(allowNetwork, '--allow-network');
  return { allow: allowDestinations, trusted: allowNetwork };
}
