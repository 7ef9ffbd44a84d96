import {
  type BatchRequest,
  type CallOptions,
  type CaptureRequest,
  type CompareRequest,
  checkedBaseUrl,
  checkedKey,
  checkedObject,
  checkedRetries,
  checkedText,
  checkedTimeout,
  type JobQuery,
  MAX_RETRIES,
  type PageQuery,
  type PdfRequest,
  type StillframeOptions,
  type SubmitOptions,
  TIMEOUT_MS,
  type WatchRequest,
} from './call-options.js';
import { Deadline, pause } from './deadline.js';
import { type Downloadable, downloadBytes, downloadStream, type PictureStream, streamFrom } from './download.js';
import {
  captureAndWait,
  type Delivery,
  jobCall,
  type Picture,
  readDelivery,
  redeliver,
  submitOnly,
  waitForJob,
} from './jobs.js';
import { type MadePdf, readPdf } from './made-pdf.js';
import { readAnswer } from './read-answer.js';
import { type LinkRequest, type LinkSigning, signedLink } from './signatures.js';
import { invalidArgument, StillframeError } from './stillframe-error.js';
import { Transport } from './transport.js';
import type {
  AcceptedJob,
  Batch,
  BatchPage,
  Comparison,
  Health,
  JobPage,
  JobSnapshot,
  Template,
  TemplateEntry,
  Usage,
  Watch,
  WatchRun,
  WatchRunWithMessages,
} from './wire.js';

/** The interval at which a batch is looked up. */
const BATCH_PAUSE_MS = 2_000;

/** The answer to the removal of a job. */
export interface RemovedJob {
  id: string;
  removed: true;
  /** Whether the job had not ended yet. */
  canceled: boolean;
}

/** A client of one stillframe server. Calls reject with a StillframeError. */
export class Stillframe {
  readonly #transport: Transport;
  readonly #timeout: number;

