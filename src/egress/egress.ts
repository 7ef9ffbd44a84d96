/**
 * Every byte that leaves: one judgement of destinations, one resolver, one proxy for browsers, one fetch for the server itself.
 * Knows no job, page or account.
 */

/** Where a capture may be told that something was refused. */
export interface Refusal {
  host: string;
  port: number;
  reason: 'blocked_address' | 'blocked_name' | 'unresolvable' | 'over_limit' | 'scheme';
  /** The name server could not say (SERVFAIL, silence), as opposed to: there is no such name. */
  temporary?: boolean;
}

/** A destination that may be reached, and could not be. `code` is Node's (`ECONNREFUSED`); chromiumNetError() has the browser's name for it. */
export interface Failure {
  host: string;
  port: number;
  code: string;
}

/** A caller's own proxy, applied inside the gate. */
export interface CallerProxy {
  /** http, https or socks5 URL without credentials, as given by the caller. */
  server: string;
  bypass: string | null;
  username: string | null;
  password: string | null;
}

/** On whose behalf something is asked for: for the log alone. */
export interface Requester {
  job_id?: string;
  account?: string;
}

/** What a proxy is opened for. */
export interface Passage {
  proxy: CallerProxy | null;
  /**
   * The URL that was submitted: destinations that the operator allows are open to a capture whose own URL is one of them. Null for a
   * document of the caller's own, to which they are open as well.
   */
  target: string | null;
  requester?: Requester;
}

/** A capture's way out: one loopback proxy port, for one browser context. */
export interface CaptureProxy extends AsyncDisposable {
  /** Loopback port of an HTTP proxy without password. */
  readonly port: number;
  /** From here on traffic counts for this capture, and goes through the caller's proxy when there is one. */
  begin(passage: Passage): void;
  /** What was refused so far, newest last, the latest 1,000. */
  readonly refusals: readonly Refusal[];
  /** How many refusals in all. */
  readonly refusedCount: number;
  /** What could not be reached so far, newest last, the latest 1,000: the browser sees a broken answer only. */
  readonly failures: readonly Failure[];
  /** Both directions. */
  readonly bytes: number;
  /** Set once the caller's proxy could not be reached or answered nonsense; provisional while it has not answered at all. */
  readonly proxyFailure: string | null;
}

/** An answer to the server's own fetch; the body is cut at the limit asked for. */
export interface PublicResponse {
  status: number;
  headers: Headers;
  body: Uint8Array;
  truncated: boolean;
}

export interface PublicFetch {
  url: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body: string | null;
  /** ms over connect, TLS, headers and body together. */
  timeoutMs: number;
  maxBytes: number;
  /** Redirects are never followed. Goes through this proxy when given (egress checks), else direct. */
  via: CaptureProxy | null;
  /** Origins that need not be public (webhooks: STILLFRAME_WEBHOOK_ALLOW). */
  allowedOrigins: readonly string[];
  signal: AbortSignal | null;
  requester?: Requester;
  /** The caller logs why it failed: a refusal is not logged as well. */
  quiet?: boolean;
}

export type HostVerdict = { ok: true; addresses: string[] } | { ok: false; reason: Refusal['reason']; temporary: boolean };

export interface Egress extends AsyncDisposable {
  /** Whether a URL's spelling alone refuses it (literal private address, localhost names, metadata names). No look-up. */
  refusesLiterally(url: string, requester?: Requester): boolean;
  /** Whether a caller's proxy address is one that may be used, by its spelling alone. @returns what is wrong, or null */
  proxyProblem(server: string): string | null;
  /** Whether a callback may go there: resolves once and judges every address of the answer. */
  judgeHost(host: string, port: number, requester?: Requester): Promise<HostVerdict>;
  openCaptureProxy(): Promise<CaptureProxy>;
  /** Throws EgressRefused, or the transport's error. */
  fetch(request: PublicFetch): Promise<PublicResponse>;
}

/** A destination that policy refuses. The message is for the log; the client is told nothing. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
  constructor(readonly refusal: Refusal) {
    super(`refused ${refusal.host}:${refusal.port}: ${refusal.reason}`);
  }
}
