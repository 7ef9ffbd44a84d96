import ipaddr from 'ipaddr.js';
import { readHost } from './host-name.js';
import { isInRange } from './judge-address.js';
import { type DestinationRules, judgeSpelling } from './judge-host.js';

/** Address and protocol of a caller's proxy. */
export interface ProxyServer {
  scheme: 'http' | 'https' | 'socks5';
  /** Canonical, without brackets. */
  host: string;
  port: number;
}

const DEFAULT_PORTS = { http: 80, https: 443, socks5: 1_080 } as const;
/** One server, without credentials, path or list; `direct://`, `a;b` and `http=…` have special meanings in browsers. */
const SERVER = /^(?:(http|https|socks5h?):\/\/)?([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/i;

/**
 * @param text as given by the caller; without a scheme it is an http proxy
 * @returns null if it is not a valid proxy server
 */
export function readProxyServer(text: string): ProxyServer | null {
  const [, schemeText = 'http', hostText = '', digits] = SERVER.exec(text.trim()) ?? [];
  const scheme = schemeText.toLowerCase().replace('5h', '5') as ProxyServer['scheme'];
  const port = digits === undefined ? DEFAULT_PORTS[scheme] : Number(digits);
  const host = readHost(hostText);
  if (host.kind === 'nonsense' || port < 1 || port > 65_535) return null;
  return { scheme, host: host.kind === 'address' ? host.address : host.name, port };
}

/**
 * Checks a caller's proxy without a look-up (decisions.md, Capture semantics, proxy).
 *
 * @returns the problem, to follow the field's name, or null
 */
export function proxyProblem(rules: DestinationRules, text: string): string | null {
  if (text.includes('@')) return 'must not carry credentials; use `proxy.username` and `proxy.password`';
  const server = readProxyServer(text);
  if (server === null) return 'must be one http, https or socks5 proxy, such as http://proxy.example.com:3128';
  const known = judgeSpelling(rules, readHost(server.host), server.port);
  return known === null || known.ok ? null : 'must be on a public address';
}

/** Whether a destination bypasses the caller's proxy. It is checked nevertheless. */
export type Bypass = (host: string, port: number) => boolean;

interface Rule {
  pattern: string;
  port: number | null;
}

/**
 * @param list hosts as browsers accept them: `example.com`, `.example.com`, `*.example.com`, `*`, `10.0.0.0/8`, `<local>`, optionally
 *   with `:port`; separated by commas or semicolons
 */
export function parseBypass(list: string | null): Bypass {
  const rules = (list ?? '')
    .split(/[,;\s]+/)
    .filter((item) => item !== '')
    .map(toRule);
  return (host, port) =>
    rules.some((rule) => (rule.port === null || rule.port === port) && matches(rule.pattern, host));
}

function toRule(item: string): Rule {
  const bare = item.toLowerCase().replace(/^[a-z][a-z0-9+.-]*:\/\//, '');
  const [, pattern = bare, digits] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(bare) ?? [];
  return {
    pattern: pattern.startsWith('.') ? `*${pattern}` : pattern,
    port: digits === undefined ? null : Number(digits),
  };
}

function matches(pattern: string, host: string): boolean {
  const spelling = readHost(host);
  if (spelling.kind === 'nonsense') return false;
  if (pattern === '*') return true;
  if (spelling.kind === 'address') return matchesAddress(pattern, spelling.address);
  if (pattern === '<local>') return !spelling.name.includes('.');
  if (!pattern.includes('*')) return pattern.replace(/\.$/, '') === spelling.name;
  return matchesGlob(pattern, spelling.name);
}

/** Greedy matching of the parts between stars, instead of a regular expression built from a caller's text. */
function matchesGlob(pattern: string, name: string): boolean {
  const parts = pattern.split('*');
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}

function matchesAddress(pattern: string, address: string): boolean {
  const ip = ipaddr.process(address);
  const bare = pattern.replace(/^\[|\]$/g, '');
  if (ipaddr.isValidCIDR(bare)) return isInRange(ip, ipaddr.parseCIDR(bare));
  return ipaddr.isValid(bare) && ipaddr.process(bare).toString() === ip.toString();
}
