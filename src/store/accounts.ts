/** Accounts, their keys, and access to the console, for both engines. */
import { hashApiKey } from '../contract/api-key.js';
import { newId } from '../contract/ids.js';
import type { KeyRow, Queries, RunTogether, SecretRow, Statement } from './rows.js';
import { CANCELED_OUTCOME } from './rules/jobs.js';
import type {
  Account,
  AccountStore,
  ApiKey,
  ConsoleGrant,
  ConsoleStore,
  JobCounts,
  KeyStore,
  NewKey,
} from './store.js';
import { markOf, placeOf, type Vault } from './vault.js';
import { renewWatches } from './watches.js';

/** Minimum length of a prefix. Shorter ones could match another account's key (`sf_live_` alone has 8 characters). */
const REVOKE_PREFIX_MIN_CHARS = 12;

const ACCOUNT = 'SELECT id, name, quota, created_at FROM accounts';
const KEY = `SELECT key.id, key.account_id, accounts.name AS account_name, key.label, key.scopes, key.prefix, key.created_at, key.revoked_at,
    key.links_limit
  FROM api_keys key JOIN accounts ON accounts.id = key.account_id`;

export const ANY_KEY = 'SELECT id FROM api_keys LIMIT 1';
export const INSERT_KEY = `INSERT INTO api_keys (id, account_id, hash, label, scopes, prefix, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`;

/** Makes an account, unless its name is taken. */
export const INSERT_ACCOUNT =
  'INSERT INTO accounts (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING';

/** Returns the parameters of INSERT_KEY. */
export function keyValues({ id, accountId, hash, label, scopes, prefix, createdAt }: NewKey): unknown[] {
  return [id, accountId, hash, label, JSON.stringify(scopes), prefix, createdAt];
}

/** @param insertAccount INSERT_ACCOUNT with what else the engine stores of an account */
export function accountSteps(
  queries: Queries,
  insertAccount = INSERT_ACCOUNT,
): Omit<AccountStore, 'usage' | 'jobCounts' | 'charge'> {
  return {
    async createAccount(name, now) {
      const account: Account = { id: newId('account', now), name, quota: null, createdAt: now };
      return (await queries.run(insertAccount, [account.id, name, now])) === 1 ? account : null;
    },
    async listAccounts() {
      const accounts = await queries.all<Account>(ACCOUNT);
      // PostgreSQL would sort by the language of the database.
      return accounts.sort((one, other) => (one.name < other.name ? -1 : 1));
    },
    findAccount: (name) => queries.one(`${ACCOUNT} WHERE name = $1`, [name]),
    setQuota: async (name, quota) =>
      (await queries.run('UPDATE accounts SET quota = $2 WHERE name = $1', [name, quota])) === 1,
  };
}

/** Counts jobs by state and code, from the unfinished jobs of an account, and the outcomes of those that ended in a month. */
export function toJobCounts(
  unfinished: readonly { state: string; jobs: number }[],
  outcomes: ReadonlyMap<string, number>,
): JobCounts {
  const failures = [...outcomes]
    .filter(([outcome]) => outcome !== 'completed' && outcome !== CANCELED_OUTCOME)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    byState: {
      waiting: 0,
      prioritized: 0,
      active: 0,
      delayed: 0,
      completed: outcomes.get('completed') ?? 0,
      failed: failures.reduce((sum, [, jobs]) => sum + jobs, 0),
      ...Object.fromEntries(unfinished.map(({ state, jobs }) => [state, jobs])),
    },
    byCode: Object.fromEntries(failures),
  };
}

export function keySteps(queries: Queries, vault: Vault): Omit<KeyStore, 'insertFirstKey' | 'linkCredits'> {
  const findKey = async (condition: string, value: string) =>
    orNull(await queries.one<FoundKey>(`${KEY} WHERE ${condition} = $1`, [value]));
  return {
    insertKey: async (key) => void (await queries.run(INSERT_KEY, keyValues(key))),
    findKeyByHash: (hash) => findKey('key.hash', hash),
    findKey: (id) => findKey('key.id', id),
    listKeys: async () => (await queries.all<FoundKey>(`${KEY} ORDER BY key.created_at, key.id`)).map(toKey),
    async rotateSigningSecret(keyId, secret, previousUntil) {
      if ((await findKey('key.id', keyId)) === null) return false;
      await queries.run(
        `INSERT INTO signing_secrets AS known (key_id, secret) VALUES ($1, $2)
         ON CONFLICT (key_id) DO UPDATE SET secret = excluded.secret, previous = known.secret, previous_until = $3`,
        [keyId, vault.seal(secret, placeOf.signing(keyId)), previousUntil],
      );
      return true;
    },
    async signingSecrets(keyId, now) {
      const row = await queries.one<SecretRow>(
        'SELECT secret, previous, previous_until FROM signing_secrets WHERE key_id = $1',
        [keyId],
      );
      if (row === null) return [];
      const older = row.previous !== null && (row.previousUntil ?? 0) > now ? [row.previous] : [];
      return [row.secret, ...older].map((sealed) => vault.open(sealed, placeOf.signing(keyId)));
    },
    setLinksLimit: async (keyId, limit) =>
      (await queries.run('UPDATE api_keys SET links_limit = $2 WHERE id = $1', [keyId, limit])) === 1,
    revokeKey: (idOrPrefix, now) => revokeKey(queries, idOrPrefix, now),
  };
}

