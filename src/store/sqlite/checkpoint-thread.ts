/** A worker that copies the write-ahead log into the database file through its own connection, so that its disk syncs delay nobody else. */
import { parentPort, workerData } from 'node:worker_threads';
import { type CheckpointMode, checkpoint, Database } from './driver.js';

/** A checkpoint mode, or the end of the thread. */
export type CheckpointTask = CheckpointMode | 'close';

/** A checkpoint that restarts the log keeps writers out while it waits for readers, so it must not wait long. */
const BUSY_MS = 50;

function serve(port: NonNullable<typeof parentPort>, file: string): void {
  const db = new Database(file, { timeout: BUSY_MS });
  db.pragma('synchronous = NORMAL');
  port.on('message', (task: CheckpointTask) => {
    if (task !== 'close') return port.postMessage(checkpoint(db, task));
    db.close();
    port.close();
  });
}

if (parentPort !== null) serve(parentPort, workerData as string);
