import type { Artifacts } from '../artifacts/artifacts.js';
import type { Config } from '../config.js';
import type { Egress } from '../egress/egress.js';
import { openEgress } from '../egress/open-egress.js';
import type { Log } from '../log.js';
import { STORE_FILES } from '../package-files.js';
import { lockDataDir } from '../store/sqlite/lock-data-dir.js';
import { openStore } from '../store/sqlite/open-store.js';
import type { Store } from '../store/store.js';
import { bucketOf, openArtifacts } from './artifact-storage.js';

/** The parts that every other part of the service uses. */
export interface Foundations {
  lock: Disposable;
  store: Store;
  egress: Egress;
  artifacts: Artifacts;
}

/** @throws one-line errors for the operator */
export async function openFoundations(config: Config, log: Log): Promise<Foundations> {
  // First, since they validate settings: an invalid one stops the start before anything is created.
  bucketOf(config);
  const egress = await openEgress({
    allowDestinations: config.allowDestinations,
    denyDestinations: config.denyDestinations,
    dnsServers: config.dnsServers,
    maxBytesPerCapture: config.captureMaxMb * 1_000_000,
    log,
  });
  const lock = lockDataDir(config.dataDir);
  const store = await openStore({ dataDir: config.dataDir, ...STORE_FILES, migrates: 'at start', log });
  const artifacts = await openArtifacts(config, log);
  return { lock, store, egress, artifacts };
}
