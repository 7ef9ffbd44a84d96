import { CONSOLE_KEPT } from '../rules.js';
import type { ConsoleGrant, ConsoleStore } from '../store.js';
import type { Database, Queries } from './connect.js';

export function consoleSteps(database: Database): ConsoleStore {
  return {
    addConsoleLink: (link) => database.transaction((queries) => add(queries, 'link', link)),
    exchangeConsoleLink: (linkHash, session) =>
      database.transaction(async (queries) => {
        // Of two concurrent exchanges, only the first finds the row.
        const taken = await queries.run(`DELETE FROM console_access WHERE hash = $1 AND kind = 'link' AND expires_at > $2`, [
          linkHash,
          session.createdAt,
        ]);
        if (taken === 0) return false;
        await add(queries, 'session', session);
        return true;
      }),
    findConsoleSession: (hash, now) =>
      database.one<ConsoleGrant>(
        `SELECT hash, created_at AS "createdAt", expires_at AS "expiresAt" FROM console_access
          WHERE hash = $1 AND kind = 'session' AND expires_at > $2`,
        [hash, now],
      ),
    async countConsoleSessions(now) {
      const live = await database.one<{ rows: number }>(
        `SELECT count(*) AS rows FROM console_access WHERE kind = 'session' AND expires_at > $1`,
        [now],
      );
      return live?.rows ?? 0;
    },
    endConsoleSession: async (hash) =>
      (await database.run(`DELETE FROM console_access WHERE hash = $1 AND kind = 'session'`, [hash])) === 1,
    async endConsoleAccess() {
      const ended = await database.all<{ kind: string }>('DELETE FROM console_access RETURNING kind');
      return ended.filter(({ kind }) => kind === 'session').length;
    },
  };
}

async function add(queries: Queries, kind: keyof typeof CONSOLE_KEPT, grant: ConsoleGrant): Promise<void> {
  await queries.run('DELETE FROM console_access WHERE expires_at <= $1', [grant.createdAt]);
  await queries.run(
    `DELETE FROM console_access WHERE hash IN (
      SELECT hash FROM console_access WHERE kind = $1 ORDER BY created_at DESC, hash DESC OFFSET $2)`,
    [kind, CONSOLE_KEPT[kind] - 1],
  );
  await queries.run('INSERT INTO console_access (hash, kind, created_at, expires_at) VALUES ($1, $2, $3, $4)', [
    grant.hash,
    kind,
    grant.createdAt,
    grant.expiresAt,
  ]);
}
