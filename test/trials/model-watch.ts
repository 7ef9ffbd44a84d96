/** A look past the store of the model trial, at its database: every change of a job's state, whatever statement makes it. */
import { join } from 'node:path';
import pg from 'pg';
import { Database } from '../../src/store/sqlite/driver.js';

export interface Move {
  id: string;
  move: string;
}

const LEGAL_MOVES = new Set([
  'waiting>active',
  'waiting>prioritized',
  'waiting>completed',
  'waiting>failed',
  'prioritized>active',
  'prioritized>completed',
  'prioritized>failed',
  'delayed>active',
  'active>waiting',
  'active>prioritized',
  'active>delayed',
  'active>completed',
  'active>failed',
]);

/** The changes of state that no job may make. */
export const illegalOf = (moves: readonly Move[]): Move[] => moves.filter(({ move }) => !LEGAL_MOVES.has(move));

export type ModelWatch = Awaited<ReturnType<typeof watchSqlite>>;

const PUT_BACK = `UPDATE jobs SET state = lane, lease_expires_at = NULL, due_at = NULL, ended_at = NULL, data = NULL, error = NULL,
  artifact_name = NULL, leader_id = NULL`;

/** @param place of the store: a data directory, or the URL of a database */
export function watchStore(place: string): Promise<ModelWatch> {
  return place.startsWith('postgres:') ? watchPostgres(place) : watchSqlite(place);
}

async function watchSqlite(dataDir: string) {
  const db = new Database(join(dataDir, 'stillframe.db'), { timeout: 5_000 });
  db.exec(`CREATE TABLE trial_moves (id TEXT, move TEXT);
    CREATE TRIGGER trial_watch AFTER UPDATE OF state ON jobs WHEN old.state <> new.state
      BEGIN INSERT INTO trial_moves VALUES (new.id, old.state || '>' || new.state); END;`);
  return {
    takeMoves: async () => {
      const moves = db.prepare<[], Move>('SELECT id, move FROM trial_moves').all();
      db.exec('DELETE FROM trial_moves');
      return moves;
    },
    unguard: async (): Promise<void> => void db.exec('DROP TRIGGER jobs_end_for_good'),
    /** Puts a job back into its lane without naming the state, worker and attempt that it is expected to have. */
    putBack: async (id: string): Promise<void> => void db.prepare(`${PUT_BACK} WHERE id = ?`).run(id),
    jobsEver: async () => Number(db.prepare('SELECT max(seq) FROM jobs').pluck().get() ?? 0),
    brokenReferences: async () => db.pragma('foreign_key_check') as unknown[],
    close: async (): Promise<void> => void db.close(),
  };
}

async function watchPostgres(url: string): Promise<ModelWatch> {
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  await db.query(`CREATE TABLE trial_moves (id text, move text);
    CREATE FUNCTION trial_watch() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO trial_moves VALUES (new.id, old.state || '>' || new.state); RETURN NULL; END $$;
    CREATE TRIGGER trial_watch AFTER UPDATE OF state ON jobs FOR EACH ROW WHEN (old.state <> new.state) EXECUTE FUNCTION trial_watch();`);
  return {
    takeMoves: async () =>
      (await db.query<Move>('WITH moved AS (DELETE FROM trial_moves RETURNING id, move) SELECT * FROM moved')).rows,
    unguard: async () => void (await db.query('DROP TRIGGER jobs_end_for_good ON jobs')),
    putBack: async (id) => void (await db.query(`${PUT_BACK}, node_id = NULL WHERE id = $1`, [id])),
    jobsEver: async () =>
      Number((await db.query<{ seq: string | null }>('SELECT max(seq) AS seq FROM jobs')).rows[0]?.seq ?? 0),
    // Checked by the database itself with each statement.
    brokenReferences: async () => [],
    close: () => db.end(),
  };
}
