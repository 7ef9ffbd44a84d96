/** A worker that copies the write-ahead log into the database file, with a connection of its own: its disk syncs hold up nobody else. */
import { parentPort, workerData } from 'node:worker_threads';
import { type CheckpointMode, checkpoint } from './checkpoint.js';
import { Database } from './driver.js';

/** A mode, or the end of the thread. */
export type CheckpointTask = CheckpointMode | 'close';

/** A checkpoint that restarts the log keeps writers out while it waits for readers: not for long. */
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
