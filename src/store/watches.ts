/** Watches, their runs and messages, for both engines. */
import { newId } from '../contract/ids.js';
import {
  kindOf,
  placesOf,
  placeText,
  type Send,
  type Watch,
  type WatchDefinition,
  type WatchEvent,
  type WatchMessage,
  type WatchRun,
} from '../contract/watch.js';
import type { Queries, RunTogether, Statement } from './rows.js';
import type { DueWatch, EndedRun, HeldWork, WatchStore, WatchTimes } from './store.js';
import { openOrNull, placeOf, type Vault } from './vault.js';

type WatchRow = Omit<Watch, 'definition'> & { sealed: Buffer };
type RunRow = Omit<WatchRun, 'data' | 'error'> & { data: string | null; error: string | null };
type DueRow = Pick<DueWatch, 'id' | 'nextAt' | 'createdAt'> & { schedule: string };

const WATCH = `SELECT id, account_id, key_id, sealed, next_at, created_at, updated_at, failures, alarm, previous_run, approved_run FROM watches`;
const RUN_COLUMNS = `id, watch_id, account_id, due_at, cause, state, attempt, job_id, started_at, ended_at, share, picture, changes, data, error`;
const RUN = `SELECT ${RUN_COLUMNS} FROM watch_runs`;
const DUE = 'SELECT id, next_at, created_at, schedule FROM watches';
const MESSAGE = `SELECT id, watch_id, run_id, account_id, target, recipient, kind, event, state, attempts, generation, due_at, last_status, last_error,
  last_attempt_at, delivered_at FROM watch_messages`;
/** A submitted run whose job has ended, or whose time has come. Nobody holds it, or no longer. */
const CLAIMABLE = `state = 'running' AND (wake_at <= $1
  OR (claim IS NULL AND EXISTS (SELECT 1 FROM jobs WHERE jobs.id = watch_runs.job_id AND jobs.ended_at IS NOT NULL)))`;
/** Condition that a claim ($1, $2) has just ended its run, in state $3. */
const HAS_ENDED = `EXISTS (SELECT 1 FROM watch_runs WHERE id = $1 AND claim = $2 AND state = $3)`;
/** Condition that the watch needs a run whatever its age. */
const IS_NEEDED = `EXISTS (SELECT 1 FROM watches WHERE watches.id = watch_runs.watch_id
  AND (watches.previous_run = watch_runs.id OR watches.approved_run = watch_runs.id))`;
const DAY_MS = 86_400_000;
/** Greater than the id of any watch: the time of an id begins with a digit. */
const LAST_ID = 'wat_Z';

