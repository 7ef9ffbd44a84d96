import type { Artifacts } from '../artifacts/artifacts.js';
import type { Config } from '../config.js';
import type { Egress } from '../egress/egress.js';
import { openEgress } from '../egress/open-egress.js';
import type { Log } from '../log.js';
import { lockDataDir } from '../store/sqlite/lock-data-dir.js';
import type { NodeFacts, Store } from '../store/store.js';
import { bucketOf, openArtifacts } from './artifact-storage.js';
import { checkShared, openConfiguredStore } from './open-configured-store.js';

/** The parts that every other part of the service uses. */
export interface Foundations {
  lock: Disposable;
  store: Store;
  egress: Egress;
  artifacts: Artifacts;
}

/** @throws one-line errors for the operator */
export async function openFoundations(config: Config, log: Log, facts: () => NodeFacts): Promise<Foundations> {
  // First, since they validate settings: an invalid one stops the start before anything is created.
  bucketOf(config);
  checkShared(config);
  const egress = await openEgress({
    allowDestinations: config.allowDestinations,
    denyDestinations: config.denyDestinations,
    dnsServers: config.dnsServers,
    maxBytesPerCapture: config.captureMaxMb * 1_000_000,
    log,
  });
  const lock = lockDataDir(config.dataDir);
  const store = await openConfiguredStore(config, { migrates: 'at start', facts, log });
  const artifacts = await openArtifacts(config, log);
  return { lock, store, egress, artifacts };
}
