import ipaddr from 'ipaddr.js';
import { readHost } from './host-name.js';

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
  return (host, port) => rules.some((rule) => (rule.port === null || rule.port === port) && matches(rule.pattern, host));
}

function toRule(item: string): Rule {
  const bare = item.toLowerCase().replace(/^[a-z][a-z0-9+.-]*:\/\//, '');
  const [, pattern = bare, digits] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(bare) ?? [];
  return { pattern: pattern.startsWith('.') ? `*${pattern}` : pattern, port: digits === undefined ? null : Number(digits) };
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
  if (ipaddr.isValidCIDR(bare)) {
    const [range, bits] = ipaddr.parseCIDR(bare);
    return range.kind() === ip.kind() && ip.match([range, bits]);
  }
  return ipaddr.isValid(bare) && ipaddr.process(bare).toString() === ip.toString();
}
