import type { CaptureOptions } from '../../contract/capture-request.js';
import { EXTENSION_DEFAULTS } from '../../contract/extension-options.js';
import type { Db } from './connect.js';
import type { Vault } from './vault.js';

/** What an unfinished job is to capture, sealed: headers and proxies carry credentials. The caller owns the transaction. */
export function ordersTable(db: Db, vault: Vault) {
  const insert = db.prepare<[string, Buffer]>('INSERT INTO orders (job_id, sealed) VALUES (?, ?)');
  const find = db.prepare<[string], Buffer>('SELECT sealed FROM orders WHERE job_id = ?').pluck();
  const wipe = db.prepare<[string]>('DELETE FROM orders WHERE job_id = ?');
  const place = (jobId: string) => `order:${jobId}`;

  return {
    insert(jobId: string, options: CaptureOptions): void {
      insert.run(jobId, vault.seal(JSON.stringify(options), place(jobId)));
    },
    /** null when it cannot be opened any more: another key file, or a damaged row */
    open(jobId: string): CaptureOptions | null {
      const sealed = find.get(jobId);
      if (sealed === undefined) return null;
      try {
        // Those of an earlier version lack what was added since.
        return { ...EXTENSION_DEFAULTS, ...JSON.parse(vault.open(sealed, place(jobId))) };
      } catch {
        return null;
      }
    },
    /** At the job's end; secure_delete overwrites the bytes. */
    wipe(jobId: string): void {
      wipe.run(jobId);
    },
  };
}
