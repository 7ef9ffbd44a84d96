import { EgressRefused } from '../egress/egress.js';

const NOT_PUBLIC = 'The host name could not be resolved to a public address.';

/** Public messages by the error codes of sockets, TLS and the HTTP client. */
const PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/^(?:ENOTFOUND|EAI_|ENODATA|ESERVFAIL|EREFUSED|ENONAME)/, NOT_PUBLIC],
  [/TIMEOUT|TIMEDOUT|TimeoutError|AbortError/, 'The receiver did not answer in time.'],
  [/^ECONNREFUSED$/, 'The receiver refused the connection.'],
  [/^(?:ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL)$/, 'The receiver could not be reached.'],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_CLOSED|UND_ERR_DESTROYED)$/, 'The receiver closed the connection before it answered.'],
  [/CERT|SIGNATURE|ISSUER|^ERR_TLS_ALTNAME|^ERR_TLS|^ERR_SSL|^EPROTO$|SSL/, 'The TLS connection to the receiver failed.'],
  [/^UND_ERR_HEADERS_OVERFLOW$|^HPE_HEADER_OVERFLOW$/, "The headers of the receiver's response are too large."],
  [/^HPE_|^UND_ERR_(?:RES|RESPONSE)|^Z_|^ERR_.*ZLIB|^HTTPParserError$/, "The receiver's response was not valid HTTP."],
];

/**
 * Returns the public message for an attempt without a response, from a fixed set. A refused address and a missing name get the same
 * message, so that callers cannot map the network (decisions.md, Destinations); the log has the details.
 */
export function transportProblem(error: unknown): string {
  if (error instanceof EgressRefused) return NOT_PUBLIC;
  for (const code of codesOf(error)) {
    const problem = PROBLEMS.find(([pattern]) => pattern.test(code));
    if (problem !== undefined) return problem[1];
  }
  return 'The connection to the receiver failed.';
}

/** Lists the codes of an error and its causes, innermost first. An AggregateError (several addresses) counts as its first error. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  let at: unknown = error;
  for (let depth = 0; at instanceof Error && depth < 8; depth++) {
    const { code } = at as NodeJS.ErrnoException;
    if (typeof code === 'string') codes.unshift(code);
    else codes.unshift(at.name);
    at = at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined);
  }
  return codes;
}
