import { isIP } from 'node:net';
import { getPublicSuffix } from 'tldts';
import { z } from 'zod';
import { hasControlCharacter, limited } from './field-rules.js';
import * as limits from './limits.js';
import { readUrl } from './read-url.js';

/**
 * Whether a cookie may be set for a domain.
 *
 * @param host the target's host: the domain must be it or a parent of it; null: any domain
 * @returns the problem, or null
 */
export function cookieDomainProblem(domain: string, host: string | null): string | null {
  const bare = bareDomain(domain);
  if (!/^(?!-)[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/.test(bare) && isIP(bare.replace(/^\[|\]$/g, '')) === 0)
    return 'must be a host name';
  const target = host?.toLowerCase() ?? null;
  if (target === bare) return null;
  if (getPublicSuffix(bare, { allowPrivateDomains: true }) === bare) return 'must not be a public suffix';
  if (target === null) return null;
  const isParent = target.endsWith(`.${bare}`) && isIP(target.replace(/^\[|\]$/g, '')) === 0;
  return isParent ? null : `must be the target's host (${target}) or a parent domain of it`;
}

/** Without the leading dot that includes subdomains. */
export function bareDomain(domain: string): string {
  return domain.replace(/^\./, '').toLowerCase();
}

/** `cookies` and `storage_state` of a capture request (extensions.md). */

const SAME_SITE = { strict: 'Strict', lax: 'Lax', none: 'None' } as const;
export type SameSite = (typeof SAME_SITE)[keyof typeof SAME_SITE];

const sameSite = z.preprocess(
  (value) => (typeof value === 'string' ? (SAME_SITE[value.toLowerCase() as keyof typeof SAME_SITE] ?? value) : value),
  z.enum(['Strict', 'Lax', 'None']),
);
const EXPIRES_MAX_S = 253_402_300_799;
const expires = () =>
  z
    .number()
    .max(EXPIRES_MAX_S)
    .refine((seconds) => seconds === -1 || seconds >= 0, 'must be -1 or Unix seconds');
const cookieText = (max: number) =>
  limited(max).refine(
    (value) => !hasControlCharacter(value) && !value.includes(';'),
    'must not contain semicolons or control characters',
  );
const cookieName = () =>
  cookieText(limits.COOKIE_NAME_MAX_CHARS)
    .min(1)
    .refine((name) => !/[\s=,]/.test(name), 'must not contain spaces, commas or equals signs');
const cookiePath = () =>
  cookieText(limits.COOKIE_NAME_MAX_CHARS).refine((path) => path.startsWith('/'), 'must begin with a slash');

/** Chromium's limit on a cookie's name and value together. */
const fitsBrowser = ({ name, value }: { name: string; value: string }) =>
  Buffer.byteLength(name) + Buffer.byteLength(value) <= limits.COOKIE_MAX_BYTES;
const TOO_LONG = {
  path: ['value'],
  message: `must be at most ${limits.COOKIE_MAX_BYTES} bytes together with the name`,
};

const cookieFields = z.strictObject({
  name: cookieName().meta({ description: 'cookie name', example: 'session' }),
  value: cookieText(limits.COOKIE_VALUE_MAX_CHARS).meta({
    description: 'cookie value; write-only',
    example: 'abc123',
    writeOnly: true,
  }),
  domain: limited(253).min(1).optional().meta({
    description: "the target's host or a parent domain of it. Default: the target's host only",
    example: 'example.com',
  }),
  path: cookiePath().default('/').meta({ description: 'path prefix the cookie is sent to', example: '/' }),
  secure: z.boolean().default(false).meta({ description: 'send over https only', example: true }),
  http_only: z.boolean().default(false).meta({ description: 'hide the cookie from scripts', example: true }),
  same_site: sameSite.optional().meta({ description: 'SameSite attribute; case does not matter', example: 'Lax' }),
  expires: expires()
    .optional()
    .meta({ description: 'Unix seconds; -1 or absent for a session cookie', example: 1_893_456_000 }),
});

export const cookieSchema = cookieFields.refine(fitsBrowser, TOO_LONG);

const entryName = { description: 'name of the entry', example: 'session' };
const entryValue = { description: 'value of the entry', example: 'abc123' };

/** Playwright's storage state file. Other members (`indexedDB`, `credentials`) are ignored, since newer versions add some. */
export const storageStateSchema = z
  .object({
    cookies: z
      .array(
        z
          .object({
            name: cookieName().meta(entryName),
            value: cookieText(limits.COOKIE_VALUE_MAX_CHARS).meta(entryValue),
            domain: limited(253).min(1).meta({
              description: 'host that the cookie is for; with a leading dot, also the hosts below it',
              example: 'example.com',
            }),
            path: cookiePath().default('/').meta({ description: 'path that the cookie is for' }),
            expires: expires().default(-1).meta({ description: 'Unix seconds; -1 for a session cookie' }),
            httpOnly: z.boolean().default(false).meta({ description: 'hidden from scripts' }),
            secure: z.boolean().default(false).meta({ description: 'sent over HTTPS only' }),
            sameSite: sameSite.default('Lax').meta({ description: 'when other sites may cause the cookie to be sent' }),
          })
          .refine(fitsBrowser, TOO_LONG),
      )
      .default([])
      .meta({ description: 'cookies to set before the page is opened' }),
    origins: z
      .array(
        z.object({
          origin: limited(limits.ORIGIN_MAX_CHARS)
            .refine(isWebOrigin, 'must be an http or https origin, such as https://example.com')
            .transform((value) => new URL(value).origin)
            .meta({ description: 'scheme, host and port', example: 'https://example.com' }),
          localStorage: z
            .array(
              z.strictObject({
                name: limited(limits.STORAGE_STATE_MAX_BYTES).meta(entryName),
                value: limited(limits.STORAGE_STATE_MAX_BYTES).meta(entryValue),
              }),
            )
            .default([])
            .meta({ description: 'entries of local storage' }),
        }),
      )
      .default([])
      .meta({ description: 'local storage by origin' }),
  })
  .superRefine((state, context) => {
    if (Buffer.byteLength(JSON.stringify(state)) > limits.STORAGE_STATE_MAX_BYTES) {
      context.addIssue({ code: 'custom', message: `must be at most ${limits.STORAGE_STATE_MAX_BYTES} bytes of JSON` });
    }
    state.cookies.forEach(({ domain }, index) => {
      const problem = cookieDomainProblem(domain, null);
      if (problem !== null) context.addIssue({ code: 'custom', path: ['cookies', index, 'domain'], message: problem });
    });
  });

function isWebOrigin(text: string): boolean {
  const url = /^https?:\/\//i.test(text) ? readUrl(text) : null;
  return (
    url !== null &&
    url.pathname === '/' &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === ''
  );
}