export function watchSteps(queries: Queries, vault: Vault, runTogether: RunTogether): WatchStore {
  const findRun = async (condition: string, values: readonly unknown[]) =>
    toRun(await queries.one<RunRow>(`${RUN} ${condition}`, values));
  /** Takes a row that is due, unless another server has taken it since it was read. */
  const claim = async (
    table: string,
    row: { id: string; dueAt: number },
    held: { column: string; claim: string; until: number },
  ) =>
    (await queries.run(`UPDATE ${table} SET claim = $2, ${held.column} = $3 WHERE id = $1 AND ${held.column} = $4`, [
      row.id,
      held.claim,
      held.until,
      row.dueAt,
    ])) === 1;
  const claimRun = async (found: { id: string; wakeAt: number } | null, token: string, until: number) => {
    if (
      found === null ||
      !(await claim('watch_runs', { id: found.id, dueAt: found.wakeAt }, { column: 'wake_at', claim: token, until }))
    )
      return null;
    return await findRun('WHERE id = $1 AND claim = $2', [found.id, token]);
  };
  return {
    async insertWatch(watch, max) {
      const { id, accountId, definition } = watch;
      const [, tooMany] = await runTogether([
        [
          `INSERT INTO watches (id, account_id, key_id, sealed, schedule, keep_runs, keep_days, next_at, created_at, updated_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`,
          [
            id,
            accountId,
            watch.keyId,
            sealed(vault, id, definition),
            scheduleOf(definition),
            definition.keep.runs,
            definition.keep.days,
            watch.nextAt,
            watch.createdAt,
          ],
        ],
        [
          'DELETE FROM watches WHERE id = $1 AND (SELECT count(*) FROM watches WHERE account_id = $2) > $3',
          [id, accountId, max],
        ],
      ]);
      return tooMany === 0;
    },
    findWatch: async (id) => toWatch(vault, await queries.one<WatchRow>(`${WATCH} WHERE id = $1`, [id])),
    async listWatches({ keyId, before, limit }) {
      const ofKey = keyId === null ? '' : 'AND key_id = $3';
      const rows = await queries.all<WatchRow>(`${WATCH} WHERE id < $1 ${ofKey} ORDER BY id DESC LIMIT $2`, [
        before ?? LAST_ID,
        limit,
        ...(keyId === null ? [] : [keyId]),
      ]);
      return rows.flatMap((row) => toWatch(vault, row) ?? []);
    },
    async updateWatch({ id, definition, nextAt, updatedAt }, readAt) {
      return (
        (await queries.run(
          `UPDATE watches SET sealed = $2, schedule = $3, keep_runs = $4, keep_days = $5, next_at = $6, updated_at = $7
            WHERE id = $1 AND updated_at = $8`,
          [
            id,
            sealed(vault, id, definition),
            scheduleOf(definition),
            definition.keep.runs,
            definition.keep.days,
            nextAt,
            updatedAt,
            readAt,
          ],
        )) === 1
      );
    },
    deleteWatch: async (id) => (await queries.run('DELETE FROM watches WHERE id = $1', [id])) === 1,
    anyWatch: async () => (await queries.one('SELECT 1 AS found FROM watches LIMIT 1')) !== null,
    dueWatches: async (now, limit) =>
      (await queries.all<DueRow>(`${DUE} WHERE next_at <= $1 ORDER BY next_at LIMIT $2`, [now, limit])).map(toDue),
    scheduledWatches: async ({ after, limit }) =>
      (
        await queries.all<DueRow>(`${DUE} WHERE id > $1 AND next_at IS NOT NULL ORDER BY id LIMIT $2`, [after, limit])
      ).map(toDue),
    reschedule: async ({ id, nextAt }, next) =>
      void (await queries.run('UPDATE watches SET next_at = $3 WHERE id = $1 AND next_at = $2', [id, nextAt, next])),
    async fire({ id, nextAt }, { runId, nextAt: next, now, overlap }) {
      const due = `FROM watches WHERE id = $1 AND next_at = $2 ON CONFLICT DO NOTHING`;
      await runTogether([
        [
          `INSERT INTO watch_runs (id, watch_id, account_id, due_at, cause, state, attempt, wake_at)
            SELECT $3, id, account_id, next_at, 'schedule', 'queued', 1, next_at ${due}`,
          [id, nextAt, runId],
        ],
        // The first statement has entered nothing: the run before has not ended.
        [
          `INSERT INTO watch_runs (id, watch_id, account_id, due_at, cause, state, attempt, ended_at, error)
            SELECT $3, id, account_id, next_at, 'schedule', 'skipped', 0, ${whole('$4')}, $5 ${due}`,
          [id, nextAt, runId, now, JSON.stringify(overlap)],
        ],
        ['UPDATE watches SET next_at = $3 WHERE id = $1 AND next_at = $2', [id, nextAt, next]],
      ]);
    },
    async requestRun({ id, watchId, now }) {
      // Ahead of those of the schedule, since somebody waits for it.
      await queries.run(
        `INSERT INTO watch_runs (id, watch_id, account_id, due_at, cause, state, attempt, wake_at)
          SELECT $2, id, account_id, ${whole('$3')}, 'request', 'queued', 1, 0 FROM watches WHERE id = $1 ON CONFLICT DO NOTHING`,
        [watchId, id, now],
      );
      return await findRun('WHERE watch_id = $1 AND ended_at IS NULL', [watchId]);
    },
    findRun: (id) => findRun('WHERE id = $1', [id]),
    async listRuns({ watchId, before, limit }) {
      // By their times, not their ids: those of a clock that was set back would stay the newest.
      const page = before === null ? '' : 'AND due_at < (SELECT due_at FROM watch_runs WHERE id = $3)';
      const rows = await queries.all<RunRow>(`${RUN} WHERE watch_id = $1 ${page} ORDER BY due_at DESC LIMIT $2`, [
        watchId,
        limit,
        ...(before === null ? [] : [before]),
      ]);
      return rows.flatMap((row) => toRun(row) ?? []);
    },
    async lastRuns(watchIds) {
      const found = await Promise.all(
        watchIds.map((id) => findRun('WHERE watch_id = $1 ORDER BY due_at DESC LIMIT 1', [id])),
      );
      return found.flatMap((run) => run ?? []);
    },
    claimRunning: async (token, now, leaseMs) =>
      await claimRun(
        await queries.one(`SELECT id, wake_at FROM watch_runs WHERE ${CLAIMABLE} ORDER BY wake_at LIMIT 1`, [now]),
        token,
        now + leaseMs,
      ),
    async queuedRuns(now) {
      const [accounts, counted] = await Promise.all([
        queries.all<{ accountId: string }>(
          `SELECT DISTINCT account_id FROM watch_runs WHERE state = 'queued' AND wake_at <= $1`,
          [now],
        ),
        queries.one<{ runs: number }>(`SELECT count(*) AS runs FROM watch_runs WHERE state = 'running'`),
      ]);
      return { accounts: accounts.map(({ accountId }) => accountId), running: counted?.runs ?? 0 };
    },
    claimQueued: async (accountId, token, now, leaseMs) =>
      await claimRun(
        await queries.one(
          `SELECT id, wake_at FROM watch_runs WHERE state = 'queued' AND account_id = $1 AND wake_at <= $2 ORDER BY wake_at, id LIMIT 1`,
          [accountId, now],
        ),
        token,
        now + leaseMs,
      ),
    releaseRun: async (held, { state, attempt, jobId, startedAt, wakeAt }) =>
      (await queries.run(
        `UPDATE watch_runs SET claim = NULL, state = $3, attempt = $4, job_id = $5, started_at = $6, wake_at = $7
          WHERE id = $1 AND claim = $2 AND ended_at IS NULL`,
        [held.id, held.claim, state, attempt, jobId, startedAt, wakeAt],
      )) === 1,
    endRun: async (held, watch, ended, now) =>
      (await runTogether(endStatements(vault, held, { watch, ended, now })))[0] === 1,
    pruneRuns: (now, limit) =>
      queries.run(
        `DELETE FROM watch_runs WHERE id IN (SELECT watch_runs.id FROM watch_runs JOIN watches ON watches.id = watch_runs.watch_id
            WHERE watch_runs.ended_at < $1 AND watch_runs.ended_at < ${whole('$2')} - ${whole('keep_days')} * ${DAY_MS} AND NOT ${IS_NEEDED} LIMIT $3)`,
        [now - DAY_MS, now, limit],
      ),
    approveRun: async (watchId, runId) =>
      (await queries.run(
        `UPDATE watches SET approved_run = $2 WHERE id = $1
          AND EXISTS (SELECT 1 FROM watch_runs WHERE id = $2 AND watch_id = $1 AND state IN ('unchanged', 'changed', 'reported'))`,
        [watchId, runId],
      )) === 1,
    messagesOf: (runId) =>
      queries.all<WatchMessage>(`${MESSAGE} WHERE run_id = $1 ORDER BY target, recipient, id`, [runId]),
    dueMessages: async (now) => {
      const due = await queries.all<{ accountId: string }>(
        'SELECT DISTINCT account_id FROM watch_messages WHERE due_at <= $1',
        [now],
      );
      return due.map(({ accountId }) => accountId);
    },
    async claimMessage(accountId, token, now, leaseMs) {
      const found = await queries.one<{ id: string; dueAt: number }>(
        'SELECT id, due_at FROM watch_messages WHERE account_id = $1 AND due_at <= $2 ORDER BY due_at, id LIMIT 1',
        [accountId, now],
      );
      if (
        found === null ||
        !(await claim('watch_messages', found, { column: 'due_at', claim: token, until: now + leaseMs }))
      )
        return null;
      return await queries.one<WatchMessage>(`${MESSAGE} WHERE id = $1 AND claim = $2`, [found.id, token]);
    },
    async recordMessage({ id, claim: token }, outcome, now) {
      const { kind, status } = outcome;
      const recorded = await queries.run(
        `UPDATE watch_messages SET claim = NULL, state = $3, attempts = attempts + 1, due_at = $4, last_status = $5, last_error = $6,
            last_attempt_at = $7, delivered_at = $8 WHERE id = $1 AND claim = $2`,
        [
          id,
          token,
          kind === 'retry' ? 'pending' : kind,
          kind === 'retry' ? outcome.nextAttemptAt : null,
          status,
          kind === 'delivered' ? null : outcome.error,
          now,
          kind === 'delivered' ? now : null,
        ],
      );
      return recorded === 1;
    },
    redeliverMessages: (runId, now) =>
      queries.run(
        `UPDATE watch_messages SET state = 'pending', attempts = 0, generation = generation + 1, due_at = $2 WHERE run_id = $1 AND state <> 'pending'`,
        [runId, now],
      ),
    async freeWatchClaims(now) {
      await runTogether([
        ['UPDATE watch_runs SET claim = NULL, wake_at = $1 WHERE claim IS NOT NULL AND ended_at IS NULL', [now]],
        ['UPDATE watch_messages SET claim = NULL, due_at = $1 WHERE claim IS NOT NULL AND due_at IS NOT NULL', [now]],
      ]);
    },
    async nextRunDueAt() {
      const [watch, run] = await Promise.all([
        queries.one<{ at: number | null }>('SELECT min(next_at) AS at FROM watches WHERE next_at IS NOT NULL'),
        queries.one<{ at: number | null }>('SELECT min(wake_at) AS at FROM watch_runs WHERE wake_at IS NOT NULL'),
      ]);
      return earlier(watch?.at ?? null, run?.at ?? null);
    },
    nextMessageDueAt: async () =>
      (
        await queries.one<{ at: number | null }>(
          'SELECT min(due_at) AS at FROM watch_messages WHERE due_at IS NOT NULL',
        )
      )?.at ?? null,
    signLink: (text) => vault.digest('link', text),
    isLinkSigned: (text, signature) => vault.matches('link', text, signature),
  };
}

