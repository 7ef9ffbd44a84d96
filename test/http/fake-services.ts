import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { RateVerdict } from '../../src/account/rate-limits.js';
import type { ApiKey, AppStore } from '../../src/capture/app-store.js';
import type { SubmitContext } from '../../src/capture/submit.js';
import { findPdf, type PdfDeps, readPdfs, workOnPdfs } from '../../src/capture/work-on-pdfs.js';
import { hashApiKey, newApiKey, type Scope } from '../../src/contract/api-key.js';
import type { CaptureData } from '../../src/contract/capture-data.js';
import type { StoredError } from '../../src/contract/capture-error.js';
import type { CompatibleApi } from '../../src/contract/compatible-apis.js';
import { ConcurrencyLimiter } from '../../src/contract/concurrency-limiter.js';
import type { DeliveryStatus } from '../../src/contract/delivery.js';
import { FairQueue } from '../../src/contract/fair-queue.js';
import { newId } from '../../src/contract/ids.js';
import type { JobSnapshot } from '../../src/contract/job.js';
import type { Submission } from '../../src/contract/submission.js';
import { createApp } from '../../src/http/app.js';
import type { AppServices, RateMeter } from '../../src/http/app-services.js';
import { type HttpServer, type Listening, startHttp } from '../../src/http/serve.js';
import { silentLog } from '../../src/log.js';
import { builtFile } from '../../src/package-files.js';
import { PdfQueue } from '../../src/pdf/pdf-queue.js';

/** Keys by what they may do. */
export const KEYS = { full: newApiKey(), reader: newApiKey(), writer: newApiKey(), other: newApiKey() };

const SCOPES_OF: Record<keyof typeof KEYS, Scope[]> = {
  full: ['screenshot:write', 'jobs:read'],
  reader: ['jobs:read'],
  writer: ['screenshot:write'],
  other: ['screenshot:write', 'jobs:read'],
};
const STORED_KEYS = Object.entries(SCOPES_OF).map(([name, scopes]): ApiKey & { hash: string } => ({
  id: `key_${name}`,
  label: name,
  scopes,
  prefix: 'sf_live_',
  hash: hashApiKey(KEYS[name as keyof typeof KEYS]),
  accountId: 'acc_1',
  accountName: 'default',
  createdAt: 1,
  revokedAt: null,
  linksLimit: null,
}));

export function aCapture(changes: Partial<CaptureData> = {}): CaptureData {
  return {
    url: 'https://example.com/',
    finalUrl: 'https://example.com/',
    format: 'webp',
    width: 2560,
    height: 1440,
    bytes: 12_345,
    durationMs: 321,
    cached: false,
    blockedRequests: 0,
    artifact: 'abcdefghijklmnopqrstuvwxyz012345.webp',
    region: null,
    egressCountry: null,
    diagnostics: {
      algorithm: 'native',
      sections: 1,
      deviceScaleFactor: 2,
      scrollHeight: 720,
      stoppedReason: 'viewport',
      truncated: false,
    },
    inspection: null,
    ...changes,
  };
}

export function aJob(changes: Partial<JobSnapshot> = {}): JobSnapshot {
  return {
    id: newId('job'),
    accountId: 'acc_1',
    keyId: 'key_full',
    state: 'waiting',
    mode: 'sync',
    url: 'https://example.com/',
    requestId: 'req_submission',
    progress: 0,
    attemptsMade: 0,
    attemptBudget: 2,
    enqueuedAt: 1_700_000_000_000,
    webhookUrl: null,
    result: null,
    ...changes,
  };
}

const RESULT = { durationMs: 321, completedAt: 1_700_000_001_000, workerId: 'host-1-0' };

/** @param data what differs in the data of its capture */
export function aCompletedJob(changes: Partial<JobSnapshot> = {}, data: Partial<CaptureData> = {}): JobSnapshot {
  const result = { outcome: { ok: true as const, data: aCapture(data) }, ...RESULT };
  return aJob({ state: 'completed', progress: 100, attemptsMade: 1, result, ...changes });
}

/** @param error what differs in its error */
export function aFailedJob(changes: Partial<JobSnapshot> = {}, error: Partial<StoredError> = {}): JobSnapshot {
  const failed: StoredError = {
    code: 'target_error',
    message: 'The target answered 500.',
    retriable: true,
    status: 502,
    details: { status: 500 },
  };
  const result = { outcome: { ok: false as const, error: { ...failed, ...error } }, ...RESULT };
  return aJob({ state: 'failed', progress: 100, attemptsMade: 1, result, ...changes });
}

export function aDelivery(changes: Partial<DeliveryStatus> = {}): DeliveryStatus {
  return {
    jobId: newId('job'),
    deliveryId: newId('delivery'),
    event: 'capture.completed',
    url: 'https://example.com/hook',
    state: 'delivered',
    attempts: 1,
    maxAttempts: 5,
    generation: 1,
    lastStatus: 200,
    lastError: null,
    lastAttemptAt: 1,
    nextAttemptAt: null,
    deliveredAt: 1,
    ...changes,
  };
}

