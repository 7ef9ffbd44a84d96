import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ConfigError } from '../contract/config-error.js';
import { readHost } from './host-name.js';
import { bitsOf, type IpRange, isInRange } from './judge-address.js';

/** STILLFRAME_ALLOW_DESTINATIONS or STILLFRAME_DENY_DESTINATIONS, parsed. */
export interface DestinationList {
  readonly isEmpty: boolean;
  /** Whether the list contains this address on this port, whatever name resolves to it. */
  hasAddress(address: string, port: number): boolean;
  /** Whether the list contains this name on this port, whatever it resolves to. */
  hasName(name: string, port: number): boolean;
  /** Whether a name in a private zone can resolve to an address of the list. */
  readonly hasAddresses: boolean;
}

type Entry =
  | { kind: 'all' }
  | { kind: 'range'; range: IpRange; port: number | null }
  | { kind: 'name'; name: string; port: number | null }
  | { kind: 'zone'; suffix: string; port: number | null };

const ALLOWED = 'a comma-separated list of CIDR, IP, host, *.zone, host:port, or * for everything';

/**
 * @param entries CIDR, IP, host, `*.zone`, the last three also with `:port`; `*` matches everything
 * @param setting name of the setting, for the error
 * @throws ConfigError for any other entry
 */
export function parseDestinations(
  entries: readonly string[],
  setting = 'STILLFRAME_ALLOW_DESTINATIONS',
): DestinationList {
  const parsed = entries.map((text) => parseNamed(text, setting));
  return {
    isEmpty: parsed.length === 0,
    hasAddress: (address, port) => parsed.some((entry) => coversAddress(entry, address, port)),
    hasName: (name, port) => parsed.some((entry) => coversName(entry, name, port)),
    hasAddresses: parsed.some(({ kind }) => kind === 'range'),
  };
}

/** No destination at all. */
export const NO_DESTINATIONS = parseDestinations([]);
/** Every destination. */
export const ALL_DESTINATIONS = parseDestinations(['*']);

function parseNamed(text: string, setting: string): Entry {
  try {
    return parseEntry(text);
  } catch {
    throw new ConfigError(`${setting} has "${text}": it must be ${ALLOWED}.`);
  }
}

function parseEntry(text: string): Entry {
  if (text === '*') return { kind: 'all' };
  const range = parseRange(text);
  if (range !== null) return { kind: 'range', range, port: null };
  const [, host = '', digits] =
    /^(\[[^\]]*\]|[^:/]*|[0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]*)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const port = digits === undefined ? null : Number(digits);
  if (port !== null && (port < 1 || port > 65_535)) throw wrong();
  if (host.startsWith('*.')) return { kind: 'zone', suffix: `.${nameOf(host.slice(2))}`, port };
  const spelling = readHost(host);
  if (spelling.kind === 'nonsense') throw wrong();
  if (spelling.kind === 'address') {
    const ip = ipaddr.process(spelling.address);
    return { kind: 'range', range: [ip, bitsOf(ip)], port };
  }
  return { kind: 'name', name: spelling.name, port };
}

function nameOf(zone: string): string {
  const spelling = readHost(zone);
  if (spelling.kind === 'nonsense' || spelling.kind === 'address') throw wrong();
  return spelling.name;
}

function parseRange(text: string): IpRange | null {
  const [address = '', bits, ...rest] = text.split('/');
  if (bits === undefined || rest.length > 0 || isIP(address) === 0 || !/^\d{1,3}$/.test(bits)) return null;
  const ip = ipaddr.parse(address);
  if (Number(bits) > bitsOf(ip)) throw wrong();
  return [ip, Number(bits)];
}

function wrong(): Error {
  return new Error('not a destination');
}

function coversAddress(entry: Entry, address: string, port: number): boolean {
  if (entry.kind === 'all') return true;
  if (entry.kind !== 'range' || (entry.port !== null && entry.port !== port) || !ipaddr.isValid(address)) return false;
  return isInRange(ipaddr.process(address), entry.range);
}

function coversName(entry: Entry, name: string, port: number): boolean {
  if (entry.kind === 'all') return true;
  if (entry.kind === 'range' || (entry.port !== null && entry.port !== port)) return false;
  return entry.kind === 'name' ? entry.name === name : name.endsWith(entry.suffix);
}
