/**
 * A server's presence: a row in `nodes`, and a connection that holds its advisory lock and listens. A dead process loses the lock at once,
 * a disconnected machine its leases in time; while only that connection is broken, the others report that the server is alive.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Log } from '../../log.js';
import type { Queries } from '../rows.js';
import type { NodeFacts, StoreEvent } from '../store.js';
import { clientSettings, HELD_LOCKS, LOCKS, NO_TIMEOUTS, RELAXED } from './connect.js';

/** Interval at which a node reports that it is alive, and looks for nodes that are not. */
const HEARTBEAT_MS = 500;
/** Time without an answer to a beat after which the connection is given up. */
const ANSWER_TIMEOUT_MS = 5_000;
/** These settings let the server notice a disconnected node, and free its lock. */
const KEEPALIVE = `SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; ${NO_TIMEOUTS}`;

type Listener = (event: StoreEvent) => void;

export interface NodeOptions {
  url: string;
  /** Connections other than the node's own. */
  queries: Queries;
  /** Facts that other nodes get with each beat. */
  facts(): NodeFacts;
  log: Log;
}

export class ClusterNode implements AsyncDisposable {
  readonly id = randomUUID();
  readonly #options: NodeOptions;
  readonly #listeners = new Set<Listener>();
  readonly #clock = new DatabaseClock();
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #heartbeating: Promise<void> = Promise.resolve();
  #others = new OtherNodes();
  #isGuard = true;
  #closed = false;
  #wasUnavailable = false;

  private constructor(options: NodeOptions) {
    this.#options = options;
  }

  /**
   * Joins the cluster; resolves when the node has its row, its lock and the database's time.
   * @throws the driver's errors
   */
  static async join(options: NodeOptions): Promise<ClusterNode> {
    const node = new ClusterNode(options);
    await node.#connect();
    node.#next();
    return node;
  }

  /** Returns the database's time (Unix ms), which this machine's monotonic clock carries on from the last beat. */
  readonly now = (): number => this.#clock.now();

  /** Lists nodes that have ended; not those that are reconnecting, after a lost connection or a restart of the database. */
  readonly lost = (): string[] => this.#others.lost();

  /** Lists other nodes that are alive. */
  readonly alive = (): string[] => this.#others.alive();

  /** Whether this node is one of those that recover what others leave behind. */
  readonly isGuard = (): boolean => this.#isGuard;

  watch(listener: Listener): void {
    this.#listeners.add(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#heartbeating;
    const client = this.#client;
    this.#client = null;
    await this.#options.queries.one('DELETE FROM nodes WHERE id = $1', [this.id]).catch(() => undefined);
    await client?.end().catch(() => undefined);
  }

