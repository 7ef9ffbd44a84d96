import { isIP } from 'node:net';

/** What a host's spelling says it is. */
export type HostSpelling =
  | { kind: 'address'; address: string }
  | { kind: 'loopback-name'; name: string }
  | { kind: 'special-name'; name: string }
  | { kind: 'reserved-name'; name: string }
  | { kind: 'name'; name: string }
  | { kind: 'nonsense' };

/** Zones that are never part of the public name space (RFC 6761, 6762, 7686, 8375, 9476), and what private networks and clusters use. */
const SPECIAL_ZONES = [
  'alt',
  'cluster.local',
  'corp',
  'docker',
  'home',
  'home.arpa',
  'intern',
  'internal',
  'intranet',
  'lan',
  'local',
  'localdomain',
  'mail',
  'onion',
  'private',
  'svc',
];

/** Zones where no name exists in public (RFC 2606, 2; RFC 6761, 6.2 to 6.5): theirs are missing names, unless a network has some of its own. */
const RESERVED_ZONES = ['example', 'invalid', 'test'];

const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_-])?$/;
const NAME_MAX_CHARS = 253;

/**
 * Reads a host as every URL parser of the browser would, and says what it is by its spelling alone. Asks nobody.
 *
 * @param host as in a URL or a CONNECT line, with or without brackets
 */
export function readHost(host: string): HostSpelling {
  const canonical = canonicalHost(host);
  if (canonical === null) return { kind: 'nonsense' };
  if (canonical.startsWith('[')) return { kind: 'address', address: canonical.slice(1, -1) };
  if (isIP(canonical) !== 0) return { kind: 'address', address: canonical };
  const name = canonical.endsWith('.') ? canonical.slice(0, -1) : canonical;
  const labels = name.split('.');
  if (name.length > NAME_MAX_CHARS || !labels.every((label) => LABEL.test(label))) return { kind: 'nonsense' };
  if (name === 'localhost' || name.endsWith('.localhost')) return { kind: 'loopback-name', name };
  if (labels.length === 1 || SPECIAL_ZONES.some((zone) => name === zone || name.endsWith(`.${zone}`)))
    return { kind: 'special-name', name };
  if (RESERVED_ZONES.includes(labels.at(-1) ?? '')) return { kind: 'reserved-name', name };
  return { kind: 'name', name };
}

/** The WHATWG form: lower case, punycode, one spelling of an address. Null when no browser could read it. */
function canonicalHost(host: string): string | null {
  const bracketed = isIP(host) === 6 ? `[${host}]` : host;
  if (bracketed === '' || /[\u0000-\u0020\u007f/?#@\\]/.test(bracketed) || /:\d*$/.test(bracketed.replace(/^\[[^\]]*\]/, ''))) return null;
  const text = `http://${bracketed}/`;
  return URL.canParse(text) ? new URL(text).hostname : null;
}
