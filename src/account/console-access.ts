/**
 * Console login: a sign-in link, which an operator makes on the command line, and the session that it is exchanged for. Secrets are
 * random and only their hashes are stored, so the duration of a look-up reveals nothing.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ConsoleGrant, ConsoleStore } from '../store/store.js';

export const LINK_MINUTES = 10;
export const SESSION_HOURS = 12;
const SECRET_BYTES = 32;
const SHAPE = /^[A-Za-z0-9_-]{43}$/;

export interface Issued {
  secret: string;
  /** Unix ms. */
  expiresAt: number;
}

/** Makes a sign-in link's secret, valid for LINK_MINUTES. */
export async function issueConsoleLink(store: Pick<ConsoleStore, 'addConsoleLink'>, now: number): Promise<Issued> {
  const { secret, grant } = newGrant(now, LINK_MINUTES * 60_000);
  await store.addConsoleLink(grant);
  return { secret, expiresAt: grant.expiresAt };
}

/**
 * Exchanges a link's secret for that of a session.
 * @returns null for an unknown, used or expired secret
 */
export async function openConsoleSession(
  store: Pick<ConsoleStore, 'exchangeConsoleLink'>,
  linkSecret: string,
  now: number,
): Promise<Issued | null> {
  if (!SHAPE.test(linkSecret)) return null;
  const { secret, grant } = newGrant(now, SESSION_HOURS * 3_600_000);
  return (await store.exchangeConsoleLink(hash(linkSecret), grant)) ? { secret, expiresAt: grant.expiresAt } : null;
}

/** @returns null for an unknown, ended or expired session */
export async function findConsoleSession(
  store: Pick<ConsoleStore, 'findConsoleSession'>,
  secret: string,
  now: number,
): Promise<ConsoleGrant | null> {
  return SHAPE.test(secret) ? await store.findConsoleSession(hash(secret), now) : null;
}

export async function endConsoleSession(store: Pick<ConsoleStore, 'endConsoleSession'>, secret: string): Promise<void> {
  if (SHAPE.test(secret)) await store.endConsoleSession(hash(secret));
}

/** Returns the token that a session's forms contain, so that no other page can submit them. */
export function formTokenOf(sessionSecret: string): string {
  return createHash('sha256').update(`stillframe console form:${sessionSecret}`).digest('base64url');
}

export function isFormToken(token: string, sessionSecret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(token), digest(formTokenOf(sessionSecret)));
}

function newGrant(now: number, lastsMs: number): { secret: string; grant: ConsoleGrant } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { secret, grant: { hash: hash(secret), createdAt: now, expiresAt: now + lastsMs } };
}

function hash(secret: string): string {
  return createHash('sha256').update(`stillframe console:${secret}`).digest('hex');
}
