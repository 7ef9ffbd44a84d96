/** The composition root: creates all parts, connects them, starts and stops them in order. It is the only file that knows all of them. */

import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { issueFirstKey } from '../account/issue-key.js';
import { RateLimits } from '../account/rate-limits.js';
import { diskProblem } from '../artifacts/directory.js';
import { clearBatches, removeBatch, submitBatch } from '../capture/batches.js';
import { compare, findPicture } from '../capture/compare.js';
import { otherCapturers } from '../capture/health.js';
import { ModelViews } from '../capture/model-view.js';
import { findLinkPicture, openPicture } from '../capture/open-picture.js';
import { removeJob } from '../capture/remove-job.js';
import { submit } from '../capture/submit.js';
import { type RecoverDeps, recoverLeases } from '../capture/sweep.js';
import { Templates } from '../capture/templates.js';
import { Thumbnails } from '../capture/thumbnails.js';
import { FinishSignals, waitForJob } from '../capture/wait-for-job.js';
import { findPdf, readPdfs, workOnPdfs } from '../capture/work-on-pdfs.js';
import { CompareQueue } from '../compare/compare-queue.js';
import type { Config, Role } from '../config.js';
import { ConcurrencyLimiter } from '../contract/concurrency-limiter.js';
import { FairQueue } from '../contract/fair-queue.js';
import type { JobSnapshot, PublicPlaces } from '../contract/job.js';
import { JOBS_WITH_FILES_MAX, JOBS_WITH_FILES_OF_ACCOUNT_MAX } from '../contract/limits.js';
import { createApp, loadRoutes } from '../http/app.js';
import type { AppServices, ConsoleServices } from '../http/app-services.js';
import { type HttpServer, startHttp } from '../http/serve.js';
import type { Log } from '../log.js';
import { builtFile, packageVersion } from '../package-files.js';
import { PdfFiles } from '../pdf/pdf-files.js';
import { PdfQueue } from '../pdf/pdf-queue.js';
import { EncodeQueue } from '../render/memory.js';
import type { ClaimedJob, DueDelivery, EndedJob, NodeFacts } from '../store/store.js';
import { TemplateRenderer } from '../templates/template-renderer.js';
import type { TracingConfig } from '../tracing-config.js';
import type { WatchesOptions } from '../watch/open-watches.js';
import { uploadPicture } from '../webhook/upload-picture.js';
import type { Loop } from '../work/loop.js';
import { type Foundations, openFoundations } from './foundations.js';
import { Housekeeping } from './housekeeping.js';
import { IdleHeap } from './idle-heap.js';
import { deliveryLoop, jobLoop, type LoopRules, loopErrors } from './loops.js';
import { Metrics } from './metrics.js';
import { RecentHealth, RecentTimings } from './recent.js';
import { Renderer } from './renderer.js';
import { announceServer } from './server-file.js';
import { WatchKeeper } from './watch-keeper.js';

/** The delay after which a server that starts or ends changes the parts of the others. */
const RATES_POLL_MS = 5_000;
/** Notifications of ended jobs arrive at once; polling covers the ones that are lost. */
const ENDED_POLL_MS = 1_000;

/** The delay after which a change made by another process (queue resume) takes effect. */
const POLL_MS = 500;
/** The time limit for running captures to finish after SIGTERM. */
const DRAIN_MS = 30_000;
/** Time to send the last responses after the captures have ended. */
const LAST_ANSWERS_MS = 1_000;
const HOUR_MS = 3_600_000;
/** Shorter than the time in which a request must be received, since a waiting one is not read. */
const UPLOAD_WAITING = { all: 500, ofAccount: 250, ms: 20_000 };
const TOO_MANY_UPLOADS = 'Too many files are being received at the moment. Try again shortly.';
/** Requests with files that are being received. */
const UPLOAD_PLACES = { all: 8, ofAccount: 4, waiting: UPLOAD_WAITING, message: TOO_MANY_UPLOADS };
/** Conversions of compatible APIs that have not ended, with room below the limits of jobs with files for other requests. */
const CONVERSION_PLACES = {
  all: JOBS_WITH_FILES_MAX - 20,
  ofAccount: JOBS_WITH_FILES_OF_ACCOUNT_MAX - 10,
  waiting: UPLOAD_WAITING,
  message: TOO_MANY_UPLOADS,
};

