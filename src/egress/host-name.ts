import { isIP } from 'node:net';
import { readUrl } from '../contract/read-url.js';

/** The kind of a host, by its syntax alone. */
export type HostSpelling =
  | { kind: 'address'; address: string }
  | { kind: 'loopback-name'; name: string }
  | { kind: 'special-name'; name: string }
  | { kind: 'reserved-name'; name: string }
  | { kind: 'name'; name: string }
  | { kind: 'nonsense' };

/** Zones that are never public (RFC 6761, 6762, 7686, 8375, 9476), and those that private networks and clusters use. */
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

/** Zones without public names (RFC 2606, 2; RFC 6761, 6.2 to 6.5): their names do not exist, unless a local network defines them. */
const RESERVED_ZONES = ['example', 'invalid', 'test'];

const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_-])?$/;
const NAME_MAX_CHARS = 253;

/**
 * Parses a host as the browser's URL parser does, and classifies it by its syntax alone, without a look-up.
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

/** The WHATWG form: lower case, punycode, normalized address. null if browsers cannot parse it. */
function canonicalHost(host: string): string | null {
  const bracketed = isIP(host) === 6 ? `[${host}]` : host;
  if (
    bracketed === '' ||
    /[\u0000-\u0020\u007f/?#@\\]/.test(bracketed) ||
    /:\d*$/.test(bracketed.replace(/^\[[^\]]*\]/, ''))
  )
    return null;
  return readUrl(`http://${bracketed}/`)?.hostname ?? null;
}

/** The port that an http or https URL leads to. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}
