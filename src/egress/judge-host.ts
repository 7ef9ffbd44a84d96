import type { AllowList } from './allow-list.js';
import type { HostVerdict } from './egress.js';
import { type HostSpelling, readHost } from './host-name.js';
import { isPublicAddress } from './judge-address.js';
import type { Resolve } from './resolve-host.js';

/** By definition, whatever a name server says (RFC 6761, 6.3). */
const LOOPBACK = ['127.0.0.1', '::1'];

/** A verdict, and for the log what stood behind a refusal. */
export type Judgement = HostVerdict & { why?: string };

export interface Judging {
  allow: AllowList;
  resolve: Resolve;
}

/**
 * The one judgement of destinations: by spelling where that is enough, else by one look-up and every address of its answer.
 *
 * @param host as in a URL or a CONNECT line
 * @returns the addresses that may be connected to, and no other; never rejects
 */
export async function judgeHost({ allow, resolve }: Judging, host: string, port: number): Promise<Judgement> {
  const spelling = readHost(host);
  const known = judgeSpelling(allow, spelling, port);
  if (known !== null || spelling.kind === 'nonsense' || spelling.kind === 'address') return known ?? refuse('blocked_name', 'unreadable');
  if (spelling.kind === 'loopback-name') return { ok: true, addresses: LOOPBACK };
  const answer = await resolve(spelling.name);
  if ('unresolvable' in answer) {
    return { ok: false, reason: 'unresolvable', temporary: answer.temporary, why: `the look-up failed with ${answer.unresolvable}` };
  }
  if (allow.allowsName(spelling.name, port)) return { ok: true, addresses: answer.addresses };
  // What a reserved name leads to is nobody's public site: the operator's own, or a name server's invention.
  const mayGo = spelling.kind === 'reserved-name' ? allow.allowsAddress : mayReach.bind(null, allow);
  const special = answer.addresses.filter((address) => !mayGo(address, port));
  // Any private address refuses the name: which of a mixed answer a retry would take is the name server's choice.
  if (special.length > 0) return refuse('blocked_address', `it resolves to ${special.join(', ')}, not public`);
  return { ok: true, addresses: answer.addresses };
}

/**
 * The part of the judgement that needs no look-up.
 *
 * @returns null when only a look-up can tell, or when the operator allows the name
 */
export function judgeSpelling(allow: AllowList, spelling: HostSpelling, port: number): Judgement | null {
  switch (spelling.kind) {
    case 'nonsense':
      return refuse('blocked_name', 'it is no readable host name');
    case 'address': {
      const ok = mayReach(allow, spelling.address, port);
      return ok ? { ok, addresses: [spelling.address] } : refuse('blocked_address', 'it is no public address');
    }
    case 'loopback-name': {
      if (allow.allowsName(spelling.name, port)) return null;
      const addresses = LOOPBACK.filter((address) => allow.allowsAddress(address, port));
      return addresses.length > 0 ? { ok: true, addresses } : refuse('blocked_name', 'it names this machine itself');
    }
    case 'special-name':
      return allow.allowsName(spelling.name, port) ? null : refuse('blocked_name', 'it is no public name');
    case 'reserved-name':
    case 'name':
      return null;
  }
}

function mayReach(allow: AllowList, address: string, port: number): boolean {
  return isPublicAddress(address) || allow.allowsAddress(address, port);
}

function refuse(reason: 'blocked_address' | 'blocked_name', why: string): Judgement {
  return { ok: false, reason, temporary: false, why };
}
