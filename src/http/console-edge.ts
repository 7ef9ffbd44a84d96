import type { Principal } from '../account/authenticate.js';
import type { Scope } from '../contract/api-key.js';
import type { CaptureOptions } from '../contract/capture-request.js';
import type { JobSnapshot, JobState } from '../contract/job.js';
import type { WireUsage } from '../contract/usage.js';

export interface ConsoleKey {
  id: string;
  accountId: string;
  accountName: string;
  label: string;
  scopes: readonly Scope[];
  /** First characters of the secret. */
  prefix: string;
  createdAt: number;
  revokedAt: number | null;
  /** Credits per month that its links may cost; null for no limit. */
  linksLimit: number | null;
}

export interface ConsoleAccount {
  id: string;
  name: string;
  /** Credits per month; null for no limit. */
  quota: number | null;
  createdAt: number;
}

/** A server that works on the same store. */
export interface ConsoleNode {
  id: string;
  /** Unix ms; null if it is not known. */
  startedAt: number | null;
  facts: { name: string; version: string; roles: readonly string[]; readyBrowsers: number; running: number; concurrency: number };
}

export interface ConsoleJobsPage {
  /** null: all keys. */
  keyId: string | null;
  state: JobState | null;
  limit: number;
  before: number | null;
}

/** A secret of a link or a session, and when it expires (Unix ms). */
export interface ConsoleSecret {
  secret: string;
  expiresAt: number;
}

/** What the console needs besides the rest of the edge: an operator's view of all accounts. Times are Unix ms. */
export interface ConsoleEdge {
  /** Whether only this machine may open it. */
  loopbackOnly: boolean;
  now(): number;
  /** Exchanges a link, which can be used once. @returns null for an unknown, used or expired one */
  openSession(linkSecret: string): Promise<ConsoleSecret | null>;
  /** @returns null for an unknown, ended or expired session */
  findSession(secret: string): Promise<{ createdAt: number; expiresAt: number } | null>;
  endSession(secret: string): Promise<void>;
  /** Ends all sessions and invalidates all links. */
  endAllSessions(): Promise<void>;
  countSessions(): Promise<number>;

  listJobs(page: ConsoleJobsPage): Promise<{ jobs: JobSnapshot[]; next: number | null }>;
  findJob(id: string): Promise<JobSnapshot | null>;
  /** Options of those jobs that have not ended, secrets included. */
  findOrders(jobIds: readonly string[]): Promise<Map<string, CaptureOptions>>;

  listKeys(): Promise<ConsoleKey[]>;
  /** Credits that the links of each key have cost in this month. */
  linkCredits(): Promise<ReadonlyMap<string, number>>;
  findKey(id: string): Promise<ConsoleKey | null>;
  /** @returns null if there is no such account */
  createKey(wish: { accountName: string; label: string; scopes: readonly Scope[] }): Promise<(ConsoleKey & { secret: string }) | null>;
  /** The previous secret is valid until then. @returns null if there is no such key */
  newSigningSecret(keyId: string, previousUntil: number): Promise<string | null>;
  /** @returns false if there is no such key */
  revokeKey(id: string): Promise<boolean>;

  listAccounts(): Promise<ConsoleAccount[]>;
  /** @returns false if the name is taken */
  createAccount(name: string): Promise<boolean>;
  /** @returns false if there is no such account */
  setQuota(name: string, quota: number | null): Promise<boolean>;
  readUsage(accountId: Principal['accountId']): Promise<WireUsage>;

  setQueuePaused(paused: boolean): Promise<void>;
  /** Bytes of pictures and of the database, how many of the latter are unused (`free`), and the limit of all (`max`). */
  storageUse(): Promise<{ pictures: number; database: number; free: number; max: number }>;
  /** The servers that share the store, this one included. */
  nodes(): Promise<ConsoleNode[]>;
}