  /** Opens a new connection with this node's row and lock. */
  async #connect(): Promise<void> {
    const client = new pg.Client({ ...clientSettings(this.#options.url), query_timeout: ANSWER_TIMEOUT_MS });
    client.on('error', () => this.#drop(client));
    client.on('end', () => this.#drop(client));
    client.on('notification', ({ payload }) => this.#onNotification(payload ?? ''));
    try {
      await client.connect();
      await client.query(KEEPALIVE);
      await client.query(`LISTEN ${CHANNEL}`);
      const row = await client.query<{ key: number }>(
        `INSERT INTO nodes (id, started_at, seen_at, facts) VALUES ($1, stillframe_now(), stillframe_now(), $2::jsonb)
         ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING lock_key AS key`,
        [this.id, JSON.stringify(this.#options.facts())],
      );
      await client.query('SELECT pg_advisory_lock($1, $2)', [LOCKS.node, row.rows[0]?.key]);
      this.#client = client;
      await this.#heartbeat(rowsOf(client));
    } catch (error) {
      this.#drop(client);
      throw error;
    }
    if (this.#wasUnavailable) this.#options.log.info('the database is back');
    this.#wasUnavailable = false;
  }

  #drop(client: pg.Client): void {
    if (this.#client === client) this.#client = null;
    this.#others.forgetSilence();
    client.removeAllListeners('notification');
    client.end().catch(() => undefined);
  }

  #next(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#heartbeating = this.#turn().finally(() => this.#next());
    }, HEARTBEAT_MS);
  }

  async #turn(): Promise<void> {
    try {
      if (this.#client !== null) return await this.#heartbeat(rowsOf(this.#client));
      await this.#connect();
      // Notifications that were sent in the meantime were missed.
      this.#emit({ kind: 'missed' });
    } catch (error) {
      if (this.#client !== null) this.#drop(this.#client);
      if (!this.#wasUnavailable)
        this.#options.log.error({ err: error }, 'the database cannot be reached; it is tried again');
      this.#wasUnavailable = true;
      await this.#heartbeat(this.#options.queries).catch(() => undefined);
    }
  }

  /** Reports that this node is alive, reads the database's time, and checks which other nodes are no longer alive. */
  async #heartbeat(queries: Pick<Queries, 'one'>): Promise<void> {
    const sentAt = performance.now();
    const row = await queries.one<{ now: number; others: SeenNode[] | null; known: boolean }>(HEARTBEAT, [
      this.id,
      JSON.stringify(this.#options.facts()),
    ]);
    if (row === null) return;
    this.#clock.set(row.now, sentAt);
    // Another node assumed that this one was dead; a new connection gives it a row and a lock again.
    if (!row.known) throw new Error('this node was declared dead');
    this.#isGuard = row.others !== null;
    this.#others.see(row.others ?? []);
    if (this.lost().length > 0) this.#emit({ kind: 'node_lost' });
  }

  #onNotification(payload: string): void {
    for (const event of parseEvents(payload)) this.#emit(event);
  }

  #emit(event: StoreEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#options.log.error({ err: error }, 'a listener failed');
      }
    }
  }
}

/** The number of nodes that look after the others. With all of them, the cost would grow with the square of their number. */
const GUARDS = 4;
/** A node that was not heard of for so long does not count as a guard. */
const GUARD_SILENT_MS = 2_000;

/** Reports the node, and lists the others if it is one of the oldest that live, which recover what others leave behind. */
const HEARTBEAT = `WITH beat AS (UPDATE nodes SET seen_at = stillframe_now(), facts = $2::jsonb FROM ${RELAXED} WHERE id = $1 RETURNING id, lock_key),
  guard AS (SELECT (SELECT count(*) FROM (SELECT 1 FROM nodes older
      WHERE older.lock_key < beat.lock_key AND older.seen_at > stillframe_now() - ${GUARD_SILENT_MS} LIMIT ${GUARDS}) before) < ${GUARDS} AS is_one FROM beat)
  SELECT stillframe_now() AS now, EXISTS (SELECT 1 FROM beat) AS known,
    CASE WHEN (SELECT is_one FROM guard) THEN
      (SELECT coalesce(json_agg(json_build_object('id', id, 'seenAt', seen_at, 'locked', held.objid IS NOT NULL)), '[]')
        FROM nodes LEFT JOIN (${HELD_LOCKS}) held ON held.objid = nodes.lock_key WHERE id <> $1) END AS others`;

function rowsOf(client: pg.Client): Pick<Queries, 'one'> {
  return {
    one: async <Found>(text: string, values?: readonly unknown[]) =>
      ((await client.query(text, [...(values ?? [])])).rows[0] as Found) ?? null,
  };
}

/** Maximum drift between two clocks during ten beats. */
const SLACK_MS = 50;

/** The database's time, by this machine's monotonic clock. The quickest of the last answers counts. */
class DatabaseClock {
  #samples: { offset: number; tookMs: number }[] = [];

  set(now: number, sentAt: number): void {
    const arrivedAt = performance.now();
    const tookMs = arrivedAt - sentAt;
    const offset = now - (sentAt + arrivedAt) / 2;
    // Samples that contradict the latest one date from before a jump of the database's clock, or from before this machine was suspended.
    const agreeing = this.#samples.filter(
      (known) => Math.abs(known.offset - offset) <= (known.tookMs + tookMs) / 2 + SLACK_MS,
    );
    this.#samples = [...agreeing, { offset, tookMs }].slice(-10);
  }

  now(): number {
    const [best] = [...this.#samples].sort((one, other) => one.tookMs - other.tookMs);
    return Math.round(performance.now() + (best?.offset ?? 0));
  }
}

/** Channel of the notifications between nodes. */
export const CHANNEL = 'stillframe';
/** Maximum size of a notification in bytes; PostgreSQL allows 8,000. */
const PAYLOAD_BYTES = 7_500;

/** Collects events and soon sends them to all nodes, in one notification. A notification is only a hint, on which nobody depends. */
export class Notifier {
  readonly #send: (payloads: string[]) => Promise<unknown>;
  #events: StoreEvent[] = [];
  #sending: Promise<void> | null = null;

  constructor(send: (payloads: string[]) => Promise<unknown>) {
    this.#send = send;
  }

  add(event: StoreEvent): void {
    this.#events.push(event);
    this.#sending ??= this.#drain();
  }

  async allSent(): Promise<void> {
    await this.#sending;
  }

  async #drain(): Promise<void> {
    while (this.#events.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      const payloads = toPayloads(this.#events.splice(0));
      await this.#send(payloads).catch(() => undefined);
    }
    this.#sending = null;
  }
}

function toPayloads(events: readonly StoreEvent[]): string[] {
  const payloads: string[] = [];
  let line = '';
  for (const word of new Set(events.map((event) => ('jobId' in event ? `${event.kind}:${event.jobId}` : event.kind)))) {
    if (line.length + word.length + 1 > PAYLOAD_BYTES) {
      payloads.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? payloads : [...payloads, line];
}

/** Parses the events of a notification. */
export function parseEvents(payload: string): StoreEvent[] {
  return payload.split(' ').flatMap((word): StoreEvent[] => {
    const [kind, jobId] = word.split(':', 2);
    if ((kind === 'ended' || kind === 'canceled') && jobId !== undefined) return [{ kind, jobId }];
    return word === 'queued' || word === 'due' ? [{ kind: word }] : [];
  });
}

export const NOTIFY = `SELECT pg_notify('${CHANNEL}', payload) FROM ${RELAXED}, unnest($1::text[]) payload`;

/** A node has ended if it had no lock and reported nothing during this many beats. */
const LOST_AFTER_BEATS = 3;
/** A node that has reported within this time is alive, whatever the times in its rows say. */
const ALIVE_MS = 5_000;

export interface SeenNode {
  id: string;
  seenAt: number;
  /** Whether it holds its advisory lock. */
  locked: boolean;
}

/** Observations of other nodes from this node's beats, by this machine's monotonic clock, since the database's clock may be set. */
export class OtherNodes {
  #known = new Map<string, { seenAt: number; reportedAt: number; silentBeats: number }>();

  /** Called with each beat. */
  see(nodes: readonly SeenNode[]): void {
    const now = performance.now();
    const observed = nodes.map(({ id, seenAt, locked }) => {
      const before = this.#known.get(id);
      if (before === undefined || before.seenAt !== seenAt)
        return [id, { seenAt, reportedAt: now, silentBeats: locked ? 0 : 1 }] as const;
      return [id, { ...before, silentBeats: locked ? 0 : before.silentBeats + 1 }] as const;
    });
    this.#known = new Map(observed);
  }

  /** Called after a gap between beats, in which others may have had no connection either. */
  forgetSilence(): void {
    for (const node of this.#known.values()) node.silentBeats = 0;
  }

  /** Lists the nodes that have ended. */
  lost(): string[] {
    return [...this.#known].filter(([, { silentBeats }]) => silentBeats >= LOST_AFTER_BEATS).map(([id]) => id);
  }

  /** Lists the nodes that are certainly alive. */
  alive(): string[] {
    const since = performance.now() - ALIVE_MS;
    return [...this.#known].filter(([, { reportedAt }]) => reportedAt > since).map(([id]) => id);
  }
}