function endStatements(
  vault: Vault,
  held: HeldWork,
  { watch, ended, now }: { watch: Watch; ended: EndedRun; now: number },
): Statement[] {
  const { id, claim } = held;
  const { state, share, picture, changes, data, error } = ended;
  const mine = [id, claim, state];
  const kept = [...new Set([picture, changes, ...(data?.pictures ?? []).map(({ artifact }) => artifact)])].filter(
    (name) => name !== null,
  );
  return [
    [
      `UPDATE watch_runs SET state = $3, ended_at = $4, wake_at = NULL, share = $5, picture = $6, changes = $7, data = $8, error = $9
        WHERE id = $1 AND claim = $2 AND ended_at IS NULL`,
      [...mine, now, share, picture, changes, orNull(data), orNull(error)],
    ],
    [
      `UPDATE watches SET failures = $4, alarm = $5 WHERE id = $6 AND ${HAS_ENDED}`,
      [...mine, ended.failures, ended.alarm, watch.id],
    ],
    ...(ended.isPrevious
      ? ([
          [
            `UPDATE watches SET previous_run = $1, approved_run = coalesce(approved_run, $1) WHERE id = $4 AND ${HAS_ENDED}`,
            [...mine, watch.id],
          ],
        ] as const)
      : []),
    ...kept.map(
      (name) => [`UPDATE artifacts SET watch_run = $1 WHERE name = $4 AND ${HAS_ENDED}`, [...mine, name]] as const,
    ),
    ...ended.events.flatMap((event) =>
      placesOf(watch.definition.send)
        .filter(({ send }) => isRecipient(send, event))
        .map(
          (place) =>
            [
              `INSERT INTO watch_messages (id, watch_id, run_id, account_id, target, recipient, kind, event, due_at)
                SELECT $4, $5, $1, $6, ${whole('$7')}, $8, $9, $10, ${whole('$11')} WHERE ${HAS_ENDED} ON CONFLICT DO NOTHING`,
              [
                ...mine,
                newId('delivery', now),
                watch.id,
                watch.accountId,
                place.target,
                vault.digest('link', placeText(place)),
                kindOf(place.send),
                event,
                now,
              ],
            ] as const,
        ),
    ),
    [
      `DELETE FROM watch_runs WHERE watch_id = $1 AND ended_at IS NOT NULL AND NOT ${IS_NEEDED}
        AND due_at <= (SELECT due_at FROM watch_runs WHERE watch_id = $1 ORDER BY due_at DESC LIMIT 1 OFFSET ${whole('$2')})`,
      [watch.id, watch.definition.keep.runs],
    ],
  ];
}