export interface FakeChanges extends Partial<Omit<AppServices, 'store'>> {
  store?: Partial<AppStore>;
}

const emptyShelves = () => ({
  jobs: new Map<string, JobSnapshot>(),
  requests: new Map<string, JobSnapshot>(),
  deliveries: new Map<string, DeliveryStatus>(),
  files: new Map<string, Buffer>(),
  gone: new Set<string>(),
  submitted: [] as { submission: Submission; context: SubmitContext }[],
  /** Changes to the data of its captures. */
  captured: {} as Partial<CaptureData>,
  /** How many artifact streams were opened and not yet closed. */
  openStreams: 0,
  /** How many were opened in all. */
  streams: 0,
});

export type FakeServices = AppServices & ReturnType<typeof emptyShelves>;

const SQUARE = { width: 10, height: 10 };

/** The directory for files that are being received. A test that sends files removes it. */
export const UPLOADS_DIR = join(tmpdir(), `stillframe-fake-uploads-${process.pid}`);

/** Services with nothing behind them but maps; every function can be replaced. */
export function fakeServices({ store, ...changes }: FakeChanges = {}): FakeServices {
  const shelves = emptyShelves();
  const services: FakeServices = {
    ...shelves,
    store: { ...fakeStore(shelves), ...store },
    limits: limitsOf({}),
    threads: new FairQueue(1),
    uploads: { ...uploadPlaces(), dir: UPLOADS_DIR },
    findLinkPicture: async () => ({ picture: null, inFlight: false }),
    submit: async (submission, context) => {
      services.submitted.push({ submission, context });
      return aCompletedJob({}, services.captured);
    },
    waitForJob: async (job) => job,
    removeJob: async () => null,
    batches: { submit: () => Promise.reject(new Error('there are no batches here')), remove: async () => false },
    onDeliveryDue: () => undefined,
    watches: () => Promise.reject(new Error('there are no watches here')),
    templates: { find: async () => null } as unknown as AppServices['templates'],
    now: () => Date.now(),
    openPicture: async (name) => {
      if (services.gone.has(name)) return 'deleted';
      const content = services.files.get(name);
      if (content === undefined) return null;
      return {
        bytes: content.length,
        modifiedAt: 1_700_000_000_500,
        read: async (range) => {
          services.openStreams++;
          services.streams++;
          const part = range === undefined ? content : content.subarray(range.start, range.end + 1);
          return Readable.from(chunksOf(part), { objectMode: false }).once('close', () => services.openStreams--);
        },
        lend: () => null,
        link: null,
      };
    },
    modelView: async (_name, { from }) => ({
      tiles: [{ content: Buffer.from('tile'), mediaType: 'image/webp', top: 0, bottom: 720 }],
      from,
      total: 1,
    }),
    pdfs: {
      enter: async () => ({ [Symbol.dispose]: () => undefined }),
      find: (asked, principal) => findPdf(services, asked, principal),
      work: (request, who) => workOnPdfs(pdfDeps(services), request, who),
      read: (files, who) => readPdfs(pdfDeps(services), files, who),
    },
    comparisons: {
      enter: () => ({ [Symbol.dispose]: () => undefined }),
      find: async ({ source }) =>
        source.kind === 'job' ? { kind: 'artifact', name: `${'j'.repeat(32)}.webp` } : source,
      compare: async () => ({
        comparison: { same: true, share: 0, pixels: 0, regions: [], before: SQUARE, after: SQUARE },
        artifact: null,
      }),
    },
    health: async () => ({ ready: true, data: HEALTHY }),
    metrics: async () => '',
    timingsOf: () => null,
    observe: () => undefined,
    traces: null,
    places: { baseUrl: 'http://shots.example' },
    draining: () => false,
    handsOver: () => false,
    config: {
      version: '0.0.0-test',
      openapiFile: builtFile('docs/openapi.json'),
      jsonThread: builtFile('json-thread.js'),
      servesApi: true,
      webhookAllow: [],
      tolerate: [],
      allowInsecureTls: false,
      mp4: false,
      artifactMaxAgeSeconds: 604_800,
      allowedHosts: [],
      concurrency: 2,
      maxQueue: 10,
      compatibleApis: [],
      compatibleApisKey: null,
      gotenbergUpstream: null,
      markdownFormThread: builtFile('markdown-form-thread.js'),
      metricsToken: null,
    },
    log: silentLog(),
    ...changes,
  };
  return services;
}

/** Services with this compatible API, whose captures have the bytes `picture`. */
export function servicesWithApi(
  api: CompatibleApi,
  changes: FakeChanges = {},
  config: Partial<AppServices['config']> = {},
): FakeServices {
  const services = fakeServices(changes);
  services.files.set(aCapture().artifact, Buffer.from('picture'));
  Object.assign(services.config, { compatibleApis: [api], ...config });
  return services;
}

function uploadPlaces() {
  const limits = { all: 4, ofAccount: 4, waiting: { all: 1, ofAccount: 1, ms: 1_000 }, message: 'full' };
  return { places: new ConcurrencyLimiter(limits), conversions: new ConcurrencyLimiter(limits) };
}

