import type { Config } from '../config.js';
import { openEgress } from '../egress/open-egress.js';
import type { Log } from '../log.js';
import type { Blocker } from '../render/filter/blocker.js';
import { startBlocker } from '../service/renderer.js';
import { makeDirectory } from '../store/sqlite/data-directory.js';

/** Opens the data directory's filter lists for one command. Fetches nothing by itself. */
export async function withBlocker<Result>(config: Config, log: Log, work: (blocker: Blocker) => Promise<Result>): Promise<Result> {
  makeDirectory(config.dataDir);
  await using egress = await openEgress({
    allowDestinations: config.allowDestinations,
    denyDestinations: config.denyDestinations,
    dnsServers: config.dnsServers,
    log,
  });
  await using blocker = await startBlocker({ ...config, lists: false }, egress, log);
  return await work(blocker);
}
