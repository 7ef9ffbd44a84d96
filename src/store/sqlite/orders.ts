import { type CaptureOptions, defaultOptions } from '../../contract/capture-request.js';
import type { Vault } from '../vault.js';
import { matching, parameters } from './columns.js';
import type { Orm } from './connect.js';
import { orders } from './schema.js';

/** The options of unfinished jobs, encrypted, since headers and proxies contain credentials. The caller owns the transaction. */
export function ordersTable(orm: Orm, vault: Vault) {
  const insert = orm
    .insert(orders)
    .values(parameters(orders, 'jobId', 'sealed'))
    .prepare();
  const find = orm.select({ sealed: orders.sealed }).from(orders).where(matching(orders, 'jobId')).prepare();
  const wipe = orm.delete(orders).where(matching(orders, 'jobId')).prepare();
  const place = (jobId: string) => `order:${jobId}`;

  return {
    insert(jobId: string, options: CaptureOptions): void {
      insert.run({ jobId, sealed: vault.seal(JSON.stringify(options), place(jobId)) });
    },
    /** Decrypts an order; null if it can no longer be decrypted (another key file, or a damaged row). */
    open(jobId: string): CaptureOptions | null {
      const order = find.get({ jobId });
      if (order === undefined) return null;
      try {
        // Orders of an earlier version lack newer options.
        return { ...defaultOptions(), ...JSON.parse(vault.open(order.sealed, place(jobId))) };
      } catch {
        return null;
      }
    },
    /** Deletes an order at the job's end; secure_delete overwrites the bytes. */
    wipe(jobId: string): void {
      wipe.run({ jobId });
    },
  };
}
