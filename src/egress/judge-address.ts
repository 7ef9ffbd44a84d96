import ipaddr from 'ipaddr.js';

export type Ip = ipaddr.IPv4 | ipaddr.IPv6;
export type IpRange = [Ip, number];

/** Whether an address is in a range, which may be of the other family. */
export function isInRange(ip: Ip, range: IpRange): boolean {
  return ip.kind() === range[0].kind() && ip.match(range);
}

/** The length of an address, in bits. */
export function bitsOf(ip: Ip): number {
  return 8 * ip.toByteArray().length;
}

/** All IPv6 that IANA assigns; anything outside is not public. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** RFC 6052: the last 32 bits are translated to an IPv4 address. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** Cloud metadata services: AWS (instances, tasks, pods), Azure, Google, Alibaba, Oracle, OpenStack. */
const METADATA_ADDRESSES = new Set(
  [
    '169.254.169.254',
    '169.254.170.2',
    '169.254.170.23',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
  ].map((address) => ipaddr.parse(address).toString()),
);

/**
 * Whether an address is public unicast. This is an allow-list, so that unknown ranges are refused (SSRF).
 *
 * @param address an IP in any notation that ipaddr.js parses; anything else is not public
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  if (ip.range() !== 'unicast' || isMetadataAddress(address)) return false;
  return ip.kind() === 'ipv4' || isInRange(ip, GLOBAL_UNICAST_V6);
}

/** Whether an address is a cloud metadata service, which is refused whatever the settings allow. */
export function isMetadataAddress(address: string): boolean {
  const [plain = ''] = address.split('%');
  if (!ipaddr.isValid(plain)) return false;
  const ip = ipaddr.process(plain);
  return METADATA_ADDRESSES.has(embeddedIpv4(ip) ?? ip.toString());
}

function embeddedIpv4(ip: Ip): string | null {
  return isInRange(ip, NAT64) ? ip.toByteArray().slice(-4).join('.') : null;
}