  /** @throws TypeError for an invalid option */
  constructor({
    baseUrl,
    apiKey,
    fetch: customFetch,
    timeout = TIMEOUT_MS,
    maxRetries = MAX_RETRIES,
  }: StillframeOptions) {
    this.#timeout = checkedTimeout(timeout);
    this.#transport = new Transport({
      baseUrl: checkedBaseUrl(baseUrl),
      apiKey: checkedKey(apiKey),
      // Runtimes refuse a `fetch` that is called as a method of another object.
      fetch: customFetch ?? ((url, init) => fetch(url, init)),
      maxRetries: checkedRetries(maxRetries),
    });
  }

  /**
   * Captures a page and waits for the picture.
   * @throws StillframeError with `jobId` and `idempotencyKey`; after a `timeout`, `wait(jobId)` resumes the call
   */
  capture(request: CaptureRequest, options: SubmitOptions = {}): Promise<Picture> {
    return this.#withDeadline(options, (deadline) =>
      captureAndWait(this.#transport, submissionOf(request, options), deadline),
    );
  }

  /** Submits a capture without waiting for it. Use `wait` or a webhook to get the result. */
  submit(request: CaptureRequest, options: SubmitOptions = {}): Promise<AcceptedJob> {
    return this.#withDeadline(options, (deadline) =>
      submitOnly(this.#transport, submissionOf(request, options), deadline),
    );
  }

  /**
   * Waits for the picture of a job.
   * @throws StillframeError of the capture, if it failed
   */
  wait(job: string | AcceptedJob | JobSnapshot, options: CallOptions = {}): Promise<Picture> {
    return this.#withDeadline(options, (deadline) =>
      waitForJob(this.#transport, { jobId: idOf(job), after: 0 }, deadline),
    );
  }

  /** Looks up a job, whatever its state. */
  async job(id: string, options: CallOptions = {}): Promise<JobSnapshot> {
    return this.#read(jobCall(`/v1/jobs/${encodeURIComponent(checkedText(id, 'id', A_JOB_ID))}`), options);
  }

  /**
   * Cancels a job that has not ended, which then costs nothing, or deletes the pictures of one that has. It cannot be looked up any more.
   * @throws StillframeError `invalid_request` with status 404 if there is no such job, also after a lost answer
   */
  async removeJob(job: string | AcceptedJob | JobSnapshot, options: CallOptions = {}): Promise<RemovedJob> {
    return this.#read(
      {
        method: 'DELETE',
        to: `/v1/jobs/${encodeURIComponent(idOf(job))}`,
        repeatable: true,
        read: readAnswer<RemovedJob>,
      },
      options,
    );
  }

  /** Looks up the job that was submitted with an idempotency key. */
  async jobByKey(idempotencyKey: string, options: CallOptions = {}): Promise<JobSnapshot> {
    const key = checkedText(idempotencyKey, 'idempotencyKey', 'order-4711');
    return this.#read(jobCall(`/v1/requests/${encodeURIComponent(key)}`), options);
  }

  /** Lists a page of the key's jobs, newest first. */
  async jobs(query: JobQuery = {}, options: CallOptions = {}): Promise<JobPage> {
    const { state, limit, cursor } = checkedObject(query, 'query');
    return this.#read(
      {
        method: 'GET',
        to: `/v1/jobs?${queryOf({ state, limit, cursor })}`,
        repeatable: true,
        read: readAnswer<JobPage>,
      },
      options,
    );
  }

  /** Lists all of the key's jobs, newest first, page after page. `timeout` applies to each page. */
  async *eachJob(query: JobQuery = {}, options: CallOptions = {}): AsyncGenerator<JobSnapshot, void, undefined> {
    for (let { cursor } = checkedObject(query, 'query'); ; ) {
      const page = await this.jobs({ ...query, cursor }, options);
      yield* page.jobs;
      if (page.next_cursor === null) return;
      cursor = page.next_cursor;
    }
  }

  /**
   * Compares two pictures: jobs, addresses of pictures, pictures in base64, or capture requests, which are charged as usual.
   * @throws StillframeError of a capture, or if one of the pictures does not exist or cannot be compared
   */
  async compare(request: CompareRequest, options: SubmitOptions = {}): Promise<Comparison> {
    const { request: comparison, idempotencyKey } = submissionOf(request, options);
    const headers = { 'idempotency-key': idempotencyKey };
    const body = JSON.stringify(comparison);
    return this.#read(
      { method: 'POST', to: '/v1/compare', headers, body, repeatable: true, read: readAnswer<Comparison> },
      options,
    );
  }

  /** Merges, splits and changes PDFs: those of `uploads`, of jobs, or at addresses of the server. Nothing is stored. */
  async pdf(request: PdfRequest, options: CallOptions = {}): Promise<MadePdf> {
    const { uploads = {}, ...work } = checkedObject(request, 'request');
    const body = new FormData();
    body.set('request', JSON.stringify(work));
    for (const [name, content] of Object.entries(checkedObject(uploads, 'uploads')))
      body.append('files', content instanceof Blob ? content : new Blob([content]), name);
    return this.#withDeadline(options, (deadline) =>
      this.#transport.send({ method: 'POST', to: '/v1/pdf', body, repeatable: true, read: readPdf }, deadline),
    );
  }

  /** Downloads the file of a picture. Needs no API key, and sends none. */
  download(from: Downloadable, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#withDeadline(options, (deadline) => downloadBytes(this.#transport, from, deadline));
  }

  /** Downloads as `download` does, but as a stream, for large files. `timeout` covers the stream to its end. */
  downloadStream(from: Downloadable, options: CallOptions = {}): Promise<PictureStream> {
    return this.#stream((deadline) => downloadStream(this.#transport, from, deadline), options);
  }

  /** Submits many captures, all or none, without waiting for them. Use `waitForBatch` or a webhook to learn of their end. */
  submitBatch(request: BatchRequest, options: SubmitOptions = {}): Promise<Batch> {
    const { request: body, idempotencyKey } = submissionOf(request, options);
    return this.#read(
      {
        method: 'POST',
        to: '/v1/batches',
        headers: { 'idempotency-key': idempotencyKey },
        body: JSON.stringify(body),
        repeatable: true,
        read: readAnswer<Batch>,
      },
      options,
    );
  }

  /** Looks up a batch with a page of its captures, failed ones first. */
  async batch(id: string, query: PageQuery = {}, options: CallOptions = {}): Promise<BatchPage> {
    const { limit, cursor } = checkedObject(query, 'query');
    return this.#batches('GET', `${pathOf(id)}?${queryOf({ limit, cursor })}`, options);
  }

  /** Waits for the end of a batch. Its captures may have failed: see `counts`. */
  waitForBatch(id: string, options: CallOptions = {}): Promise<Batch> {
    const call = {
      method: 'GET',
      to: `/v1/batches${pathOf(id)}?limit=1`,
      repeatable: true,
      read: readAnswer<BatchPage>,
    } as const;
    return this.#withDeadline(options, async (deadline) => {
      for (;;) {
        const { captures: _, next_cursor: __, ...batch } = (await this.#transport.send(call, deadline)).data;
        if (batch.state === 'completed') return batch;
        await pause(BATCH_PAUSE_MS, deadline.signal);
      }
    });
  }

  /** Downloads the pictures of a batch as a zip file. `timeout` covers the stream to its end. */
  async batchPictures(id: string, options: CallOptions = {}): Promise<PictureStream> {
    const to = `/v1/batches${pathOf(id)}/pictures.zip`;
    return this.#stream((deadline) => streamFrom(this.#transport, to, deadline), options);
  }

  /** Cancels a batch with its captures that have not ended, and deletes the pictures of the others. */
  async removeBatch(id: string, options: CallOptions = {}): Promise<void> {
    await this.#batches('DELETE', pathOf(id), options);
  }

  /** Makes an address that shows the picture without an API key, for `<img src>` and Open Graph tags. Makes no request. */
  signedLink(request: LinkRequest, signing: LinkSigning): Promise<string> {
    return signedLink(request, { ...signing, baseUrl: this.#transport.baseUrl });
  }

  /** Reads the delivery status of a job's webhook. */
  delivery(jobId: string, options: CallOptions = {}): Promise<Delivery> {
    return this.#withDeadline(options, (deadline) =>
      readDelivery(this.#transport, checkedText(jobId, 'jobId', A_JOB_ID), deadline),
    );
  }

  /**
   * Sends the result of a job to its webhook again. Without the `etag` of a delivery status, the current one is read first.
   * @throws StillframeError with status 409 if the delivery is pending, or has changed since
   */
  redeliver(jobId: string, options: CallOptions & { etag?: string | undefined } = {}): Promise<Delivery> {
    return this.#withDeadline(options, async (deadline) => {
      checkedText(jobId, 'jobId', A_JOB_ID);
      const etag = options.etag ?? (await readDelivery(this.#transport, jobId, deadline)).etag;
      return redeliver(this.#transport, { jobId, etag }, deadline);
    });
  }

  /** Watches a page. Not repeated after a lost answer, since each call makes a watch. */
  createWatch(request: WatchRequest, options: CallOptions = {}): Promise<Watch> {
    return this.#watches('POST', '', { body: checkedObject(request, 'request') }, options);
  }

  /** Lists a page of the key's watches, newest first. */
  watches(query: PageQuery = {}, options: CallOptions = {}): Promise<{ watches: Watch[]; next_cursor: string | null }> {
    const { limit, cursor } = checkedObject(query, 'query');
    return this.#watches('GET', `?${queryOf({ limit, cursor })}`, {}, options);
  }

  async watch(id: string, options: CallOptions = {}): Promise<Watch> {
    return this.#watches('GET', pathOf(id), {}, options);
  }

  /** Changes fields of a watch, such as `paused`. */
  async changeWatch(id: string, changes: Partial<WatchRequest>, options: CallOptions = {}): Promise<Watch> {
    return this.#watches('PATCH', pathOf(id), { body: checkedObject(changes, 'changes') }, options);
  }

  /** Removes a watch with its history. */
  async removeWatch(id: string, options: CallOptions = {}): Promise<void> {
    await this.#watches('DELETE', pathOf(id), {}, options);
  }

  /** Runs a watch now, or returns the run that has not ended yet. */
  async runWatch(id: string, options: CallOptions = {}): Promise<WatchRun> {
    return this.#watches('POST', `${pathOf(id)}/run`, { body: {} }, options);
  }

  /** Lists a page of the runs of a watch, newest first. */
  async runs(
    watchId: string,
    query: PageQuery = {},
    options: CallOptions = {},
  ): Promise<{ runs: WatchRun[]; next_cursor: string | null }> {
    const { limit, cursor } = checkedObject(query, 'query');
    return this.#watches('GET', `${pathOf(watchId)}/runs?${queryOf({ limit, cursor })}`, {}, options);
  }

  /** Reads a run, with the messages that it has sent. */
  async run(watchId: string, runId: string, options: CallOptions = {}): Promise<WatchRunWithMessages> {
    return this.#watches('GET', `${pathOf(watchId)}/runs${pathOf(runId)}`, {}, options);
  }

  /** Makes a run the baseline of later ones. */
  async approveRun(watchId: string, runId: string, options: CallOptions = {}): Promise<WatchRunWithMessages> {
    return this.#watches('POST', `${pathOf(watchId)}/runs${pathOf(runId)}/approve`, { body: {} }, options);
  }

  /** Sends the messages of a run again. */
  async redeliverRun(watchId: string, runId: string, options: CallOptions = {}): Promise<WatchRunWithMessages> {
    return this.#watches('POST', `${pathOf(watchId)}/runs${pathOf(runId)}/redeliver`, { body: {} }, options);
  }

  /** Stores the next version of a template. The same files as those of the newest version make no new one. */
  async pushTemplate(
    name: string,
    files: Record<string, string | Blob | Uint8Array<ArrayBuffer>>,
    options: CallOptions = {},
  ): Promise<Template> {
    const body = new FormData();
    for (const [path, content] of Object.entries(checkedObject(files, 'files')))
      body.append('files', content instanceof Blob ? content : new Blob([content]), path);
    return this.#templates('PUT', templatePath(name), body, options);
  }

  /** Lists the templates of the account by name. */
  async templates(options: CallOptions = {}): Promise<TemplateEntry[]> {
    return (await this.#templates<{ templates: TemplateEntry[] }>('GET', '', undefined, options)).templates;
  }

  /** Reads a template such as `og-card`, or a version such as `og-card@3`. */
  async template(name: string, options: CallOptions = {}): Promise<Template> {
    return this.#templates('GET', templatePath(name), undefined, options);
  }

  /** Deletes a template, or one of its versions except the newest. */
  async deleteTemplate(name: string, options: CallOptions = {}): Promise<void> {
    await this.#templates('DELETE', templatePath(name), undefined, options);
  }

  /** Reads the credits and jobs of the account in this period. */
  async usage(options: CallOptions = {}): Promise<Usage> {
    return this.#read({ method: 'GET', to: '/v1/usage', repeatable: true, read: readAnswer<Usage> }, options);
  }

  /** Reports whether the server is ready to capture, and if not, why. */
  async health(options: CallOptions = {}): Promise<Health & { ready: boolean }> {
    const call = {
      method: 'GET',
      to: '/v1/health',
      repeatable: true,
      alsoReads: [503],
      read: readAnswer<Health>,
    } as const;
    const { status, data } = await this.#withDeadline(options, (deadline) => this.#transport.send(call, deadline));
    return { ...data, ready: status === 200 };
  }

  #batches<T>(method: 'GET' | 'DELETE', to: string, options: CallOptions): Promise<T> {
    return this.#read({ method, to: `/v1/batches${to}`, repeatable: true, read: readAnswer<T> }, options);
  }

  async #stream(open: (deadline: Deadline) => Promise<PictureStream>, options: CallOptions): Promise<PictureStream> {
    const deadline = this.#deadline(options);
    try {
      return await open(deadline);
    } catch (thrown) {
      deadline.release();
      throw thrown;
    }
  }

  async #watches<T>(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    to: string,
    { body }: { body?: object },
    options: CallOptions,
  ): Promise<T> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    return await this.#read(
      { method, to: `/v1/watches${to}`, repeatable: method !== 'POST', read: readAnswer<T>, ...content },
      options,
    );
  }

  async #templates<T>(
    method: 'GET' | 'PUT' | 'DELETE',
    to: string,
    body: FormData | undefined,
    options: CallOptions,
  ): Promise<T> {
    const content = body === undefined ? {} : { body };
    return await this.#read(
      { method, to: `/v1/templates${to}`, repeatable: true, read: readAnswer<T>, ...content },
      options,
    );
  }

  async #read<T>(call: Parameters<typeof Transport.prototype.send<{ data: T }>>[0], options: CallOptions): Promise<T> {
    const { data } = await this.#withDeadline(options, (deadline) => this.#transport.send(call, deadline));
    return data;
  }

  /** Runs a call with a deadline. Also rejects for arguments that allow no call. */
  async #withDeadline<T>(options: CallOptions, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const deadline = this.#deadline(options);
    try {
      return await work(deadline);
    } finally {
      deadline.release();
    }
  }

  #deadline(options: CallOptions): Deadline {
    const { signal, timeout } = checkedObject(options, 'options');
    if (signal !== undefined && !(signal instanceof AbortSignal))
      throw invalidArgument('`signal` must be an AbortSignal.');
    const ms = timeout === undefined ? this.#timeout : checkedTimeout(timeout);
    const message = `The call has not ended within ${ms} ms`;
    return new Deadline(ms, signal, () => new StillframeError({ code: 'timeout', message, retriable: true }));
  }
}