type FoundKey = Omit<KeyRow, 'hash'> & Pick<ApiKey, 'accountName'>;

function toKey(row: FoundKey): ApiKey {
  return { ...row, scopes: typeof row.scopes === 'string' ? JSON.parse(row.scopes) : row.scopes };
}

function orNull(row: FoundKey | null): ApiKey | null {
  return row === null ? null : toKey(row);
}

/** Revokes a key. Revoking again keeps the time of the first revocation. */
async function revokeKey(queries: Queries, text: string, now: number): ReturnType<KeyStore['revokeKey']> {
  // The text is a prefix of the id or of the stored prefix, or begins with the stored prefix.
  const [row, other] = await queries.all<FoundKey>(
    `${KEY} WHERE key.hash = $2 OR key.id = $1 OR (length($1) >= ${REVOKE_PREFIX_MIN_CHARS}
       AND (substr(key.id, 1, length($1)) = $1 OR substr(key.prefix, 1, length($1)) = substr($1, 1, length(key.prefix)))) LIMIT 2`,
    [text, hashApiKey(text)],
  );
  if (row === undefined) return { problem: 'not_found' };
  if (other !== undefined) return { problem: 'ambiguous' };
  await queries.run('UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL', [row.id, now]);
  return { revoked: { ...toKey(row), revokedAt: row.revokedAt ?? now } };
}

/** Encrypts permanent data again with the current key, so that the former one is needed only as long as the jobs of its time. */
export async function renewKey(queries: Queries, vault: Vault): Promise<void> {
  for (const row of await queries.all<Omit<SecretRow, 'previousUntil'>>(
    'SELECT key_id, secret, previous FROM signing_secrets',
  )) {
    const place = placeOf.signing(row.keyId);
    const again = (sealed: Buffer | null) => (sealed === null ? null : vault.seal(vault.open(sealed, place), place));
    await queries.run('UPDATE signing_secrets SET secret = $2, previous = $3 WHERE key_id = $1 AND secret = $4', [
      row.keyId,
      again(row.secret),
      again(row.previous),
      row.secret,
    ]);
  }
  await renewWatches(queries, vault);
  await queries.run(`UPDATE marks SET value = $1 WHERE name = 'vault'`, [markOf(vault)]);
}

/** Maximum number of console links and sessions. */
const KEPT = { link: 20, session: 100 } as const;
/** More than there are: SQLite has no OFFSET without a LIMIT. */
const ALL = 1_000_000;

/** Links and sessions of the console, for both engines. */
export function consoleSteps(queries: Queries, runTogether: RunTogether): ConsoleStore {
  return {
    async addConsoleLink(link) {
      const { hash, createdAt, expiresAt } = link;
      await runTogether([
        [
          `INSERT INTO console_access (hash, kind, created_at, expires_at) VALUES ($1, 'link', $2, $3)`,
          [hash, createdAt, expiresAt],
        ],
        removeOldest('link', link),
      ]);
    },
    async exchangeConsoleLink(linkHash, session) {
      // Only the first of two concurrent exchanges finds the row, which becomes the session.
      const [exchanged] = await runTogether([
        [
          `UPDATE console_access SET hash = $2, kind = 'session', created_at = $3, expires_at = $4
            WHERE hash = $1 AND kind = 'link' AND expires_at > $3`,
          [linkHash, session.hash, session.createdAt, session.expiresAt],
        ],
        removeOldest('session', session),
      ]);
      return exchanged === 1;
    },
    findConsoleSession: (hash, now) =>
      queries.one(
        `SELECT hash, created_at, expires_at FROM console_access WHERE hash = $1 AND kind = 'session' AND expires_at > $2`,
        [hash, now],
      ),
    async countConsoleSessions(now) {
      const live = await queries.one<{ rows: number }>(
        `SELECT count(*) AS rows FROM console_access WHERE kind = 'session' AND expires_at > $1`,
        [now],
      );
      return live?.rows ?? 0;
    },
    endConsoleSession: async (hash) =>
      (await queries.run(`DELETE FROM console_access WHERE hash = $1 AND kind = 'session'`, [hash])) === 1,
    async endConsoleAccess() {
      const [, sessions = 0] = await runTogether([
        [`DELETE FROM console_access WHERE kind = 'link'`, []],
        ['DELETE FROM console_access', []],
      ]);
      return sessions;
    },
  };
}

/** Removes what has expired, and the oldest of a kind that exceed the limit, but not the new one. */
function removeOldest(kind: keyof typeof KEPT, { hash, createdAt }: ConsoleGrant): Statement {
  return [
    `DELETE FROM console_access WHERE expires_at <= $1 OR hash IN (
      SELECT hash FROM console_access WHERE kind = $2 AND expires_at > $1
        ORDER BY hash = $3 DESC, created_at DESC, hash DESC LIMIT ${ALL} OFFSET $4)`,
    [createdAt, kind, hash, KEPT[kind]],
  ];
}
