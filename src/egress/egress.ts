/**
 * All outgoing traffic: one check of destinations, one resolver, one proxy for browsers, one fetch for the server itself.
 * Knows no jobs, pages or accounts.
 */

import type { Readable } from 'node:stream';

/** A refused destination. */
export interface Refusal {
  host: string;
  port: number;
  reason: 'blocked_address' | 'blocked_name' | 'unresolvable' | 'over_limit' | 'scheme' | 'has_read';
  /** The name server failed (SERVFAIL, no answer), as opposed to: there is no such name. */
  temporary?: boolean;
}

/** An allowed destination that could not be reached. `code` is Node's (`ECONNREFUSED`); chromiumNetError() has the browser's name for it. */
export interface Failure {
  host: string;
  port: number;
  code: string;
}

/** A caller's own proxy, which the capture proxy connects through. */
export interface CallerProxy {
  /** http, https or socks5 URL without credentials, as given by the caller. */
  server: string;
  bypass: string | null;
  username: string | null;
  password: string | null;
}

/** The requester of a look-up or connection, for the log only. */
export interface Requester {
  job_id?: string;
  account?: string;
}

/** The restrictions of a page of this machine's own user (extensions.md, Local pages). Lists are as STILLFRAME_ALLOW_DESTINATIONS. */
export interface LocalPageRules {
  /** Private destinations that it may reach besides the trusted ones. */
  allow: readonly string[];
  /** Destinations that stay open to it: its own server, and those that the user names. */
  trusted: readonly string[];
  /** Calls back when the page is about to read a file, after which it reaches trusted destinations only. */
  onRead(listener: () => void): void;
  /** Called once for each refused destination, which is then not logged. */
  refused(refusal: Refusal): void;
}

/** A host that is not on the network: the proxy itself answers plain http for it, and refuses everything else. */
export interface OwnHost {
  host: string;
  answer(request: OwnRequest): Promise<OwnAnswer>;
}

export interface OwnRequest {
  method: string;
  /** Path and query. */
  path: string;
  /** Value of Range. */
  range: string | undefined;
}

export interface OwnAnswer {
  status: number;
  headers: Record<string, string | number>;
  /** Null for an answer without content. */
  body: Readable | null;
}

/** The capture that a proxy serves. */
export interface ProxyContext {
  proxy: CallerProxy | null;
  /**
   * The submitted URL: destinations that the operator allows are open only to a capture whose own URL is one of them. null for the caller's
   * own document, which may reach them too.
   */
  target: string | null;
  local?: LocalPageRules | undefined;
  /** Files that came with the request. */
  own?: OwnHost | undefined;
  requester?: Requester;
}

/** A capture's proxy: one loopback port, for one browser context. */
export interface CaptureProxy extends AsyncDisposable {
  /** Loopback port of the HTTP proxy, which has no password. */
  readonly port: number;
  /** From now on, traffic belongs to this capture, and goes through the caller's proxy if there is one. */
  begin(passage: ProxyContext): void;
  /**
   * Whether a request to this URL would be refused, which counts as a refusal. Takes a look-up for the first request to a host and port, and
   * is answered at once for further ones.
   */
  refuses(url: string): boolean | Promise<boolean>;
  /** The latest 1,000 refusals, newest last. */
  readonly refusals: readonly Refusal[];
  /** Total number of refusals. */
  readonly refusedCount: number;
  /** The latest 1,000 failures, newest last; the browser only sees a broken response. */
  readonly failures: readonly Failure[];
  /** The bytes of both directions together. */
  readonly bytes: number;
  /** Set once the caller's proxy could not be reached or violated its protocol; provisional while it has not answered at all. */
  readonly proxyFailure: string | null;
}

/** A response to the server's own fetch; the body is cut at the requested limit. */
export interface PublicResponse {
  status: number;
  headers: Headers;
  body: Uint8Array;
  truncated: boolean;
}

export interface PublicFetch {
  url: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  /** ms for connect, TLS, headers and body together. */
  timeoutMs: number;
  /** 0: the body is not waited for. */
  maxBytes: number;
  /** The proxy to use (egress checks); null: a direct connection. Redirects are never followed. */
  via: CaptureProxy | null;
  /** Origins that need not be public (webhooks: STILLFRAME_WEBHOOK_ALLOW). */
  allowedOrigins: readonly string[];
  signal: AbortSignal | null;
  requester?: Requester;
  /** The caller logs failures itself, so a refusal is not logged here. */
  quiet?: boolean;
}

export type HostVerdict =
  | { ok: true; addresses: string[] }
  | { ok: false; reason: Refusal['reason']; temporary: boolean };

export interface Egress extends AsyncDisposable {
  /** Whether a URL is refused without a look-up (literal private address, localhost names, metadata names). */
  refusesLiterally(url: string, requester?: Requester): boolean;
  /** Checks the address of a caller's proxy, without a look-up. @returns the problem, or null */
  proxyProblem(server: string): string | null;
  /** Whether a callback may be sent there: resolves once and checks every address of the answer. */
  judgeHost(host: string, port: number, requester?: Requester): Promise<HostVerdict>;
  openCaptureProxy(): Promise<CaptureProxy>;
  /** Throws EgressRefused, or the transport's error. */
  fetch(request: PublicFetch): Promise<PublicResponse>;
}

/** A destination that policy refuses. The message is for the log only, never for the client. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
  constructor(readonly refusal: Refusal) {
    super(`refused ${refusal.host}:${refusal.port}: ${refusal.reason}`);
  }
}