/** Trouble has no picture to upload. */
function isRecipient({ upload }: Send, event: WatchEvent): boolean {
  return upload === undefined || event === 'watch.changed' || event === 'watch.report';
}

/** Watches are stored encrypted, since requests and sends contain credentials. What the schedule needs is not. */
function sealed(vault: Vault, id: string, definition: WatchDefinition): Buffer {
  return vault.seal(JSON.stringify(definition), placeOf.watch(id));
}

/** Encrypts watches again with the current key. */
export async function renewWatches(queries: Queries, vault: Vault): Promise<void> {
  for (const { id, sealed: before } of await queries.all<Pick<WatchRow, 'id' | 'sealed'>>(
    'SELECT id, sealed FROM watches',
  )) {
    const opened = openOrNull(vault, before, placeOf.watch(id));
    if (opened === null) continue;
    await queries.run('UPDATE watches SET sealed = $2 WHERE id = $1 AND sealed = $3', [
      id,
      vault.seal(opened, placeOf.watch(id)),
      before,
    ]);
  }
}

function scheduleOf({ schedule, starts_at, ends_at }: WatchDefinition): string {
  return JSON.stringify({ schedule, startsAt: starts_at, endsAt: ends_at } satisfies Omit<WatchTimes, 'createdAt'>);
}

function toDue({ schedule, ...row }: DueRow): DueWatch {
  return { ...row, ...(JSON.parse(schedule) as Omit<WatchTimes, 'createdAt'>) };
}

/** A watch that cannot be decrypted, because its key is lost, is as if it did not exist. */
function toWatch(vault: Vault, row: WatchRow | null): Watch | null {
  if (row === null) return null;
  const { sealed: text, ...watch } = row;
  const definition = openOrNull(vault, text, placeOf.watch(row.id));
  return definition === null ? null : { ...watch, definition: JSON.parse(definition) as WatchDefinition };
}

function toRun(row: RunRow | null): WatchRun | null {
  if (row === null) return null;
  const read = (json: string | null) => (json === null ? null : JSON.parse(json));
  return { ...row, data: read(row.data), error: read(row.error) };
}

function orNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

function earlier(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

/** PostgreSQL takes a parameter of a SELECT for a text. */
function whole(value: string): string {
  return `CAST(${value} AS bigint)`;
}
