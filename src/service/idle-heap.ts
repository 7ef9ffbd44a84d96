import { getHeapStatistics } from 'node:v8';

/** So long after the last capture nobody is likely to be kept waiting. */
const IDLE_MS = 3_000;
/** A heap that has grown by less is left alone: to collect it makes the next capture slower. */
const WORTHWHILE_BYTES = 12_000_000;
/** After so many captures that price is small, and so may the gain be. */
const MANY_CAPTURES = 100;
const WORTHWHILE_AFTER_MANY_BYTES = 2_000_000;

export interface IdleHeapOptions {
  /** Captures under way. */
  running(): number;
  onError(error: unknown): void;
  /** Bytes that the heap takes from the system. */
  heapBytes?(): number;
  collect?(): Promise<void>;
}

/**
 * Gives the memory of a busy time back to the system. V8 keeps what it once had: without this, a server at rest holds twice the heap that is
 * alive, and the more the longer it was busy.
 */
export class IdleHeap implements Disposable {
  private timer: NodeJS.Timeout | null = null;
  private disposed = false;
  /** After the last collection, or less when V8 has gone below that by itself since. */
  private leastBytes = 0;
  /** Captures since the last collection. */
  private captures = 0;
  private readonly heapBytes: () => number;
  private readonly collect: () => Promise<void>;

  constructor(private readonly options: IdleHeapOptions) {
    this.heapBytes = options.heapBytes ?? (() => getHeapStatistics().total_heap_size);
    this.collect = options.collect ?? collectAll;
  }

  /** To be told of each capture's end. Collects 3 s after the last one, for about a tenth of a second. */
  captureEnded(): void {
    if (this.disposed) return;
    this.captures++;
    this.leastBytes = Math.min(this.leastBytes, this.heapBytes());
    if (this.timer === null) this.timer = setTimeout(() => void this.atRest().catch(this.options.onError), IDLE_MS).unref();
    else this.timer.refresh();
  }

  [Symbol.dispose](): void {
    this.disposed = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private async atRest(): Promise<void> {
    const worthwhile = this.captures >= MANY_CAPTURES ? WORTHWHILE_AFTER_MANY_BYTES : WORTHWHILE_BYTES;
    if (this.options.running() > 0 || this.heapBytes() - this.leastBytes < worthwhile) return;
    this.captures = 0;
    await this.collect();
    this.leastBytes = this.heapBytes();
  }
}

/** As the system's own call for memory: also gives back what the young generation had grown to, which `gc()` keeps. */
async function collectAll(): Promise<void> {
  // Not there in a Node that was built without it.
  const { Session } = await import('node:inspector');
  const session = new Session();
  session.connect();
  try {
    // To disconnect inside its callback would hang the process.
    await new Promise<void>((done, fail) => {
      session.post('HeapProfiler.collectGarbage', (error) => (error === null ? done() : fail(error)));
    });
  } finally {
    session.disconnect();
  }
}
