import type { Artifacts } from '../artifacts/artifacts.js';
import type { Config } from '../config.js';
import { CLOCK_ADVICE, describeLead } from '../contract/kept-clock.js';
import type { Egress } from '../egress/egress.js';
import { openEgress } from '../egress/open-egress.js';
import type { Log } from '../log.js';
import { lockDataDir } from '../store/sqlite/lock-data-dir.js';
import type { NodeFacts, Store } from '../store/store.js';
import { openTraces } from '../tracing/open-traces.js';
import type { Traces } from '../tracing/traces.js';
import type { TracingConfig } from '../tracing-config.js';
import { SteadyClock } from '../work/steady-clock.js';
import { bucketOf, openArtifacts } from './artifact-storage.js';
import { checkShared, openConfiguredStore } from './open-configured-store.js';

/** The parts that every other part of the service uses. */
export interface Foundations {
  lock: Disposable;
  store: Store;
  clock: SteadyClock;
  egress: Egress;
  artifacts: Artifacts;
  /** null if captures are not traced. */
  traces: Traces | null;
}

export interface FoundationDeps {
  log: Log;
  /** null if captures are not traced. */
  tracing: TracingConfig | null;
  facts(): NodeFacts;
}

/**
 * Opens them in order.
 * @throws one-line errors for the operator
 */
export async function openFoundations(config: Config, { log, tracing, facts }: FoundationDeps): Promise<Foundations> {
  // These validate settings, so that an invalid one stops the start before anything is created.
  bucketOf(config);
  checkShared(config);
  const egress = await openEgress({ ...config, log });
  const lock = lockDataDir(config.dataDir);
  const store = await openConfiguredStore(config, { migrates: 'at start', facts, log });
  const clock = await openClock(store, log);
  const artifacts = await openArtifacts(config, log);
  const { name: instance, version } = facts();
  const traces = await openTraces(tracing, { version, instance, log });
  return { lock, store, clock, egress, artifacts, traces };
}

/**
 * Opens the clock. One that is far from the last run's may be wrong: nothing is deleted because of its age until it has run evenly for a
 * day, or an operator has accepted it.
 */
async function openClock(store: Store, log: Log): Promise<SteadyClock> {
  const clock = new SteadyClock(store.now, undefined, await store.keptClock());
  const { doubt } = clock.keep();
  if (doubt !== null) log.warn(`${describeLead(doubt.aheadMs)}: ${CLOCK_ADVICE}`);
  return clock;
}
