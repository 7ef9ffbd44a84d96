import { isIP } from 'node:net';
import { getPublicSuffix } from 'tldts';

/**
 * Whether a cookie may be set for a domain.
 *
 * @param host the target's host: the domain must be it or a parent of it; null: any domain
 * @returns the problem, or null
 */
export function cookieDomainProblem(domain: string, host: string | null): string | null {
  const bare = bareDomain(domain);
  if (!/^(?!-)[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/.test(bare) && isIP(bare.replace(/^\[|\]$/g, '')) === 0) return 'must be a host name';
  const target = host?.toLowerCase() ?? null;
  if (target === bare) return null;
  if (getPublicSuffix(bare, { allowPrivateDomains: true }) === bare) return 'must not be a public suffix';
  if (target === null) return null;
  const isParent = target.endsWith(`.${bare}`) && isIP(target.replace(/^\[|\]$/g, '')) === 0;
  return isParent ? null : `must be the target's host (${target}) or a parent domain of it`;
}

/** Without the leading dot that includes subdomains. */
export function bareDomain(domain: string): string {
  return domain.replace(/^\./, '').toLowerCase();
}
