import { hashApiKey } from '../../contract/api-key.js';
import { newId } from '../../contract/ids.js';
import { periodOf } from '../../contract/pricing.js';
import { REVOKE_PREFIX_MIN_CHARS } from '../rules.js';
import type { Account, AccountStore, AccountUsage, ApiKey, JobCounts, KeyStore, NewKey } from '../store.js';
import type { Vault } from '../vault.js';
import type { Database, Queries } from './connect.js';
import { LINK_SUM } from './end-job.js';
import { LOCKS } from './locks.js';

const ACCOUNT = 'SELECT id, name, quota, created_at AS "createdAt" FROM accounts';
const KEY = `SELECT key.id, key.account_id AS "accountId", accounts.name AS "accountName", key.label, key.scopes, key.prefix,
    key.created_at AS "createdAt", key.revoked_at AS "revokedAt", key.links_limit AS "linksLimit"
  FROM api_keys key JOIN accounts ON accounts.id = key.account_id`;

export function accountSteps(database: Database): AccountStore {
  return {
    async createAccount(name, now) {
      const account: Account = { id: newId('account', now), name, quota: null, createdAt: now };
      const made = await database.run(
        `WITH made AS (INSERT INTO accounts (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING RETURNING id)
         INSERT INTO turns (account_id) SELECT id FROM made`,
        [account.id, name, now],
      );
      return made === 1 ? account : null;
    },
    listAccounts: () => database.all<Account>(`${ACCOUNT} ORDER BY name COLLATE "C"`),
    findAccount: (name) => database.one<Account>(`${ACCOUNT} WHERE name = $1`, [name]),
    setQuota: async (name, quota) => (await database.run('UPDATE accounts SET quota = $2 WHERE name = $1', [name, quota])) === 1,
    usage: (accountId, now) => usageOf(database, accountId, now),
    jobCounts: (accountId, now) => countJobs(database, accountId, now),
  };
}

export function keySteps(database: Database, vault: Vault): KeyStore {
  return {
    insertKey: (key) => insertKey(database, key),
    insertFirstKey: (key) =>
      database.transaction(async (queries) => {
        await queries.run('SELECT pg_advisory_xact_lock($1, 0)', [LOCKS.firstKey]);
        if ((await queries.one('SELECT 1 FROM api_keys LIMIT 1')) !== null) return false;
        await insertKey(queries, key);
        return true;
      }),
    findKeyByHash: (hash) => database.one<ApiKey>(`${KEY} WHERE key.hash = $1`, [hash]),
    findKey: (id) => database.one<ApiKey>(`${KEY} WHERE key.id = $1`, [id]),
    listKeys: () => database.all<ApiKey>(`${KEY} ORDER BY key.created_at, key.id`),
    rotateSigningSecret: (keyId, secret, previousUntil) => rotateSigningSecret(database, vault, { keyId, secret, previousUntil }),
    signingSecrets: (keyId, now) => signingSecrets(database, vault, keyId, now),
    setLinksLimit: async (keyId, limit) => (await database.run('UPDATE api_keys SET links_limit = $2 WHERE id = $1', [keyId, limit])) === 1,
    async linkCredits(now) {
      const sums = await database.all<{ keyId: string; credits: number }>(
        `SELECT substr(name, ${LINK_SUM.length + 1}) AS "keyId", sum(settled + reserved)::bigint AS credits
          FROM sums WHERE period = $1 AND name LIKE '${LINK_SUM}%' GROUP BY name HAVING sum(settled + reserved) > 0`,
        [periodOf(now)],
      );
      return new Map(sums.map(({ keyId, credits }) => [keyId, credits]));
    },
    revokeKey: (idOrPrefix, now) => revokeKey(database, idOrPrefix, now),
  };
}

async function insertKey(queries: Queries, { id, accountId, hash, label, scopes, prefix, createdAt }: NewKey): Promise<void> {
  await queries.run(
    `INSERT INTO api_keys (id, account_id, hash, label, scopes, prefix, created_at) VALUES ($1, $2, $3, $4, $5::jsonb, $6, $7)`,
    [id, accountId, hash, label, JSON.stringify(scopes), prefix, createdAt],
  );
}

/** @throws Error for an account that does not exist */
async function usageOf(queries: Queries, accountId: string, now: number): Promise<AccountUsage> {
  const period = periodOf(now);
  const row = await queries.one<Omit<AccountUsage, 'period'>>(
    `SELECT accounts.name AS account, accounts.quota, coalesce(sum(sums.settled), 0)::bigint AS credits,
        coalesce(sum(sums.reserved), 0)::bigint AS reserved
      FROM accounts LEFT JOIN sums ON sums.account_id = accounts.id AND sums.period = $2
      WHERE accounts.id = $1 GROUP BY accounts.id`,
    [accountId, period],
  );
  if (row === null) throw new Error(`no account ${accountId}`);
  return { ...row, period };
}