/** Works in the thread of the test. */
function pdfDeps(services: AppServices): PdfDeps {
  const files: ConstructorParameters<typeof PdfQueue>[0] = {
    work: async (work) => (await import('../../src/pdf/work-on-pdfs.js')).workOnPdfs(work),
    read: async (read) => (await import('../../src/pdf/read-pdfs.js')).readPdfs({ read }),
  };
  const { store, log, now, openPicture } = services;
  return { store, log, now, openPicture, queue: new PdfQueue(files), reserveMemory: null };
}

/** A store with what the routes of the API ask for; every other step fails. */
function fakeStore({ jobs, requests, deliveries }: ReturnType<typeof emptyShelves>): AppStore {
  const store: Partial<AppStore> = {
    findKeyByHash: async (hash) => STORED_KEYS.find((key) => key.hash === hash) ?? null,
    findKey: async (id) => STORED_KEYS.find((key) => key.id === id) ?? null,
    signingSecrets: async () => [],
    findJob: async (id) => jobs.get(id) ?? null,
    findJobByIdempotencyKey: async (_accountId, key) => requests.get(key) ?? null,
    listJobs: async (keyId) => ({ jobs: [...jobs.values()].filter((job) => job.keyId === keyId), next: null }),
    usage: async () => ({ account: 'default', period: '2026-11', credits: 7, reserved: 1, quota: null }),
    charge: async () => null,
    jobCounts: async () => ({ byState: NO_JOBS, byCode: {} }),
    findDelivery: async (jobId) => deliveries.get(jobId) ?? null,
    redeliver: async (jobId, generation) => {
      const status = deliveries.get(jobId);
      if (status === undefined) return { kind: 'delivery_unavailable' };
      if (status.generation !== generation) return { kind: 'generation_changed' };
      if (status.state === 'pending') return { kind: 'delivery_pending' };
      const next = { ...status, state: 'pending' as const, generation: generation + 1 };
      deliveries.set(jobId, next);
      return { kind: 'accepted', status: next };
    },
  };
  return store as AppStore;
}

const NO_JOBS = { waiting: 0, prioritized: 0, active: 0, delayed: 0, completed: 0, failed: 0 };

export const HEALTHY = {
  redis: 'ready' as const,
  worker_ready: true,
  database: 'ready' as const,
  storage: 'ready' as const,
  ready_workers: 2,
  sandboxed: true,
  queue: { ...NO_JOBS, paused: false, total_pending: 0 },
  settlement: { pending: 0, settled: 0, released: 0, oldest_pending_ms: 0 },
  webhooks: { delivered: 0, failed: 0, errors: 0, active: true },
};

/** Limits with these bursts, or with one that no test reaches. */
export function limitsOf(bursts: { submissions?: number; reads?: number; failures?: number }): AppServices['limits'] {
  const { submissions = 1_000_000, reads = 1_000_000, failures = 1_000_000 } = bursts;
  return {
    submissions: meter(120, submissions),
    reads: meter(600, reads),
    links: meter(120, 1_000_000),
    failures: meter(30, failures),
  };
}

/** A bucket that never refills. */
export function meter(limit: number, burst: number): RateMeter {
  const taken = new Map<string, number>();
  const verdict = (key: string): RateVerdict => {
    const used = taken.get(key) ?? 0;
    return {
      allowed: used <= burst,
      limit,
      remaining: Math.max(0, burst - used),
      resetSeconds: 7,
      retryAfterSeconds: used > burst ? 0.4 : 0,
    };
  };
  return {
    peek: verdict,
    take: (key) => {
      taken.set(key, (taken.get(key) ?? 0) + 1);
      return verdict(key);
    },
  };
}

export interface ServedApp extends AsyncDisposable {
  url: string;
  port: number;
  server: HttpServer;
}

export async function serveApp(services: AppServices, listening: Partial<Listening> = {}): Promise<ServedApp> {
  const server = await startHttp(createApp(services), services, { host: '127.0.0.1', port: 0, ...listening });
  return { url: server.url, port: server.port, server, [Symbol.asyncDispose]: () => server.stop(0) };
}

/** A request; headers that are undefined are left out. */
export interface Asking {
  method?: string | undefined;
  headers?: Record<string, string | undefined>;
  body?: BodyInit | undefined;
}

/** The answer of a server that runs for this request alone, which has the key that may do all, and is a POST if it has a body. */
export async function ask(services: AppServices, path: string, { method, headers = {}, body }: Asking = {}) {
  await using served = await serveApp(services);
  const own = {
    authorization: `Bearer ${KEYS.full}`,
    ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  const sent = Object.entries(own).filter((header): header is [string, string] => header[1] !== undefined);
  const answer = await fetch(served.url + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: sent,
    body: body ?? null,
  });
  const content = Buffer.from(await answer.arrayBuffer());
  const text = content.toString();
  const isJson = /^application\/(?:\w+\+)?json/.test(answer.headers.get('content-type') ?? '');
  return {
    status: answer.status,
    headers: answer.headers,
    content,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : null,
  };
}

/** Something that a test waits for, and the function that ends the wait. */
export function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

function* chunksOf(content: Buffer): Iterable<Buffer> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
}
