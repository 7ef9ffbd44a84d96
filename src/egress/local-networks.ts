import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { bitsOf, type IpRange, isInRange } from './judge-address.js';

/** Addresses change with DHCP leases, tunnels and containers. */
const READ_AGAIN_MS = 10_000;
/** A shorter prefix (such as a tunnel's default route) is no local network: only the address itself counts. */
const PREFIX_MIN_BITS = { ipv4: 8, ipv6: 32 };

/** The machine's own addresses and the networks it is directly connected to, public ones included. Refreshed periodically. */
export class LocalNetworks {
  readonly #read: typeof networkInterfaces;
  readonly #now: () => number;
  #ranges: IpRange[] = [];
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(read: typeof networkInterfaces = networkInterfaces, now: () => number = () => performance.now()) {
    this.#read = read;
    this.#now = now;
  }

  /** @param address an IP; false for anything else */
  has(address: string): boolean {
    if (!ipaddr.isValid(address)) return false;
    if (this.#now() - this.#readAt >= READ_AGAIN_MS) this.#readRanges();
    const ip = ipaddr.process(address);
    return this.#ranges.some((range) => isInRange(ip, range));
  }

  #readRanges(): void {
    this.#readAt = this.#now();
    this.#ranges = Object.values(this.#read()).flatMap((infos = []) => infos.flatMap(rangesOf));
  }
}

function rangesOf({ address, cidr }: Pick<NetworkInterfaceInfo, 'address' | 'cidr'>): IpRange[] {
  const [plain = ''] = address.split('%');
  if (!ipaddr.isValid(plain)) return [];
  const ip = ipaddr.process(plain);
  const whole = bitsOf(ip);
  const bits = Number(cidr?.split('/')[1] ?? whole);
  return [[ip, bits >= PREFIX_MIN_BITS[ip.kind()] ? bits : whole]];
}