async function countJobs(queries: Queries, accountId: string, now: number): Promise<JobCounts> {
  const [unfinished, outcomes] = await Promise.all([
    queries.all<{ state: keyof JobCounts['byState']; jobs: number }>(
      'SELECT state, count(*) AS jobs FROM jobs WHERE account_id = $1 AND ended_at IS NULL GROUP BY state',
      [accountId],
    ),
    queries.all<{ name: string; jobs: number }>(
      `SELECT name, sum(jobs)::bigint AS jobs FROM sums WHERE account_id = $1 AND period = $2 AND name <> ''
        GROUP BY name HAVING sum(jobs) > 0 ORDER BY name COLLATE "C"`,
      [accountId, periodOf(now)],
    ),
  ]);
  const completed = outcomes.find(({ name }) => name === 'completed')?.jobs ?? 0;
  const failures = outcomes.filter(({ name }) => name !== 'completed');
  const byState = { waiting: 0, prioritized: 0, active: 0, delayed: 0, completed, failed: 0 };
  byState.failed = failures.reduce((sum, { jobs }) => sum + jobs, 0);
  for (const { state, jobs } of unfinished) byState[state] = jobs;
  return { byState, byCode: Object.fromEntries(failures.map(({ name, jobs }) => [name, jobs])) };
}

async function rotateSigningSecret(
  database: Database,
  vault: Vault,
  { keyId, secret, previousUntil }: { keyId: string; secret: string; previousUntil: number },
): Promise<boolean> {
  const rotated = await database.run(
    `INSERT INTO signing_secrets AS known (key_id, secret) SELECT id, $2::bytea FROM api_keys WHERE id = $1
     ON CONFLICT (key_id) DO UPDATE SET secret = excluded.secret, previous = known.secret, previous_until = $3`,
    [keyId, vault.seal(secret, `signing:${keyId}`), previousUntil],
  );
  return rotated === 1;
}

/** Reads the secrets that are valid now, newest first; none if the key never had one. */
async function signingSecrets(queries: Queries, vault: Vault, keyId: string, now: number): Promise<string[]> {
  const row = await queries.one<{ secret: Buffer; previous: Buffer | null; until: number | null }>(
    'SELECT secret, previous, previous_until AS until FROM signing_secrets WHERE key_id = $1',
    [keyId],
  );
  if (row === null) return [];
  const older = row.previous !== null && (row.until ?? 0) > now ? [row.previous] : [];
  return [row.secret, ...older].map((sealed) => vault.open(sealed, `signing:${keyId}`));
}

/** Revokes a key. Revoking again keeps the time of the first revocation. */
async function revokeKey(database: Database, text: string, now: number): ReturnType<KeyStore['revokeKey']> {
  // The text is a prefix of the id or of the stored prefix, or begins with the stored prefix.
  const [key, other] = await database.all<ApiKey>(
    `${KEY} WHERE key.hash = $2 OR key.id = $1 OR (length($1) >= ${REVOKE_PREFIX_MIN_CHARS}
       AND (left(key.id, length($1)) = $1 OR left(key.prefix, length($1)) = left($1, length(key.prefix)))) LIMIT 2`,
    [text, hashApiKey(text)],
  );
  if (key === undefined) return { problem: 'not_found' };
  if (other !== undefined) return { problem: 'ambiguous' };
  await database.run('UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL', [key.id, now]);
  return { revoked: { ...key, revokedAt: key.revokedAt ?? now } };
}

/** Encrypts all signing secrets again with the current key. */
export async function sealAgain(database: Database, vault: Vault): Promise<void> {
  await database.transaction(async (queries) => {
    const rows = await queries.all<{ keyId: string; secret: Buffer; previous: Buffer | null }>(
      'SELECT key_id AS "keyId", secret, previous FROM signing_secrets FOR UPDATE',
    );
    for (const { keyId, secret, previous } of rows) {
      const again = (sealed: Buffer) => vault.seal(vault.open(sealed, `signing:${keyId}`), `signing:${keyId}`);
      await queries.run('UPDATE signing_secrets SET secret = $2, previous = $3 WHERE key_id = $1', [
        keyId,
        again(secret),
        previous === null ? null : again(previous),
      ]);
    }
  });
}
