/** Runs one task in a thread of its own, which can be ended at any time, so that the event loop stays free. */
import { once } from 'node:events';
import { parentPort, Worker, type WorkerOptions, workerData } from 'node:worker_threads';
import { CaptureError, type StoredError, toStoredError } from './contract/capture-error.js';
import { isObject } from './contract/field-rules.js';

export interface ThreadRun {
  /** URL of the bundled thread. */
  file: URL;
  /** Plain data. Its bytes are moved to the thread where that is possible, so the caller must not use them any more. */
  task: unknown;
  memoryMb: number;
  timeoutMs: number;
  /** Ends the thread, with its reason. */
  signal: AbortSignal;
  /** The error once the time is up, or if the thread needs more memory. */
  failed(cause: unknown): CaptureError;
}

type Answer<Value> = { value: Value } | { error: StoredError };

/** @throws CaptureError of the task; the signal's reason; as `failed` */
export async function runInThread<Value>({ file, task, memoryMb, ...order }: ThreadRun): Promise<Value> {
  order.signal.throwIfAborted();
  const transferList: ArrayBuffer[] = [];
  const worker = startThread(file, memoryMb, { workerData: withOwnBytes(task, transferList), transferList });
  try {
    return unwrap(await nextAnswer<Value>(worker, order));
  } finally {
    void worker.terminate();
  }
}

/** Does the task of this thread, and answers it. */
export async function answerTask<Task, Value>(work: (task: Task) => Value | Promise<Value>): Promise<void> {
  await answer(work, workerData as Task);
}

/** The time for which a thread is kept for the next task. */
const KEPT_FOR_MS = 10_000;

/** Threads that are expensive to start: one that has answered its task is kept for another, for a while. */
export class KeptThreads {
  readonly #idle = new Map<Worker, NodeJS.Timeout>();

  /** @param file URL of the bundled thread, which calls `answerTasks` */
  constructor(
    private readonly file: URL,
    private readonly memoryMb: number,
  ) {}

  /** Starts a thread for a task that is expected soon, unless one is waiting. */
  prepare(): void {
    if (this.#idle.size === 0) this.#keep(this.#start());
  }

  /** @throws CaptureError of the task; the signal's reason; as `failed` */
  async run<Value>({ task, ...order }: Omit<ThreadRun, 'file' | 'memoryMb'>): Promise<Value> {
    order.signal.throwIfAborted();
    const worker = this.#take() ?? this.#start();
    const transferList: ArrayBuffer[] = [];
    worker.postMessage(withOwnBytes(task, transferList), transferList);
    let answer: Answer<Value>;
    try {
      answer = await nextAnswer<Value>(worker, order);
    } catch (error) {
      void worker.terminate();
      throw error;
    }
    this.#keep(worker);
    return unwrap(answer);
  }

  #start(): Worker {
    const worker = startThread(this.file, this.memoryMb);
    // Without a listener, the error of a waiting thread would end the process.
    worker.on('error', () => undefined).on('exit', () => this.#forget(worker));
    return worker;
  }

  #take(): Worker | undefined {
    const [worker] = this.#idle.keys();
    if (worker !== undefined) this.#forget(worker);
    worker?.ref();
    return worker;
  }

  #keep(worker: Worker): void {
    worker.unref();
    this.#idle.set(worker, setTimeout(() => void worker.terminate(), KEPT_FOR_MS).unref());
  }

  #forget(worker: Worker): void {
    clearTimeout(this.#idle.get(worker));
    this.#idle.delete(worker);
  }
}

/** Does the tasks of a kept thread, one after another. */
export function answerTasks<Task, Value>(work: (task: Task) => Value | Promise<Value>): void {
  parentPort?.on('message', (task: Task) => void answer(work, task));
}

function startThread(file: URL, memoryMb: number, options: WorkerOptions = {}): Worker {
  const name =
    file.pathname
      .split('/')
      .at(-1)
      ?.replace(/-thread\.js$/, '') ?? '';
  return new Worker(file, { ...options, resourceLimits: { maxOldGenerationSizeMb: memoryMb }, name });
}

async function nextAnswer<Value>(
  worker: Worker,
  limits: Pick<ThreadRun, 'signal' | 'timeoutMs' | 'failed'>,
): Promise<Answer<Value>> {
  const { signal, timeoutMs, failed } = limits;
  const stopping = new AbortController();
  const end = () => stopping.abort(signal.aborted ? signal.reason : new Error(`no answer within ${timeoutMs} ms`));
  // In Node 20, AbortSignal.any forgets an AbortSignal.timeout that the garbage collection finds before its time is up (nodejs/node#57736).
  const timer = setTimeout(end, timeoutMs);
  signal.addEventListener('abort', end, { once: true });
  try {
    const [answer] = (await once(worker, 'message', { signal: stopping.signal })) as [Answer<Value>];
    return answer;
  } catch (error) {
    signal.throwIfAborted();
    throw failed(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

function unwrap<Value>(answer: Answer<Value>): Value {
  if ('error' in answer) throw new CaptureError(answer.error);
  return answer.value;
}

async function answer<Task, Value>(work: (task: Task) => Value | Promise<Value>, task: Task): Promise<void> {
  let message: Answer<Value>;
  try {
    message = { value: await work(task) };
  } catch (error) {
    message = { error: toStoredError(error) };
  }
  const transferList: ArrayBuffer[] = [];
  parentPort?.postMessage(withOwnBytes(message, transferList), transferList);
}

/** The same data with each array of bytes in a buffer of its own, which is added to those that are moved. */
function withOwnBytes(data: unknown, moved: ArrayBuffer[]): unknown {
  if (data instanceof Uint8Array) {
    const own = ownBytes(data);
    moved.push(own.buffer);
    return own;
  }
  if (Array.isArray(data)) return data.map((item) => withOwnBytes(item, moved));
  const isPlain = isObject(data) && [Object.prototype, null].includes(Object.getPrototypeOf(data));
  return isPlain
    ? Object.fromEntries(Object.entries(data).map(([name, item]) => [name, withOwnBytes(item, moved)]))
    : data;
}

function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength !== bytes.byteLength) return new Uint8Array(bytes);
  try {
    return new Uint8Array(structuredClone(buffer, { transfer: [buffer] }));
  } catch {
    // Memory of a native library, such as sharp, cannot be moved.
    return new Uint8Array(bytes);
  }
}

/** The same bytes as a Buffer: one that is sent to a thread, or back, arrives as a plain array. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
