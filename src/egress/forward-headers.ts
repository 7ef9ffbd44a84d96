import { validateHeaderName, validateHeaderValue } from 'node:http';

/** RFC 9110, 7.6.1, and proxy headers: a target must not make the browser ask for a proxy password. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The headers to forward with a request, in the browser's order and case.
 *
 * @param rawHeaders alternating names and values
 * @param host value of Host, replacing the browser's
 */
export function requestHeaders(rawHeaders: readonly string[], host: string): string[] {
  const kept = endToEnd(rawHeaders, new Set([...HOP_BY_HOP, 'host']));
  return ['Host', host, 'Connection', 'keep-alive', ...(isChunked(rawHeaders) ? ['Transfer-Encoding', 'chunked'] : []), ...kept];
}

/** The headers to return with a response. Omits invalid ones, which browsers ignore. */
export function responseHeaders(rawHeaders: readonly string[]): string[] {
  return endToEnd(rawHeaders, HOP_BY_HOP);
}

function endToEnd(rawHeaders: readonly string[], dropped: ReadonlySet<string>): string[] {
  const named = connectionOptions(rawHeaders);
  // RFC 9112, 6.3: a content-length in addition is invalid, and would allow response smuggling.
  if (isChunked(rawHeaders)) named.add('content-length');
  const kept: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    const lower = name.toLowerCase();
    if (!dropped.has(lower) && !named.has(lower) && isWritable(name, value)) kept.push(name, value);
  }
  return kept;
}

function isChunked(rawHeaders: readonly string[]): boolean {
  return rawHeaders.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'transfer-encoding');
}

function connectionOptions(rawHeaders: readonly string[]): Set<string> {
  const options = new Set<string>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if ((rawHeaders[index] ?? '').toLowerCase() !== 'connection') continue;
    for (const option of (rawHeaders[index + 1] ?? '').split(',')) options.add(option.trim().toLowerCase());
  }
  return options;
}

function isWritable(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    // The target sent an invalid header: the response is forwarded without it.
    return false;
  }
}