function queryOf(fields: Record<string, string | number | undefined>): URLSearchParams {
  return new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}

function pathOf(id: string): string {
  return `/${encodeURIComponent(checkedText(id, 'id', 'wat_01K9Z8Y7X6W5V4T3S2R1Q0P9N8'))}`;
}

function templatePath(name: string): string {
  return `/${encodeURIComponent(checkedText(name, 'name', 'og-card'))}`;
}

const A_JOB_ID = 'job_01K9Z8Y7X6W5V4T3S2R1Q0P9N8';

function submissionOf<Request>(request: Request, { idempotencyKey }: SubmitOptions) {
  const key =
    idempotencyKey === undefined ? crypto.randomUUID() : checkedText(idempotencyKey, 'idempotencyKey', 'order-4711');
  if (!/^[\x21-\x7e]+$/.test(key))
    throw invalidArgument('`idempotencyKey` must be printable ASCII characters without spaces.');
  return { request: checkedObject(request, 'request'), idempotencyKey: key };
}

function idOf(job: string | AcceptedJob | JobSnapshot | undefined): string {
  const id = typeof job === 'object' && job !== null ? ('job_id' in job ? job.job_id : job.id) : job;
  return checkedText(id, 'job', `${A_JOB_ID}, or a job itself`);
}
