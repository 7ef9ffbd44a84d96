import { readHost } from './host-name.js';
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
