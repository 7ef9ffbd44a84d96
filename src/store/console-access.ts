import type { Queries } from './queries.js';
import type { ConsoleGrant, ConsoleStore } from './store.js';

/** Maximum number of console links and sessions. */
const KEPT = { link: 20, session: 100 } as const;
/** More than there are: SQLite has no OFFSET without a LIMIT. */
const ALL = 1_000_000;

/** Links and sessions of the console, for both engines. */
export function consoleSteps(queries: Queries): ConsoleStore {
  const end = (hash: string, kind: keyof typeof KEPT, now: number) =>
    queries.run('DELETE FROM console_access WHERE hash = $1 AND kind = $2 AND expires_at > $3', [hash, kind, now]);
  return {
    addConsoleLink: (link) => add(queries, 'link', link),
    async exchangeConsoleLink(linkHash, session) {
      // Of two concurrent exchanges, only the first finds the row.
      if ((await end(linkHash, 'link', session.createdAt)) === 0) return false;
      await add(queries, 'session', session);
      return true;
    },
    findConsoleSession: (hash, now) =>
      queries.one(`SELECT hash, created_at, expires_at FROM console_access WHERE hash = $1 AND kind = 'session' AND expires_at > $2`, [
        hash,
        now,
      ]),
    async countConsoleSessions(now) {
      const live = await queries.one<{ rows: number }>(
        `SELECT count(*) AS rows FROM console_access WHERE kind = 'session' AND expires_at > $1`,
        [now],
      );
      return live?.rows ?? 0;
    },
    endConsoleSession: async (hash) => (await end(hash, 'session', 0)) === 1,
    async endConsoleAccess() {
      await queries.run(`DELETE FROM console_access WHERE kind = 'link'`);
      return await queries.run('DELETE FROM console_access');
    },
  };
}

async function add(queries: Queries, kind: keyof typeof KEPT, grant: ConsoleGrant): Promise<void> {
  await queries.run(
    `DELETE FROM console_access WHERE expires_at <= $1 OR hash IN (
      SELECT hash FROM console_access WHERE kind = $2 AND expires_at > $1 ORDER BY created_at DESC, hash DESC LIMIT ${ALL} OFFSET $3)`,
    [grant.createdAt, kind, KEPT[kind] - 1],
  );
  await queries.run('INSERT INTO console_access (hash, kind, created_at, expires_at) VALUES ($1, $2, $3, $4)', [
    grant.hash,
    kind,
    grant.createdAt,
    grant.expiresAt,
  ]);
}
