import ipaddr from 'ipaddr.js';

/** All IPv6 that IANA hands out; whatever lies outside is not public, known to us or not. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Public by range, yet a cloud's own door to its machines: Azure's wire server. */
const METADATA_ADDRESSES = new Set(['168.63.129.16']);

/**
 * Whether an address is public unicast: an allow-list, so that a range nobody thought of is refused (issue: SSRF).
 *
 * @param address an IP in any spelling that ipaddr.js reads; anything else is not public
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  if (ip.range() !== 'unicast') return false;
  if (ip.kind() === 'ipv6') return (ip as ipaddr.IPv6).match(GLOBAL_UNICAST_V6);
  return !METADATA_ADDRESSES.has(ip.toString());
}
