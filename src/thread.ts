/** Runs one task in a thread of its own, which can be ended at any time, so that the event loop stays free. */
import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { CaptureError, type StoredError, toStoredError } from './contract/capture-error.js';
import { isObject } from './contract/field-rules.js';

export interface ThreadOrder {
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
export async function runInThread<Value>({
  file,
  task,
  memoryMb,
  timeoutMs,
  signal,
  failed,
}: ThreadOrder): Promise<Value> {
  signal.throwIfAborted();
  const transferList: ArrayBuffer[] = [];
  const worker = new Worker(file, {
    workerData: withOwnBytes(task, transferList),
    transferList,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    name:
      file.pathname
        .split('/')
        .at(-1)
        ?.replace(/-thread\.js$/, '') ?? '',
  });
  try {
    const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const [answer] = (await once(worker, 'message', { signal: over })) as [Answer<Value>];
    if ('error' in answer) throw new CaptureError(answer.error);
    return answer.value;
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof CaptureError ? error : failed(error);
  } finally {
    void worker.terminate();
  }
}

/** Does the task of this thread, and answers it. */
export async function answerTask<Task, Value>(work: (task: Task) => Value | Promise<Value>): Promise<void> {
  let answer: Answer<Value>;
  try {
    answer = { value: await work(workerData as Task) };
  } catch (error) {
    answer = { error: toStoredError(error) };
  }
  const transferList: ArrayBuffer[] = [];
  parentPort?.postMessage(withOwnBytes(answer, transferList), transferList);
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
