import type { Context, MiddlewareHandler } from 'hono';
import { authenticate as authenticateHeader, type Principal, requireScope } from '../account/authenticate.js';
import type { RateVerdict } from '../account/rate-limits.js';
import type { Scope } from '../contract/api-key.js';
import { CaptureError } from '../contract/capture-error.js';
import type { AppEnv, AppServices } from './app-services.js';
import { clientAddress } from './client-address.js';

type Meter = keyof typeof POLICY_NAMES;

export interface Protection {
  /** null: any key. */
  scope: Scope | null;
  /** The bucket of its key that a request takes from. */
  meter: Meter;
}

/** The protection of an endpoint that captures. */
export const SUBMISSIONS: Protection = { scope: 'screenshot:write', meter: 'submissions' };
/** The protection of an endpoint that only reads. */
export const READS: Protection = { scope: 'jobs:read', meter: 'reads' };

/** The protection of an endpoint that changes what is stored. It neither renders nor charges, so it counts as a read. */
export const WRITES: Protection = { scope: 'screenshot:write', meter: 'reads' };

/** Names of the policies in the `RateLimit` headers (draft-ietf-httpapi-ratelimit-headers). */
const POLICY_NAMES = { submissions: 'submit', reads: 'read', links: 'link' } as const;
const WINDOW_SECONDS = 60;
/** Descriptions of these headers in the OpenAPI document. */
export const RATE_HEADERS = {
  ratelimit: 'remaining requests of the bucket: `"submit";r=29;t=1`',
  'ratelimit-policy': 'the bucket: `"submit";q=120;w=60`',
};

/**
 * Checks authentication, then scope, then rate limit, all before the body is read (decisions.md, Envelope).
 * Throws `unauthorized`, `forbidden`, `rate_limited`.
 */
export function guard(services: AppServices, protection: Protection): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const principal = await authenticate(services, c);
    enforceLimits(services, c, { principal, protection });
    await next();
  };
}

/** Checks the scope, then the rate limit, of an authenticated principal. @throws CaptureError `forbidden`, `rate_limited` */
export function enforceLimits(
  services: AppServices,
  c: Context<AppEnv>,
  { principal, protection }: { principal: Principal; protection: Protection },
): void {
  const isScoped = protection.scope === null || principal.scopes.includes(protection.scope);
  const verdict = takeToken(services, c, { principal, meter: protection.meter, takes: isScoped });
  if (protection.scope !== null) requireScope(principal, protection.scope);
  if (!verdict.allowed) throw keyLimited(verdict);
}

/** Takes a token of the key, or only looks, and reports to the client how many are left. */
export function takeToken(
  services: AppServices,
  c: Context<AppEnv>,
  { principal, meter, takes }: { principal: Principal; meter: Meter; takes: boolean },
): RateVerdict {
  const { exchange } = c.var;
  exchange.principal = principal;
  const verdict = services.limits[meter][takes ? 'take' : 'peek'](principal.keyId);
  if (verdict.limit === 0) return verdict;
  const name = POLICY_NAMES[meter];
  exchange.headers['ratelimit-policy'] = `"${name}";q=${verdict.limit};w=${WINDOW_SECONDS}`;
  exchange.headers.ratelimit = `"${name}";r=${Math.max(0, Math.floor(verdict.remaining))};t=${Math.ceil(verdict.resetSeconds)}`;
  return verdict;
}

export function keyLimited(verdict: RateVerdict): CaptureError {
  return rateLimited(verdict, 'This API key has exceeded its rate limit.');
}

/** Other methods get 405 before any other check (decisions.md, Envelope). GET includes HEAD. @throws CaptureError `invalid_request` (405) */
export function refuseOtherMethods(c: Context<AppEnv>, methods: readonly string[]): void {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  if (allowed.includes(c.req.method)) return;
  const allow = allowed.join(', ');
  c.var.exchange.headers.allow = allow;
  const message = `${c.req.method.slice(0, 20)} is not allowed here. Allowed: ${allow}.`;
  throw new CaptureError({ code: 'invalid_request', status: 405, message });
}

/** The principal of a request to a guarded route. */
export function principalOf(c: Context<AppEnv>): Principal {
  const { principal } = c.var.exchange;
  if (principal === null) throw new Error(`${c.var.exchange.route} is served without a guard`);
  return principal;
}

async function authenticate(services: AppServices, c: Context<AppEnv>): Promise<Principal> {
  try {
    return await authenticateHeader(services.store, c.env.incoming.headers.authorization);
  } catch (thrown) {
    throw failureOf(services, c, thrown, 'unauthorized');
  }
}

/** The error for a failed authentication: `thrown`, or `rate_limited`. @param code of the failures that count */
export function failureOf(
  services: AppServices,
  c: Context<AppEnv>,
  thrown: unknown,
  code: 'unauthorized' | 'forbidden',
): unknown {
  if (!(thrown instanceof CaptureError) || thrown.code !== code) return thrown;
  // Only failures count: a valid key works from any address, so that nobody can lock out others behind the same address.
  const verdict = services.limits.failures.take(clientAddress(c.env.incoming));
  return verdict.allowed ? thrown : rateLimited(verdict, 'Too many failed authentications from this address.');
}

function rateLimited(verdict: RateVerdict, message: string): CaptureError {
  const retryAfterSeconds = Math.max(1, Math.ceil(verdict.retryAfterSeconds));
  return new CaptureError({
    code: 'rate_limited',
    message: `${message} Retry in ${retryAfterSeconds} s.`,
    retryAfterSeconds,
  });
}
