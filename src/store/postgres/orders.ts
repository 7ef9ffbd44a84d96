import { type CaptureOptions, defaultOptions } from '../../contract/capture-request.js';
import type { Vault } from '../vault.js';
import type { Queries } from './connect.js';

/** Finds the orders that can be decrypted, by job. */
export async function findOrders(queries: Queries, vault: Vault, jobIds: readonly string[]): Promise<Map<string, CaptureOptions>> {
  const rows = await queries.all<{ id: string; sealed: Buffer }>('SELECT job_id AS id, sealed FROM orders WHERE job_id = ANY($1)', [
    jobIds,
  ]);
  const opened = rows.map(({ id, sealed }) => [id, openOrder(vault, id, sealed)] as const);
  return new Map(opened.flatMap(([id, options]) => (options === null ? [] : [[id, options]])));
}

/** Decrypts an order; null if it cannot be decrypted (another key, or a damaged row). */
export function openOrder(vault: Vault, jobId: string, sealed: Buffer | null): CaptureOptions | null {
  if (sealed === null) return null;
  try {
    // Orders of an earlier version lack newer options.
    return { ...defaultOptions(), ...JSON.parse(vault.open(sealed, `order:${jobId}`)) };
  } catch {
    return null;
  }
}
