import { authenticate } from '../account/authenticate.js';
import { authenticateLink } from '../account/authenticate-link.js';
import type { Artifacts } from '../artifacts/artifacts.js';
import type { FinishSignals } from '../capture/finish-signals.js';
import { findLinkPicture } from '../capture/link-picture.js';
import { lookupJob, lookupRequest } from '../capture/lookup.js';
import { ModelViews } from '../capture/model-view.js';
import { openPicture } from '../capture/open-picture.js';
import { readUsage } from '../capture/read-usage.js';
import { submit } from '../capture/submit.js';
import { waitForJob } from '../capture/wait-for-job.js';
import type { Config } from '../config.js';
import type { JobSnapshot, PublicPlaces } from '../contract/job.js';
import type { Egress } from '../egress/egress.js';
import type { ConsoleEdge } from '../http/console-edge.js';
import type { Edge } from '../http/edge.js';
import type { Log } from '../log.js';
import { builtFile, packageVersion } from '../package-files.js';
import { EncodeQueue } from '../render/picture/encode-queue.js';
import type { NodeFacts, Store } from '../store/store.js';
import type { Traces } from '../tracing/traces.js';
import { findDelivery } from '../webhook/find-delivery.js';
import { redeliver } from '../webhook/redeliver.js';
import { consoleEdge } from './console-edge.js';
import type { Metrics } from './metrics.js';
import type { RecentHealth } from './recent-health.js';
import type { RecentTimings } from './recent-timings.js';

const HOUR_MS = 3_600_000;

export interface ServiceEdgeParts {
  config: Config;
  log: Log;
  store: Store;
  egress: Egress;
  artifacts: Artifacts;
  traces: Traces | null;
  limits: Edge['limits'];
  signals: FinishSignals;
  places: PublicPlaces;
  health: Pick<RecentHealth, 'ask' | 'forget'>;
  metrics: Metrics;
  timings: RecentTimings;
  /** Unix ms, for dates in the store. */
  now(): number;
  draining(): boolean;
  /** Of this server, for the console. */
  facts(): NodeFacts;
  /** Unix ms. */
  startedAt: number;
  handsOver(): boolean;
  onQueued(): void;
  /** Called for a job that the cache has answered. */
  onCached(job: JobSnapshot): void;
  onDeliveryDue(): void;
}

/** Implements the HTTP edge's functions with the parts of the service. */
export function serviceEdge(parts: ServiceEdgeParts): Edge {
  const { config, log, store, egress, artifacts, signals, places, health, metrics, timings, traces, draining, handsOver } = parts;
  const submitDeps = {
    store,
    egress,
    artifacts,
    log,
    rules: { maxQueue: config.maxQueue, webhookMaxAttempts: config.webhookAttempts },
    webhookAllow: config.webhookAllow,
    draining: () => draining() && !handsOver(),
    onQueued: parts.onQueued,
    onEnded: parts.onCached,
    now: parts.now,
  };
  const open = (name: string) => openPicture({ store, artifacts, log, now: parts.now }, name);
  const views = new ModelViews({ openPicture: open, encodes: new EncodeQueue() });
  return {
    authenticate: (authorization) => authenticate(store, authorization),
    authenticateLink: (pairs) => authenticateLink(store, pairs, parts.now()),
    limits: parts.limits,
    findLinkPicture: (submission, { accountId }) => findLinkPicture(submitDeps, submission, accountId),
    submit: (submission, context) => submit(submitDeps, submission, context),
    settle: (job, nobodyWaits) =>
      waitForJob({ store, signals, now: elapsed }, job, { until: elapsed() + config.syncWaitMs, signal: nobodyWaits }),
    findJob: (id, principal) => lookupJob(store, id, principal),
    listJobs: (principal, page) => store.listJobs(principal.keyId, page),
    readUsage: (principal) => readUsage(store, principal.accountId, parts.now()),
    findRequest: (key, principal) => lookupRequest(store, key, principal),
    findDelivery: (jobId) => findDelivery(store, jobId),
    redeliver: (jobId, expected) => redeliver({ store, now: parts.now, onDue: parts.onDeliveryDue }, jobId, expected),
    openPicture: open,
    modelView: (name, order) => views.view(name, order),
    health: () => health.ask(),
    metrics: async () => metrics.text(await health.ask()),
    timingsOf: (jobId) => timings.of(jobId),
    traces,
    observe: (answer) => metrics.countAnswer(answer),
    ...(config.console === 'off' ? {} : { console: operatorEdge(parts) }),
    places,
    draining,
    handsOver,
    config: {
      version: packageVersion(),
      openapiFile: builtFile('docs/openapi.json'),
      servesApi: config.roles.includes('api'),
      webhookAllow: config.webhookAllow,
      tolerate: config.tolerate,
      artifactMaxAgeSeconds: Math.floor((config.artifactTtlH * HOUR_MS) / 1000),
      metricsToken: config.metricsToken,
    },
    log,
  };
}

function operatorEdge({ config, store, health, facts, startedAt, onQueued, now }: ServiceEdgeParts): ConsoleEdge {
  return consoleEdge({
    store,
    loopbackOnly: config.console === 'loopback',
    maxStorageBytes: config.maxStorageMb * 1_000_000,
    facts,
    startedAt,
    onQueueChanged: () => {
      health.forget();
      onQueued();
    },
    now,
  });
}

/** Monotonic ms, so that setting the wall clock neither ends nor prolongs a wait. */
function elapsed(): number {
  return performance.now();
}
