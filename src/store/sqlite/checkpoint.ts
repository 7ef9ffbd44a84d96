import type { Db } from './connect.js';

/** SQLite's names (https://sqlite.org/pragma.html#pragma_wal_checkpoint). */
export type CheckpointMode = 'PASSIVE' | 'RESTART' | 'TRUNCATE';

/** Runs a checkpoint; whether it did all that its mode stands for. False when somebody reads or writes meanwhile, or the disk fails. */
export function checkpoint(db: Db, mode: CheckpointMode): boolean {
  try {
    const [answer] = db.pragma(`wal_checkpoint(${mode})`) as { busy: number }[];
    return answer?.busy === 0;
  } catch {
    return false;
  }
}
