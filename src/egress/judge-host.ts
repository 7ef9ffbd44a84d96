import { ALL_DESTINATIONS, type DestinationList } from './destination-list.js';
import type { HostVerdict } from './egress.js';
import { type HostSpelling, readHost } from './host-name.js';
import { isMetadataAddress, isPublicAddress } from './judge-address.js';
import type { LocalNetworks } from './local-networks.js';
import type { Resolve } from './resolve-host.js';

/** Addresses of localhost, whatever a name server answers (RFC 6761, 6.3). */
const LOOPBACK = ['127.0.0.1', '::1'];
/** Names of cloud metadata services; most of their addresses are listed as well. */
const METADATA_NAMES = new Set([
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'instance-data.ec2.internal',
]);

/** A verdict, with the reason of a refusal for the log. */
export type HostCheck = HostVerdict & { explanation?: string };

/** The destinations that may be reached: allowed ones, and public addresses outside this machine's own networks; nothing that is denied. */
export interface DestinationRules {
  allow: DestinationList;
  /** Takes precedence over `allow`. */
  deny: DestinationList;
  local: Pick<LocalNetworks, 'has'>;
}

export interface Judging extends DestinationRules {
  resolve: Resolve;
}

/**
 * The only check of destinations: by syntax if that is enough, else by one look-up and every address of its answer.
 *
 * @param host as in a URL or a CONNECT line
 * @returns the only addresses that may be connected to; never rejects
 */
export async function judgeHost(judging: Judging, host: string, port: number): Promise<HostCheck> {
  const spelling = readHost(host);
  const known = judgeSpelling(judging, spelling, port);
  if (known !== null || spelling.kind === 'nonsense' || spelling.kind === 'address')
    return known ?? refuse('blocked_name', 'unreadable');
  if (spelling.kind === 'loopback-name') return judgeAddresses(judging, { spelling, addresses: LOOPBACK, port });
  const answer = await judging.resolve(spelling.name);
  if ('unresolvable' in answer) {
    return {
      ok: false,
      reason: 'unresolvable',
      temporary: answer.temporary,
      explanation: `the look-up failed with ${answer.unresolvable}`,
    };
  }
  return judgeAddresses(judging, { spelling, addresses: answer.addresses, port });
}

/**
 * The part of the check that needs no look-up.
 *
 * @returns null if it takes a look-up
 */
export function judgeSpelling(rules: DestinationRules, spelling: HostSpelling, port: number): HostCheck | null {
  const { allow, deny } = rules;
  if ('name' in spelling && METADATA_NAMES.has(spelling.name))
    return refuse('blocked_name', 'it names a metadata service');
  if ('name' in spelling && deny.hasName(spelling.name, port))
    return refuse('blocked_name', 'it is listed in STILLFRAME_DENY_DESTINATIONS');
  switch (spelling.kind) {
    case 'nonsense':
      return refuse('blocked_name', 'it is not a valid host name');
    case 'address': {
      const problem = addressProblem(rules, spelling.address, port);
      return problem === null
        ? { ok: true, addresses: [spelling.address] }
        : refuse('blocked_address', `the address is ${problem}`);
    }
    case 'loopback-name': {
      if (allow.hasName(spelling.name, port)) return null;
      const addresses = LOOPBACK.filter((address) => addressProblem(rules, address, port) === null);
      return addresses.length > 0 ? { ok: true, addresses } : refuse('blocked_name', 'it names this machine');
    }
    case 'special-name':
      // If the operator allows addresses, names in private zones may resolve to them: look them up.
      return allow.hasName(spelling.name, port) || allow.hasAddresses
        ? null
        : refuse('blocked_name', 'it is not a public name');
    case 'reserved-name':
    case 'name':
      return null;
  }
}

/** Whether the operator allows a destination, by name or by all of its addresses; false for a public one. */
export async function isAllowed(judging: Judging, host: string, port: number): Promise<boolean> {
  const { allow } = judging;
  const spelling = readHost(host);
  if (allow.isEmpty || spelling.kind === 'nonsense') return false;
  if (spelling.kind !== 'address' && allow.hasName(spelling.name, port)) return true;
  const verdict = await judgeHost(judging, host, port);
  return verdict.ok && verdict.addresses.every((address) => allow.hasAddress(address, port));
}

/** Whether a list has a destination as it is spelled: no look-up reveals to a name server which host was requested. */
export function isListed(list: DestinationList, host: string, port: number): boolean {
  const spelling = readHost(host);
  if (spelling.kind === 'nonsense') return false;
  if (spelling.kind === 'address') return list.hasAddress(spelling.address, port);
  const isLoopback = spelling.kind === 'loopback-name';
  return (
    list.hasName(spelling.name, port) || (isLoopback && LOOPBACK.every((address) => list.hasAddress(address, port)))
  );
}

interface Found {
  spelling: Exclude<HostSpelling, { kind: 'nonsense' | 'address' }>;
  addresses: string[];
  port: number;
}

/** One refused address refuses the name: the name server could choose which one a retry would get. */
function judgeAddresses(rules: DestinationRules, { spelling, addresses, port }: Found): HostCheck {
  const effective = rules.allow.hasName(spelling.name, port) ? { ...rules, allow: ALL_DESTINATIONS } : rules;
  // Private and reserved names have no public sites: their addresses must be allowed explicitly.
  const mustBeAllowed = spelling.kind !== 'name';
  for (const address of addresses) {
    const problem =
      mustBeAllowed && !effective.allow.hasAddress(address, port)
        ? 'no public name'
        : addressProblem(effective, address, port);
    if (problem !== null)
      return refuse('blocked_address', `it resolves to ${addresses.join(', ')}; ${address}: ${problem}`);
  }
  return { ok: true, addresses };
}

/** @returns the reason why an address may not be reached, or null */
function addressProblem({ allow, deny, local }: DestinationRules, address: string, port: number): string | null {
  if (isMetadataAddress(address)) return 'a metadata service';
  if (deny.hasAddress(address, port)) return 'in STILLFRAME_DENY_DESTINATIONS';
  if (allow.hasAddress(address, port)) return null;
  if (!isPublicAddress(address)) return 'not public';
  return local.has(address) ? 'on a network of this machine' : null;
}

function refuse(reason: 'blocked_address' | 'blocked_name', explanation: string): HostCheck {
  return { ok: false, reason, temporary: false, explanation };
}