/** Threads that parse large bodies and convert Markdown at the same time: one, so that captures have the other processors. */
const READING_THREADS = 1;

/** Facts about this server while it is starting. */
const STARTING: Omit<NodeFacts, 'roles'> = {
  name: `${hostname()}-${process.pid}`,
  version: packageVersion(),
  readyBrowsers: 0,
  sandboxed: false,
  running: 0,
  concurrency: 0,
};

export interface ServiceDeps {
  log: Log;
  /** Destination of traces. Default: captures are not traced. */
  tracing?: TracingConfig | null;
  /** Prints set-up progress for the user of a terminal. */
  print(line: string): void;
  /** The directory in which a browser is searched for and installed. Default: the data directory. */
  browserDir?: string;
}

export class Service implements AsyncDisposable {
  /** The secret of the first key, if this start created it; set once `ready`. */
  firstKey: string | null = null;
  /** Resolves when health returns 200; rejects if no browser is available. */
  ready: Promise<void> = Promise.resolve();

  private readonly startedAt = Date.now();
  private readonly signals = new FinishSignals();
  private readonly metrics = new Metrics();
  private readonly timings = new RecentTimings();
  private readonly onLoopError: (error: unknown) => void;
  private readonly heap = new IdleHeap({
    running: () => this.jobs.running,
    onError: (error) => this.onLoopError(error),
  });
  private readonly limits: RateLimits;
  private readonly places: PublicPlaces = { baseUrl: '' };
  private readonly templates: Templates;
  private readonly jobs: Loop<ClaimedJob>;
  /** Stops a job that runs here, by its id. */
  private readonly running = new Map<string, () => void>();
  private readonly deliveries: Loop<DueDelivery>;
  /** Aborted when the shutdown can no longer wait for running captures or for the start of the browsers. */
  private readonly shutdown = new AbortController();
  private renderer: Renderer | null = null;
  private http: HttpServer | null = null;
  private announcement: Disposable | null = null;
  private draining = false;
  /** Whether, while this server drains, other servers capture the jobs that it still accepts. */
  private handsOver = false;
  private stopping: Promise<void> | null = null;
  private readonly health: RecentHealth;
  private housekeeping: Housekeeping | null = null;
  private readonly watches: WatchKeeper;
  /** Filled in by `makeServices`. */
  private services: AppServices | null = null;
  /** Timers that follow the other servers. */
  private readonly following: NodeJS.Timeout[] = [];
  private polling: Promise<void> | null = null;

  private constructor(
    private readonly config: Config,
    private readonly log: Log,
    private readonly foundations: Foundations,
  ) {
    this.onLoopError = loopErrors(log);
    const { submitRate, submitBurst, readRate, readBurst } = config;
    this.limits = new RateLimits({
      submissions: { perMinute: submitRate, burst: submitBurst },
      reads: { perMinute: readRate, burst: readBurst },
    });
    const { store, clock } = foundations;
    const renderer = new TemplateRenderer(builtFile('template-thread.js'));
    this.templates = new Templates({ store, renderer, now: clock.now });
    this.health = this.makeHealth();
    this.jobs = this.makeJobLoop();
    this.deliveries = this.makeDeliveryLoop();
    this.watches = this.makeWatchKeeper();
  }

  /**
   * Creates all parts and listens. Captures begin as soon as a browser is running (`ready`).
   * @throws one-line errors for the operator
   */
  static async start(config: Config, parts: ServiceDeps): Promise<Service> {
    const { log, tracing = null } = parts;
    let service: Service | null = null;
    const facts = () => service?.facts() ?? { ...STARTING, roles: config.roles };
    service = new Service(config, log, await openFoundations(config, { log, tracing, facts }));
    try {
      await service.begin(parts);
    } catch (error) {
      await service.stop();
      throw error;
    }
    return service;
  }

