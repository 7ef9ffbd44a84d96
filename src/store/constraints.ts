/**
 * The rules that the tables of both engines enforce by CHECK, and the values of their enumerated columns. Only drizzle-kit and types read
 * this file and the two schemas: the program itself uses the migrations that are made from them.
 */

/** Enumerated columns, by table. */
export const VALUES = {
  jobs: {
    mode: ['sync', 'async'],
    state: ['waiting', 'prioritized', 'active', 'delayed', 'completed', 'failed'],
    lane: ['prioritized', 'waiting'],
  },
  reservations: { state: ['pending', 'settled', 'released'] },
  deliveries: {
    event: ['capture.completed', 'capture.failed', 'batch.completed', 'batch.canceled'],
    state: ['pending', 'delivered', 'failed'],
  },
  console_access: { kind: ['link', 'session'] },
  watches: { alarm: ['failed', 'skipped'] },
  watch_runs: {
    cause: ['schedule', 'request'],
    state: ['queued', 'running', 'unchanged', 'changed', 'reported', 'failed', 'skipped'],
  },
  watch_messages: {
    kind: ['webhook', 'email', 'slack', 'upload'],
    event: ['watch.changed', 'watch.report', 'watch.failed', 'watch.recovered'],
    state: ['pending', 'delivered', 'failed'],
  },
} as const;

/** Conditions, by table and name. */
const RULES = {
  accounts: { quota: 'quota >= 0' },
  api_keys: { links_limit: 'links_limit >= 0' },
  signing_secrets: { previous: '(previous IS NULL) = (previous_until IS NULL)' },
  artifacts: { bytes: 'bytes >= 0' },
  removals: { claim: '(job_id IS NULL) = (worker_id IS NULL) AND (job_id IS NULL) = (attempt IS NULL)' },
  jobs: {
    queued_in_lane: "state NOT IN ('waiting', 'prioritized') OR state = lane",
    followers_wait: "leader_id IS NULL OR state IN ('waiting', 'prioritized')",
    attempts: 'attempt_budget >= 1 AND attempts_made BETWEEN 0 AND attempt_budget',
    progress: 'progress BETWEEN 0 AND 100',
    delayed_is_due: "(state = 'delayed') = (due_at IS NOT NULL)",
    active_is_leased: "(state = 'active') = (lease_expires_at IS NOT NULL)",
    ended_at: "(state IN ('completed', 'failed')) = (ended_at IS NOT NULL)",
    ended_by: 'ended_at IS NULL OR worker_id IS NOT NULL',
    completed: "(state = 'completed') = (data IS NOT NULL) AND (data IS NULL) = (artifact_name IS NULL)",
    failed: "(state = 'failed') = (error IS NOT NULL)",
  },
  reservations: { credits: 'credits > 0' },
  deliveries: {
    due: "(due_at IS NOT NULL) = (state = 'pending' AND event IS NOT NULL)",
    claimed: 'claimed_until IS NULL OR due_at IS NOT NULL',
    expire: '(expires_at IS NOT NULL) = (due_at IS NOT NULL)',
    counts: 'generation >= 1 AND attempts >= 0',
  },
  console_access: {},
  queue: { one_row: 'id = 1' },
  watches: {},
  templates: { version: 'version >= 1', bytes: 'bytes >= 0' },
  watch_runs: {
    ended_at: "(ended_at IS NULL) = (state IN ('queued', 'running'))",
    awake: '(wake_at IS NULL) = (ended_at IS NOT NULL)',
  },
  watch_messages: { due: "(due_at IS NOT NULL) = (state = 'pending')" },
};

/** Returns the names and conditions of the constraints that a table has in both engines. */
export function sharedChecks(table: keyof typeof RULES): [name: string, condition: string][] {
  const enumerated: Record<string, readonly string[]> = table in VALUES ? VALUES[table as keyof typeof VALUES] : {};
  return [
    ...Object.entries(enumerated).map(([column, values]) => [
      column,
      `${column} IN (${values.map((value) => `'${value}'`).join(', ')})`,
    ]),
    ...Object.entries(RULES[table]),
  ].map(([name, condition]) => [`${table}_${name}`, String(condition)]);
}
