import { getHeapStatistics } from 'node:v8';

/** Delay in ms between the last capture and the collection, so that no capture is likely to wait for it. */
const IDLE_MS = 3_000;
/** A heap that has grown by less is not collected, since a collection makes the next capture slower. */
const WORTHWHILE_BYTES = 12_000_000;

export interface IdleHeapOptions {
  /** Number of running captures. */
  running(): number;
  onError(error: unknown): void;
  /** Bytes that the heap takes from the system, with those that its objects hold outside of it, such as the contents of pictures. */
  heapBytes?(): number;
  collect?(): Promise<void>;
}

/**
 * Returns memory to the system after a busy period. V8 keeps the memory that it has reserved: without this, an idle server holds twice its
 * live heap, and more after longer busy periods.
 */
export class IdleHeap implements Disposable {
  private timer: NodeJS.Timeout | null = null;
  private disposed = false;
  /** Heap size after the last collection, or less if V8 has shrunk it further since. */
  private leastBytes = 0;
  private readonly heapBytes: () => number;
  private readonly collect: () => Promise<void>;

  constructor(private readonly options: IdleHeapOptions) {
    this.heapBytes = options.heapBytes ?? usedBytes;
    this.collect = options.collect ?? collectAll;
  }

  /** Schedules a collection 3 s after the last capture, which takes about 100 ms. Called at the end of each capture. */
  captureEnded(): void {
    if (this.disposed) return;
    this.leastBytes = Math.min(this.leastBytes, this.heapBytes());
    if (this.timer === null)
      this.timer = setTimeout(() => void this.onIdle().catch(this.options.onError), IDLE_MS).unref();
    else this.timer.refresh();
  }

  [Symbol.dispose](): void {
    this.disposed = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private async onIdle(): Promise<void> {
    if (this.options.running() > 0 || this.heapBytes() - this.leastBytes < WORTHWHILE_BYTES) return;
    await this.collect();
    this.leastBytes = this.heapBytes();
  }
}

function usedBytes(): number {
  const { total_heap_size: own, external_memory: outside } = getHeapStatistics();
  return own + outside;
}

/** Collects as V8 does under memory pressure, which also shrinks the young generation; `gc()` does not. */
async function collectAll(): Promise<void> {
  // The module is missing in a Node that was built without the inspector.
  const { Session } = await import('node:inspector');
  const session = new Session();
  session.connect();
  try {
    // Disconnecting inside the callback would hang the process.
    await new Promise<void>((done, fail) => {
      session.post('HeapProfiler.collectGarbage', (error) => (error === null ? done() : fail(error)));
    });
  } finally {
    session.disconnect();
  }
}
