import type { Db } from './connect.js';

/** Checkpoint modes by SQLite's names (https://sqlite.org/pragma.html#pragma_wal_checkpoint). */
export type CheckpointMode = 'PASSIVE' | 'RESTART' | 'TRUNCATE';

/**
 * Runs a checkpoint.
 * @returns whether it completed; false when another connection reads or writes meanwhile, or the disk fails
 */
export function checkpoint(db: Db, mode: CheckpointMode): boolean {
  try {
    const [answer] = db.pragma(`wal_checkpoint(${mode})`) as { busy: number }[];
    return answer?.busy === 0;
  } catch {
    return false;
  }
}
