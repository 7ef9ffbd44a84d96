/** PostgreSQL and the nodes of trial "cluster", and what the database says about their work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { PG_MIGRATIONS_DIR } from '../../src/package-files.js';
import type { NewJob } from '../../src/store/store.js';
import { buildProgram } from '../fixtures/build-program.js';
import { createDatabase, dropDatabase } from '../fixtures/databases.js';
import type { PostgresServer } from '../fixtures/postgres.js';
import { aCaller, aNewJob, openAt, SECRET_KEY } from '../store/factories.js';
import type { NodeOrder } from './cluster-node.js';
import { type TrialResult, until } from './trial-result.js';

export const RULES = { maxQueue: 1_000_000, webhookMaxAttempts: 5 };

export type RunningNode = { pid: number; kill(): Promise<void> };

/**
 * Kills of nodes; restarts of the database, and statements whose answer is lost, of each kind; seconds that nodes work with wrong clocks (a
 * lease lasts 30); partitions of a node from the database, and replacements of all servers, by those of the next version alone with
 * `sameVersion` 0.
 */
export const AS_PROMISED = {
  kills: 200,
  restarts: 50,
  seconds: 70,
  rounds: 3,
  servers: 3,
  sameVersion: 1,
  trustsOwnClock: 0,
  seed: 1,
};
export type PartOptions = typeof AS_PROMISED;

export type Part = (server: PostgresServer, options: PartOptions) => Promise<TrialResult>;

export type ClusterGround = Awaited<ReturnType<typeof openGround>>;

export async function openGround(server: PostgresServer) {
  const url = await createDatabase(server.adminUrl);
  const store = await openAt(url);
  const caller = await aCaller(store);
  const db = new pg.Pool({ connectionString: url, max: 4 });
  // The server is restarted by some parts of the trial.
  db.on('error', () => undefined);
  await db.query(`CREATE TABLE trial_objects (name text PRIMARY KEY);
    CREATE TABLE trial_ends (id text);
    CREATE FUNCTION trial_end() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO trial_ends VALUES (new.id); RETURN NULL; END $$;
    CREATE TRIGGER trial_end AFTER UPDATE OF state ON jobs FOR EACH ROW
      WHEN (old.ended_at IS NULL AND new.ended_at IS NOT NULL) EXECUTE FUNCTION trial_end();`);
  const program = await buildProgram(new URL('cluster-node.ts', import.meta.url));
  const dir = mkdtempSync(join(tmpdir(), 'stillframe-trial-'));
  const objects = join(dir, 'objects');
  writeFileSync(objects, '');
  const nodes: RunningNode[] = [];
  const complaints: string[] = [];

  const start = async (order: Partial<NodeOrder> = {}): Promise<RunningNode> => {
    const place = { url, objects, migrationsDir: PG_MIGRATIONS_DIR, secretKey: SECRET_KEY.toString('base64') };
    const whole: NodeOrder = { ...place, renderMs: 0, clockMs: 0, trustsOwnClock: false, sweepMs: 5_000, ...order };
    const child = spawn(process.execPath, [program.file, JSON.stringify(whole)], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stderr.setEncoding('utf8').on('data', (text: string) => complaints.push(text));
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`a node did not start: ${complaints.join('')}`);
    const kill = async (): Promise<void> => {
      nodes.splice(nodes.indexOf(node), 1);
      const exited = once(child, 'exit');
      if (child.kill('SIGKILL')) await exited;
    };
    const node: RunningNode = { pid: child.pid ?? 0, kill };
    nodes.push(node);
    return node;
  };
  const rows = async <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await insist(() => db.query(text, values))).rows as Row[];
  const number = async (text: string): Promise<number> => {
    const [row] = await rows<{ n: string | null }>(`SELECT (${text}) AS n`);
    return Number(row?.n ?? 0);
  };
  const job = (given: Partial<NewJob>) => aNewJob(caller, { enqueuedAt: store.now(), attemptBudget: 10, ...given });
  const heldBy = (pid: number) =>
    number(`SELECT count(*) FROM jobs WHERE state = 'active' AND worker_id LIKE '%-${pid}-%'`);
  return {
    url,
    nodes,
    start,
    rows,
    number,
    job,
    /** Submits so many jobs over several connections. */
    async submit(count: number, given: Partial<NewJob> = {}): Promise<void> {
      let left = count;
      const submitter = async () => {
        while (left-- > 0) await insist(() => store.accept(job(given), RULES));
      };
      await Promise.all(Array.from({ length: 8 }, submitter));
    },
    untilEnded: () =>
      until(async () => (await number('SELECT count(*) FROM jobs WHERE ended_at IS NULL')) === 0, 120_000),
    /** Waits until no job is held by a process that is gone. @returns how many it held, and how long it took */
    async untilClaimedAgain(pid: number): Promise<{ found: number; ms: number }> {
      const startedAt = performance.now();
      const found = await heldBy(pid);
      await until(async () => (await heldBy(pid)) === 0, 60_000, 10);
      return { found, ms: Math.round(performance.now() - startedAt) };
    },
    async untilHeldBy({ pid }: RunningNode): Promise<void> {
      if (!(await until(() => heldBy(pid), 30_000, 5))) throw new Error('the node claims nothing');
    },
    async failures(): Promise<string[]> {
      const failed = await rows<{ error: string; n: string }>(
        `SELECT error, count(*) AS n FROM jobs WHERE state = 'failed' GROUP BY error`,
      );
      return failed.map(({ error, n }) => `${n} jobs failed: ${error} ${complaints.join('').slice(0, 300)}`);
    },
    /** Checks the state once all jobs have ended. @returns a line for each promise that was broken */
    async audit(): Promise<string[]> {
      const names = new Set<string>();
      for (const line of readFileSync(objects, 'utf8').split('\n')) {
        if (line.startsWith('+')) names.add(line.slice(1));
        else names.delete(line.slice(1));
      }
      await rows('DELETE FROM trial_objects');
      await rows('INSERT INTO trial_objects SELECT unnest($1::text[])', [[...names]]);
      const problems: string[] = [];
      for (const [what, text] of Object.entries(BROKEN)) {
        const found = await number(text);
        if (found !== 0) problems.push(`${found} ${what}`);
      }
      return problems;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all([...nodes].map((node) => node.kill()));
      await store[Symbol.asyncDispose]();
      await db.end();
      await program[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
      await dropDatabase(url);
    },
  };
}

