import { type Command, Option } from 'commander';
import type { Config } from '../config.js';
import { parseDestinations } from '../egress/destination-list.js';
import type { LocalNetwork } from './capture-target-page.js';

/** Any destination: the capture runs for the machine's own user (operation.md, Commands). */
const EVERYWHERE = ['*'];

/** What captures of the command line may reach although it is private. @param here.zone of the page servers, which are always allowed */
export function allowedOnThisMachine(config: Config, here: { publicOnly: boolean; zone: string }): string[] {
  return here.publicOnly ? [...config.allowDestinations, `*.${here.zone}`] : EVERYWHERE;
}

/** The flags of commands that capture local pages. */
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

/** @throws ConfigError for what is no destination */
export function localNetworkOf({ allowDestinations }: Config, { allowNetwork = [] }: NetworkFlags): LocalNetwork {
  parseDestinations(allowNetwork, '--allow-network');
  return { allow: allowDestinations, trusted: allowNetwork };
}
