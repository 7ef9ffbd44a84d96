/** Kinds of fields that several doors have. */
import type { Context } from 'hono';
import { z } from 'zod';
import { CaptureError } from '../../contract/capture-error.js';
import { cookieDomainProblem } from '../../contract/login-schema.js';
import { readUrl } from '../../contract/read-url.js';
import { invalidRequest, type RequestIssue } from '../../contract/submission.js';
import type { AppEnv } from '../app-services.js';
import type { Draft } from './door.js';

/** A boolean, or its name, as clients send it in queries and forms. */
export const bool = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')], {
  error: 'must be true or false',
});
/** A number, or its digits. */
export const num = z.union(
  [
    z.number(),
    z
      .string()
      .trim()
      .regex(/^-?\d+(\.\d+)?$/)
      .transform(Number),
  ],
  { error: 'must be a number' },
);

/** A cookie of Chromium's protocol; without a domain, it is for the host of the page. */
export interface DoorCookie {
  name: string;
  value: string;
  domain?: string | undefined;
  path?: string | undefined;
  secure?: boolean | undefined;
  httpOnly?: boolean | undefined;
  sameSite?: string | undefined;
  /** Unix seconds. */
  expires?: number | undefined;
}

/** Adds cookies to a capture request that has its `url`: those for other hosts than the page's go into its `storage_state`. */
export function addCookies(draft: Draft, cookies: readonly DoorCookie[]): void {
  const host = (typeof draft.url === 'string' ? readUrl(draft.url)?.hostname : undefined) ?? null;
  const isOwn = ({ domain }: DoorCookie) => domain === undefined || (host !== null && cookieDomainProblem(domain, host) === null);
  const own = cookies.filter(isOwn).map(({ httpOnly, sameSite, ...cookie }) => ({ ...cookie, http_only: httpOnly, same_site: sameSite }));
  const foreign = cookies.filter((cookie) => !isOwn(cookie));
  if (own.length > 0) draft.cookies = own.map(withoutAbsent);
  if (foreign.length > 0) draft.storage_state = { cookies: foreign.map(withoutAbsent) };
}

function withoutAbsent(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * The error for a capture request that a door has made, under the names of the door's fields.
 * @param names by dotted paths of the capture request, or of what they begin with
 */
export function underNames(thrown: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!(thrown instanceof CaptureError) || thrown.details?.job_id !== undefined) return thrown;
  const issues = thrown.details?.issues as RequestIssue[] | undefined;
  if (issues === undefined || issues.every(({ path }) => path === '')) return thrown;
  return invalidRequest(issues.map(({ path, message }) => ({ path: renamed(path, names), message })));
}

function renamed(path: string, names: Readonly<Record<string, string>>): string {
  const parts = path.split('.');
  for (let count = parts.length; count > 0; count--) {
    const name = names[parts.slice(0, count).join('.')];
    if (name !== undefined) return [name, ...parts.slice(count)].join('.');
  }
  return path;
}

/** Answers a failure in plain text. */
export function answerText(c: Context<AppEnv>, message: string, status: number): Response {
  const headers = { ...c.var.exchange.headers, 'content-type': 'text/plain; charset=utf-8' };
  return new Response(`${message}\n`, { status, headers });
}