const BROKEN = {
  'jobs that never ended': 'SELECT count(*) FROM jobs WHERE ended_at IS NULL',
  'followers that wait for an ended job': 'SELECT count(*) FROM jobs WHERE leader_id IS NOT NULL',
  'jobs that ended twice': 'SELECT count(*) FROM (SELECT id FROM trial_ends GROUP BY id HAVING count(*) > 1) twice',
  'credits that are pending for ended jobs': `SELECT count(*) FROM reservations WHERE state = 'pending'`,
  'completed jobs that were not charged, or failed ones that were': `SELECT count(*) FROM jobs JOIN reservations ON job_id = jobs.id
    WHERE (jobs.state = 'completed') <> (reservations.state = 'settled')`,
  'credits beyond those of completed jobs': `SELECT abs((SELECT coalesce(sum(settled), 0) FROM sums)
    - (SELECT coalesce(sum(credits), 0) FROM reservations WHERE state = 'settled')) + abs((SELECT coalesce(sum(reserved), 0) FROM sums))`,
  'charges without an object': `SELECT count(*) FROM jobs WHERE state = 'completed' AND artifact_name NOT IN (SELECT name FROM trial_objects)`,
  'queue entries of ended jobs': 'SELECT count(*) FROM queue_entries JOIN jobs USING (seq) WHERE ended_at IS NOT NULL',
  'objects that nobody will remove': `SELECT count(*) FROM trial_objects
    WHERE name NOT IN (SELECT name FROM artifacts) AND name NOT IN (SELECT name FROM removals)`,
};

/** Repeats what fails while the database is away, for up to 20 s. */
export async function insist<T>(step: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + 20_000; ; await pause(100)) {
    const done = await step().then(
      (value) => ({ value }),
      (error: unknown) => (performance.now() > deadline ? Promise.reject(error) : null),
    );
    if (done !== null) return done.value;
  }
}
