/** Classes of the advisory locks: the first of their two numbers. The migrations name some of them as well. */
export const LOCKS = {
  migrations: 1,
  /** Held by a submission that may share a render; the second number is a hash of account and cache digest. */
  cacheDigest: 2,
  recovery: 3,
  /** Held by a node while it lives; the second number is its `lock_key`. */
  node: 4,
  jobClaim: 5,
  deliveryClaim: 6,
  sweep: 7,
  firstKey: 8,
} as const;

/** Condition that some connection holds the lock of a row of `nodes`. */
export const HAS_LOCK = `EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LOCKS.node} AND objid = nodes.lock_key
  AND objsubid = 2 AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`;
