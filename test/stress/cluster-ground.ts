/** PostgreSQL and the nodes of trial "cluster", and what the database says about their work. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { PG_MIGRATIONS_DIR } from '../../src/package-files.js';
import type { NewJob, Store } from '../../src/store/store.js';
import { type BuiltProgram, buildProgram } from '../fixtures/build-program.js';
import { createDatabase, dropDatabase, type PostgresServer } from '../fixtures/postgres.js';
import { aCaller, aNewJob, type Caller, openAt, SECRET_KEY } from '../store/factories.js';
import type { NodeOrder } from './cluster-node.js';
import { type TrialResult, until } from './trial-result.js';

export const RULES = { maxQueue: 1_000_000, webhookMaxAttempts: 5 };

export interface RunningNode {
  pid: number;
  kill(): Promise<void>;
  /** Lets it finish what it has. */
  end(): Promise<void>;
}

/** The numbers for the whole trial. */
export const AS_PROMISED = {
  /** Kills of nodes. */
  kills: 200,
  /** Restarts of the database; statements whose answer is lost, of each kind. */
  restarts: 50,
  /** Seconds that nodes work with wrong clocks; a lease lasts 30. */
  seconds: 70,
  /** Partitions of a node from the database; replacements of all servers. */
  rounds: 3,
  /** Servers that are replaced. */
  servers: 3,
  /** 0: they are replaced by servers of the next version alone. */
  sameVersion: 1,
  trustsOwnClock: 0,
  seed: 1,
};
export type PartOptions = typeof AS_PROMISED;

export type Part = (server: PostgresServer, options: PartOptions) => Promise<TrialResult>;

export class ClusterGround implements AsyncDisposable {
  readonly nodes: RunningNode[] = [];
  /** The nodes' output on stderr. */
  readonly complaints: string[] = [];

  private constructor(
    readonly url: string,
    readonly store: Store,
    readonly caller: Caller,
    private readonly db: pg.Pool,
    private readonly program: BuiltProgram,
    private readonly objects: string,
  ) {}

  static async make(server: PostgresServer): Promise<ClusterGround> {
    const url = await createDatabase(server.adminUrl);
    const store = await openAt(url);
    const db = new pg.Pool({ connectionString: url, max: 4 });
    // The server is restarted by some parts of the trial.
    db.on('error', () => undefined);
    await db.query(`CREATE TABLE trial_objects (name text PRIMARY KEY);
      CREATE TABLE trial_ends (id text);
      CREATE FUNCTION trial_end() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO trial_ends VALUES (new.id); RETURN NULL; END $$;
      CREATE TRIGGER trial_end AFTER UPDATE OF state ON jobs FOR EACH ROW
        WHEN (old.ended_at IS NULL AND new.ended_at IS NOT NULL) EXECUTE FUNCTION trial_end();`);
    const program = await buildProgram(new URL('cluster-node.ts', import.meta.url));
    const objects = join(mkdtempSync(join(tmpdir(), 'stillframe-trial-')), 'objects');
    writeFileSync(objects, '');
    return new ClusterGround(url, store, await aCaller(store), db, program, objects);
  }

  async start(order: Partial<NodeOrder> = {}): Promise<RunningNode> {
    const place = { url: this.url, objects: this.objects, migrationsDir: PG_MIGRATIONS_DIR, secretKey: SECRET_KEY.toString('base64') };
    const usual = { renderMs: 0, clockMs: 0, trustsOwnClock: false, sweepMs: 5_000 };
    const whole: NodeOrder = { ...place, ...usual, ...order };
    const child = spawn(process.execPath, [this.program.file, JSON.stringify(whole)], { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.complaints.push(text));
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`a node did not start: ${this.complaints.join('')}`);
    const node: RunningNode = {
      pid: child.pid ?? 0,
      kill: () => this.#leave(node, child, () => child.kill('SIGKILL')),
      end: () => this.#leave(node, child, () => child.stdin.end()),
    };
    this.nodes.push(node);
    return node;
  }

  /** Submits so many jobs over several connections. @returns how long it took, in ms */
  async submit(count: number, given: Partial<NewJob> = {}, caller: Caller = this.caller): Promise<number> {
    const startedAt = performance.now();
    let left = count;
    const submitter = async () => {
      while (left-- > 0) await insist(() => this.store.accept(aNewJob(caller, { enqueuedAt: this.store.now(), ...given }), RULES));
    };
    await Promise.all(Array.from({ length: 8 }, submitter));
    return performance.now() - startedAt;
  }

  async rows<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await insist(() => this.db.query(text, values))).rows as Row[];
  }

  async number(text: string, values: unknown[] = []): Promise<number> {
    const [row] = await this.rows<{ n: string | null }>(`SELECT (${text}) AS n`, values);
    return Number(row?.n ?? 0);
  }

  async untilEnded(seconds = 120): Promise<void> {
    await until(async () => (await this.number('SELECT count(*) FROM jobs WHERE ended_at IS NULL')) === 0, seconds * 1_000);
  }

  /** Waits until no job is held by a process that is gone. @returns how many it held, and how long it took */
  async untilClaimedAgain(pid: number): Promise<{ found: number; ms: number }> {
    const startedAt = performance.now();
    const found = await this.#heldBy(pid);
    await until(async () => (await this.#heldBy(pid)) === 0, 60_000, 10);
    return { found, ms: performance.now() - startedAt };
  }

  async untilHeldBy({ pid }: RunningNode): Promise<void> {
    if (!(await until(() => this.#heldBy(pid), 30_000, 5))) throw new Error('the node claims nothing');
  }

  jobs(): Promise<number> {
    return this.number('SELECT count(*) FROM jobs');
  }

  /** @returns a line for each error that jobs ended with */
  async failures(): Promise<string[]> {
    const failed = await this.rows<{ error: string; n: string }>(
      `SELECT error, count(*) AS n FROM jobs WHERE state = 'failed' GROUP BY error`,
    );
    return failed.map(({ error, n }) => `${n} jobs failed: ${error} ${this.complaints.join('').slice(0, 300)}`);
  }

  #heldBy(pid: number): Promise<number> {
    return this.number(`SELECT count(*) FROM jobs WHERE state = 'active' AND worker_id LIKE '%-${pid}-%'`);
  }

  /** How many objects there are; puts their names into a table. */
  async countObjects(): Promise<number> {
    const names = new Set<string>();
    for (const line of readFileSync(this.objects, 'utf8').split('\n')) {
      if (line.startsWith('+')) names.add(line.slice(1));
      else names.delete(line.slice(1));
    }
    await this.rows('DELETE FROM trial_objects');
    await this.rows('INSERT INTO trial_objects SELECT unnest($1::text[])', [[...names]]);
    return names.size;
  }

  /** Checks the state once all jobs have ended. @returns a line for each promise that was broken */
  async audit(): Promise<string[]> {
    const counts = {
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
    const problems: string[] = [];
    await this.countObjects();
    for (const [what, text] of Object.entries(counts)) {
      const found = await this.number(text);
      if (found !== 0) problems.push(`${found} ${what}`);
    }
    return problems;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.nodes].map((node) => node.kill()));
    await this.store[Symbol.asyncDispose]();
    await this.db.end();
    await this.program[Symbol.asyncDispose]();
    rmSync(dirname(this.objects), { recursive: true, force: true });
    await dropDatabase(this.url);
  }

  async #leave(node: RunningNode, child: ChildProcess, ask: () => unknown): Promise<void> {
    this.nodes.splice(this.nodes.indexOf(node), 1);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    ask();
    await exited;
  }
}

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
