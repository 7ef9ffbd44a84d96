import type { Artifacts } from '../artifacts/artifacts.js';
import { artifactsDirOf, openArtifactDirectory } from '../artifacts/directory.js';
import type { Config } from '../config.js';
import type { Egress } from '../egress/egress.js';
import { openEgress } from '../egress/open-egress.js';
import type { Log } from '../log.js';
import { STORE_FILES } from '../package-files.js';
import { lockDataDir } from '../store/sqlite/lock-data-dir.js';
import { openStore } from '../store/sqlite/open-store.js';
import type { Store } from '../store/store.js';

/** The parts that every other part of the service uses. */
export interface Foundations {
  lock: Disposable;
  store: Store;
  egress: Egress;
  artifacts: Artifacts;
}

/** @throws one-line errors for the operator */
export async function openFoundations(config: Config, log: Log): Promise<Foundations> {
  // First, since it validates settings: an invalid one stops the start before anything is created.
  const egress = await openEgress({
    allowDestinations: config.allowDestinations,
    denyDestinations: config.denyDestinations,
    dnsServers: config.dnsServers,
    maxBytesPerCapture: config.captureMaxMb * 1_000_000,
    log,
  });
  const lock = lockDataDir(config.dataDir);
  const store = await openStore({ dataDir: config.dataDir, ...STORE_FILES, migrates: 'at start', log });
  const artifacts = await openArtifactDirectory({ dir: artifactsDirOf(config.dataDir), log });
  return { lock, store, egress, artifacts };
}