  /** `http://HOST:PORT` with the actual port. */
  get url(): string {
    return this.http?.url ?? '';
  }

  /** Drains: refuses new submissions, lets running captures finish (up to 30 s), and leaves the rest queued. May be called twice. */
  stop(): Promise<void> {
    this.stopping ??= this.drain();
    return this.stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  private async begin(parts: ServiceDeps): Promise<void> {
    const { store, artifacts } = this.foundations;
    await store.createAccount('default', this.foundations.clock.now());
    await artifacts.removeLeftovers();
    // This makes the log report at once that a bucket cannot be used. The server starts nevertheless.
    void artifacts.isReady();
    await recoverLeases(this.recoverDeps(), { starting: true });
    const services = this.makeServices();
    this.services = services;
    const { host, port } = this.config;
    // Each connection may take another descriptor, for the file that it reads; captures have the rest.
    const maxConnections = Math.floor(((await readDescriptors())?.limit ?? Number.POSITIVE_INFINITY) / 4);
    this.http = await startHttp(createApp(services), services, { host, port, maxConnections });
    this.places.baseUrl = this.config.baseUrl ?? this.http.url;
    const { dataDir, console } = this.config;
    this.announcement = announceServer(
      dataDir,
      { url: this.http.url, base_url: this.places.baseUrl, console },
      this.log,
    );
    this.listenToOthers();
    if (this.hasRole('webhook')) this.deliveries.start();
    const opened = this.hasRole('capture') ? this.openForCaptures(parts) : this.makeFirstKey();
    // This is loaded while the browsers start.
    this.ready = Promise.all([opened, this.hasRole('api') ? loadRoutes(services) : null]).then(() => undefined);
    this.ready.catch(() => undefined);
    this.housekeeping = this.startHousekeeping();
    this.watches.start();
  }

  private async openForCaptures(parts: ServiceDeps): Promise<void> {
    const { egress } = this.foundations;
    const { log, print } = parts;
    const browserDir = parts.browserDir ?? this.config.dataDir;
    // From here on, the end of the service closes it.
    this.renderer = await Renderer.start(this.config, { egress, log, print, browserDir, signal: this.shutdown.signal });
    if (this.draining) return;
    await this.makeFirstKey();
    this.health.forget();
    this.jobs.start();
  }

  /** Runs only after a successful start, which shows the key, because its secret cannot be shown again later. */
  private async makeFirstKey(): Promise<void> {
    this.firstKey = await issueFirstKey(this.foundations.store, this.foundations.clock.now());
  }

  private hasRole(role: Role): boolean {
    return this.config.roles.includes(role);
  }

  /** Follows the events of the other servers that share the store. */
  private listenToOthers(): void {
    const { store } = this.foundations;
    store.watch((event) => {
      if (event.kind === 'queued') this.jobs.wake();
      else if (event.kind === 'due') this.deliveries.wake();
      else if (event.kind === 'ended') {
        this.signals.announce(event.jobId);
        this.watches.wake();
      } else if (event.kind === 'canceled') this.running.get(event.jobId)?.();
      else if (event.kind === 'node_lost') this.housekeeping?.recoverNow();
      else this.catchUp();
    });
    if (!store.shared) return;
    this.following.push(setInterval(() => this.pollEnded(), ENDED_POLL_MS));
    if (!this.hasRole('api')) return;
    this.shareRates();
    this.following.push(setInterval(() => this.shareRates(), RATES_POLL_MS));
  }

  /** Announces the jobs that have ended on another server, of those that somebody waits for here. One query serves all. */
  private pollEnded(): void {
    const ids = this.signals.waitedFor;
    if (ids.length === 0) return;
    this.polling ??= this.foundations.store
      .endedAmong(ids)
      .then((ended) => {
        for (const id of ended) this.signals.announce(id);
      })
      .catch(this.onLoopError)
      .finally(() => {
        this.polling = null;
      });
  }

  /** Grants this server an equal part of the rate limits while other servers of the API share the store. */
  private shareRates(): void {
    this.foundations.store
      .nodes()
      .then((nodes) =>
        this.limits.shareAmong(Math.max(1, nodes.filter(({ facts }) => facts.roles.includes('api')).length)),
      )
      .catch(this.onLoopError);
  }

  /** Checks for work after events may have been lost. */
  private catchUp(): void {
    this.jobs.wake();
    this.deliveries.wake();
    if (this.foundations.store.shared) this.pollEnded();
  }

  private loopRules(): LoopRules {
    const { now, since } = this.foundations.clock;
    return { pollMs: POLL_MS, shutdown: this.shutdown.signal, now, since, onError: this.onLoopError };
  }

  private makeJobLoop(): Loop<ClaimedJob> {
    const { store, artifacts, egress, traces } = this.foundations;
    const uploads = { egress, allowedOrigins: this.config.webhookAllow, version: packageVersion(), log: this.log };
    return jobLoop({
      concurrency: this.config.concurrency,
      keepSlots: this.config.keepSlots,
      ...this.loopRules(),
      deps: {
        store,
        artifacts,
        templates: this.templates,
        render: async (task, signal) => {
          if (this.renderer === null) throw new Error('a job was claimed before there was a browser');
          const { capture } = await import('../render/capture.js');
          return await capture(this.renderer.deps, task, signal);
        },
        uploads: {
          open: (name) => artifacts.open(name),
          send: (task, signal) => uploadPicture(uploads, task, signal),
        },
        running: this.running,
        onEnded: (job, timings) => this.onJobEnded(job, timings),
        traces,
        log: this.log,
      },
    });
  }

  private makeDeliveryLoop(): Loop<DueDelivery> {
    const { config, log, places } = this;
    const { store, egress, traces } = this.foundations;
    const settings = {
      allowedOrigins: config.webhookAllow,
      backoffMs: config.webhookBackoffMs,
      timeoutMs: config.webhookTimeoutMs,
    };
    return deliveryLoop({
      ...this.loopRules(),
      deps: {
        store,
        egress,
        traces,
        places,
        log,
        wallNow: store.now,
        random: Math.random,
        version: packageVersion(),
        ...settings,
      },
    });
  }

  private makeServices(): AppServices {
    const { config, log, limits, signals, places, health, metrics, timings } = this;
    const { store, egress, artifacts, traces, clock } = this.foundations;
    const { now } = clock;
    const deps = {
      store,
      egress,
      artifacts,
      log,
      now,
      rules: { maxQueue: config.maxQueue, webhookMaxAttempts: config.webhookAttempts },
      webhookAllow: config.webhookAllow,
      draining: () => this.draining && !this.handsOver,
      onQueued: () => this.jobs.wake(),
      onCached: (job: JobSnapshot) => this.onJobCached(job),
    };
    const open = (name: string) => openPicture(deps, name);
    const queue = new CompareQueue(builtFile('compare-thread.js'));
    const pdfDeps = () => ({ ...deps, openPicture: open, queue: pdfs, reserveMemory: this.memoryOfCaptures() });
    const pdfs = new PdfQueue(new PdfFiles(builtFile('pdf-thread.js')));
    const encodes = new EncodeQueue(builtFile('picture-thread.js'));
    const views = new ModelViews({ openPicture: open, encodes });
    const thumbnails = new Thumbnails({ openPicture: open, encodes, reserveMemory: () => this.memoryOfCaptures() });
    return {
      store,
      limits,
      traces,
      places,
      now,
      log,
      findLinkPicture: (submission, accountId) => findLinkPicture(deps, submission, accountId),
      submit: (submission, context) => submit(deps, submission, context),
      waitForJob: (job, nobodyWaits) =>
        waitForJob({ store, signals, now: elapsed }, job, {
          until: elapsed() + config.syncWaitMs,
          signal: nobodyWaits,
        }),
      removeJob: (id, keyId) => removeJob(this.removeDeps(), id, keyId),
      batches: {
        submit: async (submission, context) => {
          const batch = await submitBatch(deps, submission, context);
          if (batch.completedAt !== null) this.deliveries.wake();
          return batch;
        },
        remove: (id, keyId) =>
          removeBatch({ ...this.removeDeps(), onDeliveryDue: () => this.deliveries.wake() }, id, keyId),
      },
      openPicture: open,
      comparisons: {
        enter: (accountId) => queue.enter(accountId),
        find: (query, principal) => findPicture({ store, openPicture: open }, query, principal),
        compare: (comparison, who) =>
          compare({ ...deps, openPicture: open, queue, reserveMemory: this.memoryOfCaptures() }, comparison, who),
      },
      pdfs: {
        enter: (accountId, signal) => pdfs.enter(accountId, signal),
        find: (query, principal) => findPdf({ store, openPicture: open }, query, principal),
        work: (request, who) => workOnPdfs(pdfDeps(), request, who),
        read: (files, who) => readPdfs(pdfDeps(), files, who),
      },
      templates: this.templates,
      threads: new FairQueue(READING_THREADS),
      uploads: {
        places: new ConcurrencyLimiter(UPLOAD_PLACES),
        conversions: new ConcurrencyLimiter(CONVERSION_PLACES),
        dir: join(config.dataDir, 'uploads'),
      },
      modelView: (name, selection) => views.view(name, selection),
      onDeliveryDue: () => this.deliveries.wake(),
      health: () => health.read(),
      metrics: async () => metrics.text(await health.read()),
      timingsOf: (jobId) => timings.of(jobId),
      observe: (answer) => metrics.countAnswer(answer),
      watches: async () => (await this.watches.open()).watches,
      ...(config.console === 'off' ? {} : { console: this.makeConsoleServices((name) => thumbnails.of(name)) }),
      draining: () => this.draining,
      handsOver: () => this.handsOver,
      config: {
        version: packageVersion(),
        concurrency: config.concurrency,
        maxQueue: config.maxQueue,
        openapiFile: builtFile('docs/openapi.json'),
        jsonThread: builtFile('json-thread.js'),
        servesApi: this.hasRole('api'),
        webhookAllow: config.webhookAllow,
        tolerate: config.tolerate,
        allowInsecureTls: config.allowInsecureTls,
        mp4: config.ffmpeg !== null,
        artifactMaxAgeSeconds: Math.floor((config.artifactTtlH * HOUR_MS) / 1000),
        allowedHosts: config.allowedHosts,
        compatibleApis: config.compatibleApis,
        compatibleApisKey: config.compatibleApisKey,
        gotenbergUpstream: config.gotenbergUpstream,
        markdownFormThread: builtFile('markdown-form-thread.js'),
        metricsToken: config.metricsToken,
      },
    };
  }

  private makeConsoleServices(thumbnail: ConsoleServices['thumbnail']): ConsoleServices {
    return {
      thumbnail,
      loopbackOnly: this.config.console === 'loopback',
      maxStorageBytes: this.config.maxStorageMb * 1_000_000,
      ownNode: () => ({ startedAt: this.startedAt, facts: this.facts() }),
      onQueueChanged: () => {
        this.health.forget();
        this.jobs.wake();
      },
    };
  }

  private makeWatchKeeper(): WatchKeeper {
    const { log } = this;
    const { store } = this.foundations;
    return new WatchKeeper({
      store,
      shared: store.shared,
      options: () => this.watchesOptions(),
      log,
      onError: this.onLoopError,
    });
  }

  private watchesOptions(): WatchesOptions {
    const { config, log, places, services, metrics, templates, shutdown, onLoopError: onError } = this;
    const { store, egress, clock } = this.foundations;
    if (services === null) throw new Error('watches were asked for before the start');
    const { now } = clock;
    const { webhookAllow, tolerate, allowInsecureTls, mp4 } = services.config;
    const rules = { webhookAllow, tolerate, allowInsecureTls, mp4 };
    const uploads = { egress, allowedOrigins: webhookAllow, version: packageVersion(), log };
    const { smtpUrl, mailFrom } = config;
    return {
      api: {
        store,
        egress,
        rules,
        templates,
        places,
        now,
        minimumMs: config.watchMinInterval * 1_000,
        max: config.watchesMax,
      },
      runs: {
        store,
        rules,
        templates,
        log,
        now,
        submit: services.submit,
        comparisons: services.comparisons,
        runsAtOnce: () => this.watchRunsAtOnce(),
        onRunEnded: ({ state }) => metrics.countWatchRun(state),
      },
      messages: {
        store,
        egress,
        places,
        log,
        now,
        wallNow: store.now,
        random: Math.random,
        version: packageVersion(),
        allowedOrigins: webhookAllow,
        backoffMs: config.webhookBackoffMs,
        timeoutMs: config.webhookTimeoutMs,
        maxAttempts: config.webhookAttempts,
        openPicture: services.openPicture,
        upload: (task, signal) => uploadPicture(uploads, task, signal),
      },
      mail: smtpUrl === null || mailFrom === null ? null : { smtpUrl, mailFrom },
      roles: { runs: this.hasRole('capture'), messages: this.hasRole('webhook') },
      shared: store.shared,
      cautiousNow: clock.cautious,
      onMessage: (outcome, kind) => metrics.countWatchMessage(kind, outcome),
      shutdown: shutdown.signal,
      onError,
    };
  }

  /** A quarter of the captures of all servers, so that watches leave room for those that somebody waits for. */
  private async watchRunsAtOnce(): Promise<number> {
    const { store } = this.foundations;
    const nodes = store.shared ? await store.nodes() : [];
    const all = nodes
      .filter(({ facts }) => facts.roles.includes('capture'))
      .reduce((sum, { facts }) => sum + facts.concurrency, 0);
    return Math.max(1, Math.floor(Math.max(all, this.config.concurrency) / 4));
  }

  private makeHealth(): RecentHealth {
    const { store, artifacts } = this.foundations;
    return new RecentHealth({
      store,
      readyBrowsers: () => this.renderer?.readyBrowsers() ?? 0,
      rendersHere: this.hasRole('capture'),
      ownNode: STARTING.name,
      sandboxed: () => this.renderer?.sandboxed ?? false,
      diskProblem: () => diskProblem(this.config.dataDir),
      canStore: () => artifacts.isReady(),
      storageRefusal: () => artifacts.refusal,
      descriptors: readDescriptors,
      webhooksActive: () => this.hasRole('webhook') && !this.draining,
      draining: () => this.draining,
      now: this.foundations.clock.now,
      since: this.foundations.clock.since,
    });
  }

  private onJobEnded(job: EndedJob, timings: Record<string, number>): void {
    this.timings.keep(job.id, timings);
    this.metrics.countJob(job.state);
    this.metrics.countStages(timings);
    this.signals.announce(job.id);
    this.heap.captureEnded();
    if (job.hasWebhook) this.deliveries.wake();
    // A follower of a failed render may have been queued.
    if (job.state === 'failed') this.jobs.wake();
    this.watches.wake();
  }

  /** Stops the worker of a job, and notifies those who wait for its end. */
  private onJobCanceled(job: EndedJob): void {
    this.running.get(job.id)?.();
    this.metrics.countJob('canceled');
    this.signals.announce(job.id);
    if (job.hasWebhook) this.deliveries.wake();
    this.watches.wake();
  }

  /** Logs a job that the cache has answered. */
  private onJobCached({ id, requestId, url, webhookUrl }: JobSnapshot): void {
    this.metrics.countJob('completed');
    this.log.info({ job_id: id, request_id: requestId, url, state: 'completed', cached: true }, 'job');
    if (webhookUrl !== null) this.deliveries.wake();
  }

  private recoverDeps(): RecoverDeps {
    return {
      store: this.foundations.store,
      onEnded: (job) => this.onJobEnded(job, {}),
      onRequeued: () => this.jobs.wake(),
      log: this.log,
      now: this.foundations.clock.now,
      own: () => ({ jobs: this.jobs.tasks, deliveries: this.deliveries.tasks }),
    };
  }

  private removeDeps() {
    const { store, artifacts, clock } = this.foundations;
    return {
      store,
      artifacts,
      onCanceled: (job: EndedJob) => this.onJobCanceled(job),
      onRequeued: () => this.jobs.wake(),
      log: this.log,
      now: clock.now,
    };
  }

  private startHousekeeping(): Housekeeping {
    const { config } = this;
    const { store, artifacts } = this.foundations;
    return new Housekeeping({
      keepClock: () => this.keepClock(),
      deps: {
        ...this.recoverDeps(),
        cautiousNow: this.foundations.clock.cautious,
        store,
        clearBatches: (signal) => clearBatches(this.removeDeps(), signal),
        artifacts,
        artifactTtlMs: config.artifactTtlH * HOUR_MS,
        jobTtlMs: config.jobTtlH * HOUR_MS,
        maxStorageBytes: config.maxStorageMb * 1_000_000,
      },
      startedAt: this.startedAt,
      signal: this.shutdown.signal,
      onError: this.onLoopError,
    });
  }

  private async keepClock(): Promise<void> {
    const { store, clock } = this.foundations;
    if (await store.keepClock(clock.keep())) return;
    clock.accept();
    this.log.info('the clock is trusted: an operator has accepted it');
  }

  /** Null before there is a browser, and on a server that captures nothing. */
  private memoryOfCaptures(): ((bytes: number, signal: AbortSignal) => Promise<Disposable>) | null {
    const { renderer } = this;
    return renderer === null ? null : (bytes, signal) => renderer.reserveMemory(bytes, signal);
  }

  /** Facts about this server for the others. */
  facts(): NodeFacts {
    const { concurrency, roles } = this.config;
    const readyBrowsers = this.draining ? 0 : (this.renderer?.readyBrowsers() ?? 0);
    return {
      ...STARTING,
      roles,
      readyBrowsers,
      sandboxed: this.renderer?.sandboxed ?? false,
      running: this.jobs.running,
      concurrency,
    };
  }

  private async drain(): Promise<void> {
    const { store, traces, egress, artifacts, lock } = this.foundations;
    // Among servers that share a store, one accepts captures until its end, because load balancers notice late that it is not ready.
    this.handsOver = store.shared;
    this.draining = true;
    this.health.forget();
    const others = store.shared ? await otherCapturers(store, STARTING.name).catch(() => []) : [];
    this.handsOver = others.length > 0;
    this.housekeeping?.pause();
    for (const timer of this.following) clearInterval(timer);
    this.heap[Symbol.dispose]();
    await Promise.all([this.jobs.drain(DRAIN_MS), this.deliveries.drain(DRAIN_MS), this.watches.drain(DRAIN_MS)]);
    // Anyone who still waits is waiting for a job that stays queued.
    this.signals.close();
    this.shutdown.abort(new Error('the server is shutting down'));
    await Promise.all([
      this.jobs[Symbol.asyncDispose](),
      this.deliveries[Symbol.asyncDispose](),
      this.watches[Symbol.asyncDispose](),
      this.housekeeping?.[Symbol.asyncDispose](),
    ]);
    await this.http?.stop(LAST_ANSWERS_MS);
    this.announcement?.[Symbol.dispose]();
    await this.ready.catch(() => undefined);
    await Promise.all([traces?.[Symbol.asyncDispose](), this.renderer?.[Symbol.asyncDispose]()]);
    for (const part of [egress, artifacts, store]) await part[Symbol.asyncDispose]();
    lock[Symbol.dispose]();
  }
}

/** Counts the file descriptors of this process; undefined where the system does not report them (Linux does). */
async function readDescriptors(): Promise<{ open: number; limit: number } | undefined> {
  try {
    const [open, limits] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/limits', 'latin1')]);
    const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN);
    return Number.isNaN(limit) ? undefined : { open: open.length, limit };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Monotonic ms, so that setting the wall clock neither ends nor prolongs a wait. */
function elapsed(): number {
  return performance.now();
}
