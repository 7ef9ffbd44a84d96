import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ConfigError } from '../contract/config-error.js';
import { readHost } from './host-name.js';

/** STILLFRAME_ALLOW_DESTINATIONS, understood: what may be reached although special-purpose, and nothing it does not name. */
export interface AllowList {
  /** Whether this address may be reached on this port, by whichever name. */
  allowsAddress(address: string, port: number): boolean;
  /** Whether this name may be reached on this port, wherever it leads. */
  allowsName(name: string, port: number): boolean;
}

type Entry =
  | { kind: 'all' }
  | { kind: 'range'; range: [ipaddr.IPv4 | ipaddr.IPv6, number]; port: number | null }
  | { kind: 'name'; name: string; port: number | null }
  | { kind: 'zone'; suffix: string; port: number | null };

const ALLOWED = 'a comma list of CIDR, IP, host, *.zone, host:port, or * for everything';

/**
 * @param entries CIDR, IP, host, `*.zone`, each of the last three also with `:port`; `*` allows everything
 * @throws ConfigError for an entry that is none of them
 */
export function parseAllowList(entries: readonly string[]): AllowList {
  const parsed = entries.map(parseEntry);
  return {
    allowsAddress: (address, port) => parsed.some((entry) => coversAddress(entry, address, port)),
    allowsName: (name, port) => parsed.some((entry) => coversName(entry, name, port)),
  };
}

function parseEntry(text: string): Entry {
  if (text === '*') return { kind: 'all' };
  const range = parseRange(text);
  if (range !== null) return { kind: 'range', range, port: null };
  const [, host = '', digits] = /^(\[[^\]]*\]|[^:/]*|[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const port = digits === undefined ? null : Number(digits);
  if (port !== null && (port < 1 || port > 65_535)) throw wrong(text);
  if (host.startsWith('*.')) return { kind: 'zone', suffix: `.${nameOf(host.slice(2), text)}`, port };
  const spelling = readHost(host);
  if (spelling.kind === 'nonsense') throw wrong(text);
  if (spelling.kind === 'address') {
    const ip = ipaddr.process(spelling.address);
    return { kind: 'range', range: [ip, ip.kind() === 'ipv4' ? 32 : 128], port };
  }
  return { kind: 'name', name: spelling.name, port };
}

function nameOf(zone: string, text: string): string {
  const spelling = readHost(zone);
  if (spelling.kind === 'nonsense' || spelling.kind === 'address') throw wrong(text);
  return spelling.name;
}

function parseRange(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] | null {
  const [address = '', bits, ...rest] = text.split('/');
  if (bits === undefined || rest.length > 0 || isIP(address) === 0 || !/^\d{1,3}$/.test(bits)) return null;
  const ip = ipaddr.parse(address);
  if (Number(bits) > (ip.kind() === 'ipv4' ? 32 : 128)) throw wrong(text);
  return [ip, Number(bits)];
}

function wrong(text: string): ConfigError {
  return new ConfigError(`STILLFRAME_ALLOW_DESTINATIONS has "${text}": it must be ${ALLOWED}.`);
}

function coversAddress(entry: Entry, address: string, port: number): boolean {
  if (entry.kind === 'all') return true;
  if (entry.kind !== 'range' || (entry.port !== null && entry.port !== port) || !ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  return ip.kind() === entry.range[0].kind() && ip.match(entry.range);
}

function coversName(entry: Entry, name: string, port: number): boolean {
  if (entry.kind === 'all') return true;
  if (entry.kind === 'range' || (entry.port !== null && entry.port !== port)) return false;
  return entry.kind === 'name' ? entry.name === name : name.endsWith(entry.suffix);
}
